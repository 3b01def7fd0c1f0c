/**
 * Everything that keyscope uses from jose: to sign, to verify, and to read keys. No other file
 * imports jose.
 */
export type {
  CryptoKey,
  JSONWebKeySet,
  JWK,
  JWTPayload,
  JWTVerifyGetKey,
  KeyObject,
} from 'jose';
export {
  compactVerify,
  createLocalJWKSet,
  decodeJwt,
  decodeProtectedHeader,
  exportJWK,
  importJWK,
  importPKCS8,
  jwtVerify,
  SignJWT,
} from 'jose';
