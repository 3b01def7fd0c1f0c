/** `keyscope/jwt`: issues and verifies short-lived tokens for verified principals. */
export type { TokenAlgorithm } from './algorithms.js';
export type { ExchangedToken, ExchangeErrorCode, ExchangeInput } from './exchange.js';
export { ExchangeError, isExchangeError } from './exchange.js';
export type { TokenIssuer, TokenIssuerOptions } from './issuer.js';
export { createTokenIssuer } from './issuer.js';
export type { JwtVerifier, TokenVerifierOptions } from './verifier.js';
export { createTokenVerifier } from './verifier.js';
