/**
 * Everything that keyscope uses from jose: to sign, to verify, and to read and fetch keys. No other
 * file imports jose.
 */
export type {
  CryptoKey,
  FetchImplementation,
  JSONWebKeySet,
  JWK,
  JWTPayload,
  JWTVerifyGetKey,
  KeyObject,
} from 'jose';
export {
  createLocalJWKSet,
  createRemoteJWKSet,
  customFetch,
  decodeJwt,
  exportJWK,
  importJWK,
  importPKCS8,
  jwtVerify,
  SignJWT,
} from 'jose';
