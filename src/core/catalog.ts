/**
 * The catalog: the closed list of a service's scopes, with one sentence per scope, and the types
 * derived from it.
 */
import { assert, readEntries, readFields, readText } from './input.js';
import { isCovered, isScope, readPatterns } from './scope.js';

/** Resource → action → one sentence on what the scope allows. */
export type ScopeDefinition = Readonly<Record<string, Readonly<Record<string, string>>>>;

// ── The types ───────────────────────────────────────────────────────────────────────────────────

// `keyof` of a mapped type makes the compiler show the union itself. Otherwise it shows the name of
// the type with the whole definition as its argument.

/** The literal union of the scopes in a definition. */
type ScopesIn<D> = keyof { [R in keyof D & string as `${R}:${keyof D[R] & string}`]: true };

/** The scopes of `S` that pattern `P` matches: each `*` matches any segment. */
type Matching<S extends string, P> = keyof {
  [One in S as One extends Shape<P> ? One : never]: true;
};

type Shape<P> = P extends `${infer R}:${infer A}` ? `${Segment<R>}:${Segment<A>}` : never;
type Segment<T extends string> = T extends '*' ? string : T;

/** Scopes, and the wildcards that match at least one of them. */
type Pattern<S extends string> =
  | S
  | '*:*'
  | (S extends `${infer R}:${infer A}` ? `${R}:*` | `*:${A}` : never);

/** The patterns of `P` that match no reserved scope. */
type Harmless<S extends string, Reserved, P> = P extends string
  ? [Matching<S, P> & Reserved] extends [never]
    ? P
    : never
  : never;

/** A service's scopes, as {@link defineScopes} returns them. Frozen. */
export interface Catalog<S extends string = string, Reserved extends string = string> {
  /** Every scope, in the order of the definition. */
  readonly all: readonly S[];
  /**
   * Returns the sentence of a scope.
   *
   * @throws TypeError on a scope that is not in the catalog.
   * @example
   * catalog.describe('threats:read'); // 'List and read threats.'
   */
  describe(scope: string): string;
  /**
   * Returns the concrete scopes that the patterns match, in catalog order, including reserved ones.
   *
   * @throws TypeError on a malformed pattern, a scope that is not in the catalog, or a pattern that
   *   matches no scope.
   * @example
   * catalog.expand(['threats:*']); // ['threats:read']
   */
  expand(patterns: readonly string[]): readonly S[];
  /**
   * Returns the concrete scopes that `a` matches and `b` does not, in catalog order.
   *
   * @throws TypeError as `expand` does.
   * @example
   * catalog.difference(['*:*'], ['users:*']); // ['threats:read']
   */
  difference(a: readonly string[], b: readonly string[]): readonly S[];
  /**
   * Checks whether a scope must be named individually and justified. Returns `false` for anything
   * that is not a scope of the catalog.
   *
   * @example
   * catalog.isReserved('users:delete'); // true
   */
  isReserved(scope: string): scope is Reserved;
}

/** The literal union of a catalog's scopes. */
export type ScopeOf<C> = C extends Catalog<infer S, string> ? S : never;

/** {@link ScopeOf}, plus the wildcards that match at least one scope and no reserved one. */
export type PatternOf<C> =
  C extends Catalog<infer S, infer Reserved> ? S | Harmless<S, Reserved, Pattern<S>> : never;

// ── The catalog ─────────────────────────────────────────────────────────────────────────────────

/** The options of {@link defineScopes}. */
interface ScopeOptions<Reserved> {
  /** Scopes or patterns that no wildcard grants and that require a justification. */
  readonly reserved?: readonly Reserved[] | undefined;
}

/**
 * Defines a service's scopes.
 *
 * Not checked: whether any operation needs a scope; the size of the catalog, although a key can
 * have at most 256 scopes.
 *
 * @param definition Resource → action → one sentence of 1 to 200 characters. Names are lower case:
 *   `[a-z][a-z0-9_-]{0,63}`.
 * @param options `reserved`: scopes or patterns that no wildcard grants and that require a
 *   justification.
 * @throws TypeError on a malformed name or sentence, an empty catalog or resource, or a reserved
 *   pattern that matches nothing.
 * @example
 * const catalog = defineScopes(
 *   { threats: { read: 'List and read threats.' }, users: { delete: 'Delete users.' } },
 *   { reserved: ['users:*'] },
 * );
 */
export function defineScopes<
  const D extends ScopeDefinition,
  const R extends Pattern<ScopesIn<D>> = never,
>(definition: D, options: ScopeOptions<R> = {}): Catalog<ScopesIn<D>, Matching<ScopesIn<D>, R>> {
  const { reserved = [] } = readFields(options, ['reserved'], 'defineScopes');
  const catalog = createCatalog(readDefinition(definition), reserved);
  return catalog as unknown as Catalog<ScopesIn<D>, Matching<ScopesIn<D>, R>>;
}

/** Reads a definition into a table of scope → sentence, in the order written. */
function readDefinition(definition: unknown): ReadonlyMap<string, string> {
  const sentences = new Map<string, string>();
  const instead = 'defineScopes: pass { resource: { action: sentence } }, with no empty object';
  for (const [resource, actions] of readEntries(definition, instead)) {
    for (const [action, sentence] of readEntries(actions, instead)) {
      const scope = `${resource}:${action}`;
      assert(isScope(scope), 'defineScopes: names must match [a-z][a-z0-9_-]{0,63}', scope);
      sentences.set(scope, readText(sentence, 200, `defineScopes: the sentence of ${scope}`));
    }
  }
  return sentences;
}

function createCatalog(sentences: ReadonlyMap<string, string>, reserved: unknown): Catalog {
  const all = Object.freeze([...sentences.keys()]);

  function describe(scope: string): string {
    const sentence = sentences.get(scope);
    assert(sentence !== undefined, 'scopes: pass a scope of the catalog', scope);
    return sentence;
  }

  const places = new Map(all.map((scope, place) => [scope, place]));
  const placeOf = (scope: string): number => Number(places.get(scope));

  function matchesOf(pattern: string): readonly string[] {
    if (sentences.has(pattern)) return [pattern];
    const only = new Set([pattern]);
    return all.filter((scope) => isCovered(scope, only));
  }

  function expand(patterns: unknown): readonly string[] {
    const wanted = new Set<string>();
    for (const pattern of readPatterns(patterns)) {
      const matches = matchesOf(pattern);
      assert(matches.length > 0, 'scopes: pass scopes of the catalog', pattern);
      for (const scope of matches) wanted.add(scope);
    }
    return Object.freeze([...wanted].sort((first, second) => placeOf(first) - placeOf(second)));
  }

  function difference(a: readonly string[], b: readonly string[]): readonly string[] {
    const left = expand(a);
    const right = new Set(expand(b));
    return Object.freeze(left.filter((scope) => !right.has(scope)));
  }

  const reservedScopes = expand(reserved);
  const isReserved = (scope: string): scope is string => reservedScopes.includes(scope);

  return Object.freeze({ all, describe, expand, difference, isReserved });
}
