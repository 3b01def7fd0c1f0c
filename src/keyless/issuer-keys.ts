/** The public keys of an issuer, and the choice of one for a token. */
import { assert, isObject } from '../core/input.js';
import { createFetchedList } from '../http/fetched-list.js';
import { isJwkFor, type TokenAlgorithm } from '../jwt/algorithms.js';
import { keysUnavailable } from '../jwt/claims.js';
import { KEY_SET_TIMES } from '../jwt/fetched-keys.js';
import { type CryptoKey, importJWK, type JWK } from '../jwt/jose.js';
import { isPrivateKey, publicPart } from '../jwt/key-set.js';

/** The part of a token's header that chooses its key. */
export interface KeyQuestion {
  readonly alg: TokenAlgorithm;
  readonly kid: string | undefined;
}

/** The keys of an issuer. */
export interface IssuerKeys {
  /**
   * Returns the key of a token, or null if the issuer has none, or several that the token does not
   * tell apart.
   *
   * @throws StoreError if the keys cannot be had or used, which says nothing about the token.
   */
  find(question: KeyQuestion): Promise<CryptoKey | null>;
}

/** The name of the whole set among the items of a fetched list. No `kid` is empty. */
const WHOLE = '';

/**
 * Reads the option `jwks` of an issuer. A URL is fetched on first use, for an unknown `kid` at most
 * every 30 s, and in the background after eight minutes; a set is used for fifteen minutes.
 *
 * @throws TypeError on an invalid option, on a private key, or if no key fits an algorithm.
 */
export function createIssuerKeys(
  jwks: unknown,
  algorithms: readonly TokenAlgorithm[],
  report: (error: unknown) => void,
): IssuerKeys {
  const imported = createImports();
  if (!(jwks instanceof URL)) {
    const keys = readStaticKeys(jwks, algorithms);
    return { find: async (question) => imported(chooseKey(keys, question), question) };
  }
  const list = createFetchedList(
    { name: 'jwks', url: jwks, read: readSet, ...KEY_SET_TIMES },
    report,
  );
  return {
    async find(question) {
      const keys = (await list.find(WHOLE)) ?? [];
      const known = chooseKey(keys, question);
      if (known !== null || question.kid === undefined) return imported(known, question);
      // Waits for a fetch unless the set is younger than 30 s.
      const newer = (await list.find(question.kid)) ?? [];
      return imported(chooseKey(newer, question), question);
    },
  };
}

/**
 * Chooses among the keys that fit the algorithm: the one with the token's `kid`, or the only one if
 * either side has no `kid`.
 */
function chooseKey(keys: readonly JWK[], { alg, kid }: KeyQuestion): JWK | null {
  const fitting = keys.filter((key) => isJwkFor(key, alg));
  const [only, another] = fitting;
  const isOnly = only !== undefined && another === undefined;
  if (isOnly && (kid === undefined || only.kid === undefined)) return only;
  const named = fitting.filter((key) => kid !== undefined && key.kid === kid);
  return named.length === 1 ? (named[0] ?? null) : null;
}

function readStaticKeys(set: unknown, algorithms: readonly TokenAlgorithm[]): readonly JWK[] {
  const { keys } = Object(set) as { readonly keys?: unknown };
  const isList = Array.isArray(keys) && keys.every(isObject);
  assert(isList, 'jwks: pass { keys: [public JWKs] } or a URL');
  const copies = structuredClone(keys) as readonly JWK[];
  assert(!copies.some(isPrivateKey), 'jwks: a key is private or symmetric. Pass public keys only');
  const isUsable = copies.some((key) => algorithms.some((each) => isJwkFor(key, each)));
  assert(isUsable, `jwks: no key fits the algorithms ${algorithms.join(', ')}`);
  return copies;
}

/** Reads a published set: as a whole, and by each `kid`. A private key in it vouches for nobody. */
function readSet(set: unknown): ReadonlyMap<string, readonly JWK[]> {
  const { keys } = Object(set) as { readonly keys?: unknown };
  if (!Array.isArray(keys)) throw new Error('the answer is not a JWK Set');
  const all = (keys as readonly unknown[]).filter(isObject) as readonly JWK[];
  const usable = all.filter((key) => !isPrivateKey(key));
  if (usable.length === 0) return new Map();
  return new Map([[WHOLE, usable], ...usable.map(({ kid }) => [String(kid), usable] as const)]);
}

type Import = (jwk: JWK | null, question: KeyQuestion) => Promise<CryptoKey | null>;

/** Imports each key once for each algorithm. */
function createImports(): Import {
  const keys = new WeakMap<JWK, Map<TokenAlgorithm, CryptoKey>>();
  return async (jwk, { alg }) => {
    if (jwk === null) return null;
    const known = keys.get(jwk)?.get(alg);
    if (known !== undefined) return known;
    try {
      // Without `use` and `key_ops`, which some issuers publish wrongly.
      const key = (await importJWK(publicPart(jwk), alg)) as CryptoKey;
      keys.set(jwk, new Map([...(keys.get(jwk) ?? []), [alg, key]]));
      return key;
    } catch (error) {
      throw keysUnavailable(error);
    }
  };
}
