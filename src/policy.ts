/** One table for every door: operation → the scopes it needs, for REST routes and MCP tools alike. */
import type { Catalog, ScopeOf } from './catalog.js';
import { AccessError } from './errors.js';
import { expect, quote, strings } from './input.js';
import type { Principal } from './principal.js';
import { hasScopes, requireEntity, requireScopes } from './principal.js';
import { isScope } from './scope.js';

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
  /** The fewest scopes with which an integration can use `operations`, in catalog order. */
  leastScopes(operations: readonly Operation[]): readonly string[];
  /** Which of `names` (routes, tools) the table does not have: a test asserts that it is none. */
  unmapped(names: readonly string[]): readonly string[];
}

/**
 * Defines which scopes each operation needs. An empty list is legal here, by name: any valid key will do.
 *
 * @param table Operation → concrete scopes of the catalog, all of which are needed.
 * @throws TypeError on a pattern, a scope that the catalog does not have, or an empty table.
 * @example
 * const policy = definePolicy(catalog, { whoami: [], listThreats: ['threats:read'] });
 * const entityUuid = policy.authorize(principal, 'listThreats', { entityUuid: query.entity_uuid });
 */
export function definePolicy<C extends Catalog, const Operation extends string>(
  catalog: C,
  table: Readonly<Record<Operation, readonly ScopeOf<C>[]>>,
): Policy<Operation> {
  expect(typeof table === 'object' && table !== null, 'definePolicy: pass { operation: [scopes] }');
  const needs = new Map<string, readonly string[]>();
  for (const [operation, scopes] of Object.entries(table)) {
    const what = `definePolicy: ${quote(operation)}`;
    const list = strings(scopes, what);
    for (const scope of list) expect(isScope(scope), `${what}: ${quote(scope)} is no concrete scope`);
    needs.set(operation, catalog.expand(list));
  }
  expect(needs.size > 0, 'definePolicy: a policy has at least one operation');
  const operations = Object.freeze([...needs.keys()] as Operation[]);

  const need = (operation: string): readonly string[] => {
    const scopes = needs.get(operation);
    expect(scopes !== undefined, `policy: ${quote(operation)} is not in the table; add it to definePolicy`);
    return scopes;
  };
  // A policy entry may be empty, `requireScopes()` may not.
  const may = (principal: Principal, scopes: readonly string[]) =>
    scopes.length === 0 || hasScopes(principal, ...scopes);

  return Object.freeze({
    operations,
    authorize(principal, operation, options = {}) {
      const scopes = need(operation);
      if (!may(principal, scopes)) requireScopes(principal, ...scopes);
      return addressed(principal, options.entityUuid);
    },
    allowed: (principal) => Object.freeze(operations.filter((operation) => may(principal, need(operation)))),
    leastScopes: (names) => catalog.expand(strings(names, 'operations').flatMap(need)),
    unmapped: (names) => Object.freeze(strings(names, 'names').filter((name) => !needs.has(name))),
  } satisfies Policy<Operation>);
}

/** The one entity that a request means: its own by default, never the first of several. */
function addressed(principal: Principal, asked: unknown): string {
  const values: readonly unknown[] = Array.isArray(asked) ? asked : [asked ?? principal.entityUuid];
  if (values.length > 1) {
    throw new AccessError('invalid_request', 'malformed_entity', { keyId: principal.keyId });
  }
  const [entityUuid = principal.entityUuid] = values;
  requireEntity(principal, entityUuid);
  return entityUuid;
}
