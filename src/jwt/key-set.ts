/** Sets of public keys: those that an issuer publishes, and those that a verifier is given. */
import { assert } from '../core/input.js';
import { isJwkFor, type TokenAlgorithm } from './algorithms.js';
import { isName } from './claims.js';
import { createLocalJWKSet, type JWK, type JWTVerifyGetKey } from './jose.js';

/** A JWK Set (RFC 7517 §5). */
export interface JwkSet {
  readonly keys: readonly JWK[];
}

/** The parameters of a JWK that a public key does not have (RFC 7518 §6, RFC 8037 §2). */
const PRIVATE_PARAMETERS: readonly string[] = ['d', 'p', 'q', 'dp', 'dq', 'qi', 'oth', 'k', 'priv'];

const PUBLIC_PARAMETERS = ['kty', 'crv', 'x', 'y', 'n', 'e'] as const;

const KEYS_INSTEAD = {
  jwks: 'pass { keys: [public JWKs] } or a URL',
  otherKeys: 'pass a list of public JWKs',
};

/** The public part of a key, without any other parameter of the JWK. */
export function publicPart(key: JWK): JWK {
  const names = PUBLIC_PARAMETERS.filter((name) => key[name] !== undefined);
  return Object.fromEntries(names.map((name) => [name, key[name]])) as JWK;
}

/**
 * Reads and copies a list of public keys, each with its own `kid`. If a verifier has only one key,
 * that key needs no `kid`. A private key is refused: it would be published, or already is.
 *
 * @throws TypeError that says what to pass instead.
 */
export function readPublicKeys(keys: unknown, what: 'jwks' | 'otherKeys'): readonly JWK[] {
  assert(Array.isArray(keys), `${what}: ${KEYS_INSTEAD[what]}`);
  const given: readonly unknown[] = keys;
  const mayLackKid = what === 'jwks' && given.length === 1;
  for (const key of given) assertIsPublicKey(key, what, mayLackKid);
  const checked = given as readonly JWK[];
  const kids = new Set(checked.map(({ kid }) => kid));
  assert(kids.size === checked.length, `${what}: two keys have one kid`);
  return structuredClone(checked);
}

function assertIsPublicKey(key: unknown, what: string, mayLackKid: boolean): void {
  const kidInstead = `${what}: each key needs a kid, 1 to 128 characters, as tokens name it`;
  assert(typeof key === 'object' && key !== null, kidInstead);
  const isSecret = Object.keys(key).some((name) => PRIVATE_PARAMETERS.includes(name));
  assert(!isSecret, `${what}: pass public keys; one of them is private or symmetric`);
  const { kid } = key as { readonly kid?: unknown };
  assert(isName(kid) || (mayLackKid && kid === undefined), kidInstead);
}

/**
 * Reads a verifier's set of keys.
 *
 * @throws TypeError that says what to pass instead, or if no key fits any of the algorithms.
 */
export function readKeySet(set: unknown, algorithms: readonly TokenAlgorithm[]): JWTVerifyGetKey {
  const isText = typeof set === 'string';
  assert(!isText, 'jwks: this is a text; pass new URL(text), or { keys: [public JWKs] }');
  const given = (set as { readonly keys?: unknown } | null | undefined)?.keys;
  const keys = readPublicKeys(given, 'jwks');
  const isUsable = keys.some((key) => algorithms.some((algorithm) => isJwkFor(key, algorithm)));
  assert(isUsable, `jwks: none of the keys is for ${algorithms.join(', ')}`);
  const find = createLocalJWKSet({ keys: [...keys] });
  if (keys[0]?.kid !== undefined) return find;
  // jose never matches a token's `kid` with a key that has none. There is only one key, so it must
  // be the one, and the signature decides.
  return ({ alg }, token) => find({ alg }, token);
}
