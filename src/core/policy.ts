/**
 * One table for every entry point: operation → the scopes it needs, for REST routes and MCP tools
 * alike.
 */
import type { Catalog, ScopeOf } from './catalog.js';
import { assert, quote, raise, readFields, readStrings } from './input.js';
import {
  canAddress,
  hasScopes,
  type Principal,
  requireEntity,
  requireScopes,
} from './principal.js';

/**
 * Made by {@link definePolicy}; frozen. An operation that is not in the table is a `TypeError`
 * everywhere.
 */
export interface Policy<Operation extends string = string> {
  /** Every operation, in the order written. */
  readonly operations: readonly Operation[];
  /**
   * Guards an operation: scopes first, then the entity.
   *
   * `entityUuid` is what the request asked for: a UUID, or the list of values of a parameter. If
   * there is none, the key's own entity is meant. Not checked: whether the key has ended since it
   * was verified.
   *
   * @returns The entity that was checked; handlers must use no other.
   * @throws AccessError `insufficient_scope`, `invalid_request` (repeated, or not a lower-case
   *   UUID) or `entity_forbidden`.
   * @throws TypeError on an operation that is not in the table, an unknown option, or anything but
   *   a principal.
   * @example
   * const entityUuid = policy.authorize(principal, 'listThreats', { entityUuid: query.entity_uuid });
   */
  authorize(
    principal: Principal,
    operation: Operation,
    options?: { readonly entityUuid?: unknown },
  ): string;
  /**
   * Returns the operations that a principal may use, in the order written: for menus and MCP
   * `tools/list`.
   *
   * Not checked: the entity.
   *
   * @throws TypeError on an object that is not a principal.
   * @example
   * const menu = policy.allowed(principal); // ['whoami', 'listThreats']
   */
  allowed(principal: Principal): readonly Operation[];
  /**
   * Returns the scopes that an operation needs, in catalog order. Guards call it when a route is
   * declared.
   *
   * @throws TypeError on an operation that is not in the table.
   * @example
   * policy.requires('listThreats'); // ['threats:read']
   */
  requires(operation: Operation): readonly string[];
  /**
   * Returns the fewest scopes with which an integration can use `operations`, in catalog order.
   *
   * @throws TypeError on an operation that is not in the table.
   * @example
   * policy.leastScopes(['whoami', 'listThreats']); // ['threats:read']
   */
  leastScopes(operations: readonly Operation[]): readonly string[];
  /**
   * Returns those of `names` (routes, tools) that are not in the table; a test asserts that there
   * are none.
   *
   * @throws TypeError if `names` is not a list of strings.
   * @example
   * expect(policy.unmapped(routes.map((route) => route.operation))).toEqual([]);
   */
  unmapped(names: readonly string[]): readonly string[];
}

type Table<C, Operation extends string> = Readonly<Record<Operation, readonly ScopeOf<C>[]>>;

/**
 * Defines which scopes each operation needs. Here, an explicit empty list is allowed: any valid key
 * will do.
 *
 * Not checked: whether each operation has a route or tool; see `unmapped`.
 *
 * @param catalog What `defineScopes` returned.
 * @param table Operation → concrete scopes of the catalog, all of which are needed.
 * @throws TypeError on a pattern, a scope that the catalog does not have, or an empty table.
 * @example
 * const policy = definePolicy(catalog, { whoami: [], listThreats: ['threats:read'] });
 * const entityUuid = policy.authorize(principal, 'listThreats', { entityUuid: query.entity_uuid });
 */
export function definePolicy<C extends Catalog, const Op extends string>(
  catalog: C,
  table: Table<C, Op>,
): Policy<Op> {
  assert(
    typeof catalog?.expand === 'function',
    'definePolicy: pass what defineScopes returned, then the table',
  );
  const needs = new Map<string, readonly string[]>();
  const known = (scope: string) => catalog.all.includes(scope);
  for (const [op, scopes] of Object.entries(Array.isArray(table) ? {} : Object(table)))
    needs.set(
      op,
      catalog.expand(
        readStrings(scopes, `definePolicy: ${quote(op)}`, {
          holds: known,
          instead: 'name a scope of the catalog',
        }),
      ),
    );
  assert(needs.size > 0, 'definePolicy: pass { operation: [scopes] } with at least one operation');
  const operations = Object.freeze([...needs.keys()] as Op[]);
  const requires = (name: string): readonly string[] =>
    needs.get(name) ??
    raise(new TypeError(`policy: ${quote(name)} is not in the table; add it to definePolicy`));
  function authorize(
    principal: Principal,
    operation: string,
    options: { readonly entityUuid?: unknown } = {},
  ): string {
    const { entityUuid: asked } = readFields(options, ['entityUuid'], 'authorize');
    const scopes = requires(operation);
    if (scopes.length > 0) requireScopes(principal, ...scopes);
    const meant = entityMeant(asked, principal?.entityUuid);
    requireEntity(principal, meant);
    return meant;
  }
  function allowed(principal: Principal): readonly Op[] {
    canAddress(principal, principal?.entityUuid); // A copy throws here, even if no scope is needed.
    return Object.freeze(
      operations.filter((name) => requires(name).every((scope) => hasScopes(principal, scope))),
    );
  }
  const leastScopes = (names: readonly Op[]) =>
    catalog.expand(readStrings(names, 'operations').flatMap(requires));
  const unmapped = (names: readonly string[]) =>
    Object.freeze(readStrings(names, 'names').filter((n) => !needs.has(n)));
  return Object.freeze({ operations, authorize, allowed, requires, leastScopes, unmapped });
}

/**
 * The one entity that a request means: the key's own by default, and never the first of several.
 * Unchecked: it may be anything.
 */
export function entityMeant(asked: unknown, own: string | undefined): unknown {
  const isOneOrNone = Array.isArray(asked) && asked.length < 2;
  const only: unknown = isOneOrNone ? asked[0] : asked;
  return only ?? own;
}
