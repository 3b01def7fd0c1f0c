/** Sets of public keys, for issuers and verifiers. */
import { assert } from '../core/input.js';
import { isJwkFor, type TokenAlgorithm } from './algorithms.js';
import { isName } from './claims.js';
import { createLocalJWKSet, type JWK, type JWTVerifyGetKey } from './jose.js';

/** A JWK Set (RFC 7517 §5). */
export interface JwkSet {
  readonly keys: readonly JWK[];
}

/** The private parameters of a JWK (RFC 7518 §6, RFC 8037 §2). */
const PRIVATE_PARAMETERS: readonly string[] = ['d', 'p', 'q', 'dp', 'dq', 'qi', 'oth', 'k', 'priv'];

/** Checks whether a JWK is private or symmetric. */
export function isPrivateKey(key: object): boolean {
  return Object.keys(key).some((name) => PRIVATE_PARAMETERS.includes(name));
}

const PUBLIC_PARAMETERS = ['kty', 'crv', 'x', 'y', 'n', 'e'] as const;

const KEYS_INSTEAD = {
  jwks: 'pass { keys: [public JWKs] } or a URL',
  otherKeys: 'pass a list of public JWKs',
};

/** Returns the public part of a key, without any other parameters of the JWK. */
export function publicPart(key: JWK): JWK {
  const names = PUBLIC_PARAMETERS.filter((name) => key[name] !== undefined);
  return Object.fromEntries(names.map((name) => [name, key[name]])) as JWK;
}

/**
 * Reads and copies a list of public keys, each with its own `kid`. A verifier's only key does not
 * need a `kid`.
 *
 * @throws TypeError on an invalid list, or on a private key, which would be or has been published.
 */
export function readPublicKeys(keys: unknown, what: 'jwks' | 'otherKeys'): readonly JWK[] {
  assert(Array.isArray(keys), `${what}: ${KEYS_INSTEAD[what]}`);
  const given: readonly unknown[] = keys;
  const mayLackKid = what === 'jwks' && given.length === 1;
  for (const key of given) assertIsPublicKey(key, what, mayLackKid);
  const checked = given as readonly JWK[];
  const kids = new Set(checked.map(({ kid }) => kid));
  assert(kids.size === checked.length, `${what}: two keys have the same kid`);
  return structuredClone(checked);
}

function assertIsPublicKey(key: unknown, what: string, mayLackKid: boolean): void {
  const kidInstead = `${what}: give each key the kid that tokens name, 1 to 128 characters`;
  assert(typeof key === 'object' && key !== null, kidInstead);
  assert(!isPrivateKey(key), `${what}: a key is private or symmetric. Pass public keys only`);
  const { kid } = key as { readonly kid?: unknown };
  assert(isName(kid) || (mayLackKid && kid === undefined), kidInstead);
}

/**
 * Reads a verifier's set of keys.
 *
 * @throws TypeError on an invalid set, or if no key fits any of the algorithms.
 */
export function readKeySet(set: unknown, algorithms: readonly TokenAlgorithm[]): JWTVerifyGetKey {
  const isText = typeof set === 'string';
  assert(!isText, 'jwks: not a text. Pass new URL(text), or { keys: [public JWKs] }');
  const given = (set as { readonly keys?: unknown } | null | undefined)?.keys;
  const keys = readPublicKeys(given, 'jwks');
  const isUsable = keys.some((key) => algorithms.some((algorithm) => isJwkFor(key, algorithm)));
  assert(isUsable, `jwks: no key fits the algorithms ${algorithms.join(', ')}`);
  const find = createLocalJWKSet({ keys: [...keys] });
  if (keys[0]?.kid !== undefined) return find;
  // jose never matches a token's `kid` with a key that has none. There is only one key, so use it
  // and let the signature decide.
  return ({ alg }, token) => find({ alg }, token);
}
