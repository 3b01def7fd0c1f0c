/** `keyscope/jwt`. */

export type {
  ExchangedToken,
  ExchangeErrorCode,
  ExchangeInput,
  TokenAlgorithm,
  TokenIssuer,
  TokenIssuerOptions,
  TokenVerifierOptions,
} from './issuer.js';
export {
  createTokenIssuer,
  createTokenVerifier,
  ExchangeError,
  isExchangeError,
} from './issuer.js';
