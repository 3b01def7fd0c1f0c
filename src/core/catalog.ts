/**
 * The closed list of scopes that a service has, with one sentence per scope; and the types derived
 * from it.
 */
import { assert, isObject, quote, raise, readFields, readText } from './input.js';
import { coveredBy, isScope, readPatterns } from './scope.js';

/** Resource → action → one sentence on what the scope allows. */
export type ScopeDefinition = Readonly<Record<string, Readonly<Record<string, string>>>>;

type ScopesIn<D> = { [R in keyof D & string]: `${R}:${keyof D[R] & string}` }[keyof D & string];
type Pattern<S extends string> =
  | S
  | '*:*'
  | (S extends `${infer R}:${infer A}` ? `${R}:*` | `*:${A}` : never);

/** The scopes of `S` that pattern `P` matches: each `*` matches any segment. */
type Matching<S, P> = P extends `${infer R}:${infer A}`
  ? Extract<S, `${Segment<R>}:${Segment<A>}`>
  : never;
type Segment<T extends string> = T extends '*' ? string : T;
type Harmless<S, Reserved, P> = P extends string
  ? [Matching<S, P> & Reserved] extends [never]
    ? P
    : never
  : never;

/** A service's scopes. Made by {@link defineScopes}; frozen. */
export interface Catalog<S extends string = string, Reserved extends string = string> {
  /** Every scope, in the order written. */
  readonly all: readonly S[];
  /**
   * Returns the sentence of a scope.
   *
   * @throws TypeError on a scope that the catalog does not have.
   * @example
   * catalog.describe('threats:read'); // 'List and read threats.'
   */
  describe(scope: string): string;
  /**
   * Returns the concrete scopes that patterns match, in catalog order, reserved ones included.
   *
   * @throws TypeError on a malformed pattern, a scope that the catalog does not have, or a pattern
   *   that matches none.
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
   * Whether a scope must be named individually and justified; `false` for anything that is not a
   * scope of the catalog.
   *
   * @example
   * catalog.isReserved('users:delete'); // true
   */
  isReserved(scope: string): scope is Reserved;
}

/** The literal union of a catalog's scopes. */
export type ScopeOf<C> = C extends Catalog<infer S, string> ? S : never;

/** {@link ScopeOf}, plus the wildcards that match something but no reserved scope. */
export type PatternOf<C> =
  C extends Catalog<infer S, infer Reserved> ? S | Harmless<S, Reserved, Pattern<S>> : never;

/**
 * Defines a service's scopes.
 *
 * Not checked: whether any operation needs a scope; the size of the catalog, although a key has at
 * most 256 scopes.
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
>(
  definition: D,
  options: { readonly reserved?: readonly R[] | undefined } = {},
): Catalog<ScopesIn<D>, Matching<ScopesIn<D>, R>> {
  const { reserved = [] } = readFields(options, ['reserved'], 'defineScopes');
  const sentences = new Map<string, string>();
  for (const [resource, actions] of entries(definition))
    for (const [action, sentence] of entries(actions)) {
      const scope = `${resource}:${action}`;
      assert(isScope(scope), 'defineScopes: a scope is two names of [a-z][a-z0-9_-]{0,63}', scope);
      sentences.set(scope, readText(sentence, 200, `defineScopes: the sentence of ${scope}`));
    }
  const all = Object.freeze([...sentences.keys()]) as readonly ScopesIn<D>[];
  const expand = (input: unknown): readonly ScopesIn<D>[] => {
    const set = new Set(readPatterns(input));
    const odd = [...set].find((pattern) => !all.some(coveredBy(new Set([pattern]))));
    assert(odd === undefined, 'scopes: pass what matches something in the catalog', odd);
    return Object.freeze(all.filter(coveredBy(set)));
  };
  const without = (set: typeof all, other: typeof all) =>
    Object.freeze(set.filter((scope) => !other.includes(scope)));
  const difference = (a: readonly string[], b: readonly string[]) => without(expand(a), expand(b));
  const describe = (it: string) =>
    sentences.get(it) ?? raise(new TypeError(`scopes: the catalog lacks ${quote(it)}`));
  const guarded: ReadonlySet<string> = new Set(expand(reserved));
  const isReserved = (scope: string): scope is Matching<ScopesIn<D>, R> => guarded.has(scope);
  return Object.freeze({ all, expand, describe, difference, isReserved });
}

/**
 * Only own properties, which go into a Map: a resource called `constructor` is a name like any
 * other.
 */
function entries(table: unknown): [string, unknown][] {
  const list = isObject(table) ? Object.entries(table) : [];
  assert(
    list.length > 0,
    'defineScopes: pass { resource: { action: sentence } }, none of them empty',
  );
  return list;
}
