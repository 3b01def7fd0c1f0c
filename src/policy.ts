/** One table for every door: operation → the scopes it needs, for REST routes and MCP tools alike. */
import type { Catalog, ScopeOf } from './catalog.js';
import { checkFields, expect, quote, raise, strings } from './errors.js';
import { canAddress, hasScopes, type Principal, requireEntity, requireScopes } from './principal.js';

/** Made by {@link definePolicy}; frozen. An operation that is not in the table is a `TypeError` everywhere. */
export interface Policy<Operation extends string = string> {
  /** Every operation, in the order written. */
  readonly operations: readonly Operation[];
  /**
   * Guards an operation: scopes first, then the entity.
   *
   * `entityUuid` is what the request asked for: a UUID, or the list of values a parameter had. With none of
   * it, the key's own entity is meant.
   *
   * @returns The entity that was checked; handlers use no other.
   * @throws AccessError `insufficient_scope`, `invalid_request` (repeated, or no UUID in lower case) or
   *   `entity_forbidden`.
   */
  authorize(principal: Principal, operation: Operation, options?: { readonly entityUuid?: unknown }): string;
  /** The operations that a principal may use, in the order written: for menus and MCP `tools/list`. */
  allowed(principal: Principal): readonly Operation[];
  /** The scopes that an operation needs, in catalog order: guards ask when a route is declared. */
  requires(operation: Operation): readonly string[];
  /** The fewest scopes with which an integration can use `operations`, in catalog order. */
  leastScopes(operations: readonly Operation[]): readonly string[];
  /** Which of `names` (routes, tools) the table does not have: a test asserts that it is none. */
  unmapped(names: readonly string[]): readonly string[];
}

/** What a request is about to do. */
export interface AdmitInput<Operation extends string = string> {
  readonly policy: Policy<Operation>;
  readonly operation: NoInfer<Operation>;
  /** As the request gave it, or the list of values that its parameter had; nothing of it means the key's own. */
  readonly entityUuid?: unknown;
}

/** Who does it, and on which entity: the one that was checked. Handlers use no other. */
export type Admission = { readonly principal: Principal; readonly entityUuid: string };

type Table<C, Operation extends string> = Readonly<Record<Operation, readonly ScopeOf<C>[]>>;

/**
 * Defines which scopes each operation needs. An empty list is legal here, by name: any valid key will do.
 *
 * Not checked: whether a route or tool stands behind each operation; see `unmapped`.
 *
 * @param catalog What `defineScopes` returned.
 * @param table Operation → concrete scopes of the catalog, all of which are needed.
 * @throws TypeError on a pattern, a scope that the catalog does not have, or an empty table.
 * @example
 * const policy = definePolicy(catalog, { whoami: [], listThreats: ['threats:read'] });
 * const entityUuid = policy.authorize(principal, 'listThreats', { entityUuid: query.entity_uuid });
 */
export function definePolicy<C extends Catalog, const Op extends string>(catalog: C, table: Table<C, Op>): Policy<Op> {
  expect(typeof catalog?.expand === 'function', 'definePolicy: pass what defineScopes returned, then the table');
  const needs = new Map<string, readonly string[]>();
  const known = (scope: string) => catalog.all.includes(scope);
  for (const [op, scopes] of Object.entries(Array.isArray(table) ? {} : Object(table)))
    needs.set(op, catalog.expand(strings(scopes, `definePolicy: ${quote(op)}`, known, 'name a scope of the catalog')));
  expect(needs.size > 0, 'definePolicy: pass { operation: [scopes] } with at least one operation');
  const operations = Object.freeze([...needs.keys()] as Op[]);
  const requires = (name: string): readonly string[] =>
    needs.get(name) ?? raise(new TypeError(`policy: ${quote(name)} is not in the table; add it to definePolicy`));
  function authorize(principal: Principal, operation: string, options: { readonly entityUuid?: unknown } = {}): string {
    const { entityUuid: asked } = checkFields(options, ['entityUuid'], 'authorize');
    const scopes = requires(operation);
    if (scopes.length > 0) requireScopes(principal, ...scopes);
    // The one entity that is meant: the key's own by default, and never the first of several.
    const meant = (Array.isArray(asked) && asked.length < 2 ? asked[0] : asked) ?? principal?.entityUuid;
    requireEntity(principal, meant);
    return meant;
  }
  function allowed(principal: Principal): readonly Op[] {
    canAddress(principal, principal?.entityUuid); // A copy throws here, also where no scope is needed.
    return Object.freeze(operations.filter((name) => requires(name).every((scope) => hasScopes(principal, scope))));
  }
  const leastScopes = (names: readonly Op[]) => catalog.expand(strings(names, 'operations').flatMap(requires));
  const unmapped = (names: readonly string[]) => Object.freeze(strings(names, 'names').filter((n) => !needs.has(n)));
  return Object.freeze({ operations, authorize, allowed, requires, leastScopes, unmapped });
}
