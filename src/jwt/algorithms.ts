/** The signature algorithms of tokens, and the keys that they need. */
import type { CryptoKey, JWK } from './jose.js';

/**
 * A signature algorithm. Asymmetric only, because with a shared secret every service that can
 * verify a token could also make one (RFC 8725 §3.2).
 */
export type TokenAlgorithm = 'ES256' | 'EdDSA' | 'RS256' | 'PS256';

/** All algorithms. */
export const ALGORITHMS: readonly TokenAlgorithm[] = ['ES256', 'EdDSA', 'RS256', 'PS256'];

/** The advice in an error about another algorithm. */
export const ALGORITHM_INSTEAD: string = `pass one of ${ALGORITHMS.join(', ')}`;

/** Whether keyscope signs with this algorithm and accepts it. */
export function isTokenAlgorithm(value: unknown): value is TokenAlgorithm {
  return ALGORITHMS.some((algorithm) => algorithm === value);
}

/** The kind of key that an algorithm needs. */
interface KeyKind {
  /** The name of its algorithm in Web Crypto. */
  readonly name: string;
  /** The type of a JWK (RFC 7518 §6.1, RFC 8037 §2). */
  readonly kty: 'EC' | 'OKP' | 'RSA';
  /** The curve of a JWK; RSA has none. */
  readonly crv: string | undefined;
}

const KEY_KINDS: Readonly<Record<TokenAlgorithm, KeyKind>> = {
  ES256: { name: 'ECDSA', kty: 'EC', crv: 'P-256' },
  EdDSA: { name: 'Ed25519', kty: 'OKP', crv: 'Ed25519' },
  RS256: { name: 'RSASSA-PKCS1-v1_5', kty: 'RSA', crv: undefined },
  PS256: { name: 'RSA-PSS', kty: 'RSA', crv: undefined },
};

/** The minimum size of RSA keys (RFC 7518 §3.3). */
const MIN_RSA_BITS = 2_048;

/** The length of a modulus of `MIN_RSA_BITS` in base64url. */
const MIN_RSA_CHARACTERS = 342;

/** Describes the key that an algorithm needs, such as `EC, P-256`. */
export function describeKey(algorithm: TokenAlgorithm): string {
  const { kty, crv } = KEY_KINDS[algorithm];
  return crv === undefined ? kty : `${kty}, ${crv}`;
}

/**
 * Whether a private or public JWK fits an algorithm. Not checked: whether it can be imported.
 */
export function isJwkFor(jwk: JWK, algorithm: TokenAlgorithm): boolean {
  const { kty, crv } = KEY_KINDS[algorithm];
  if (jwk.alg !== undefined && jwk.alg !== algorithm) return false;
  if (jwk.use !== undefined && jwk.use !== 'sig') return false;
  if (jwk.kty !== kty || jwk.crv !== crv) return false;
  return kty !== 'RSA' || String(jwk.n).length >= MIN_RSA_CHARACTERS;
}

/** The fields of `CryptoKey.algorithm`, which depend on the kind of key. */
interface KeyDetails {
  readonly name?: unknown;
  readonly namedCurve?: unknown;
  readonly modulusLength?: unknown;
  readonly hash?: { readonly name?: unknown };
}

/** Whether a `CryptoKey` is a private key that can sign with an algorithm. */
export function canSignWith(key: CryptoKey, algorithm: TokenAlgorithm): boolean {
  const { name, kty, crv } = KEY_KINDS[algorithm];
  const details: KeyDetails = key.algorithm;
  if (key.type !== 'private' || details.name !== name) return false;
  if (kty === 'EC') return details.namedCurve === crv;
  if (kty === 'OKP') return true;
  return details.hash?.name === 'SHA-256' && Number(details.modulusLength) >= MIN_RSA_BITS;
}
