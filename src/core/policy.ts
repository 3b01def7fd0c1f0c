/**
 * The policy: one table of operation → the scopes it needs, for every entry point, whether a REST
 * route or an MCP tool.
 */
import type { Catalog, ScopeOf } from './catalog.js';
import { assert, hasMethods, quote, readEntries, readFields, readStrings } from './input.js';
import type { Principal } from './principal.js';
import { grantedScopes, requireEntity, requireScopes } from './principal.js';

/** The options of `authorize`. */
interface AuthorizeOptions {
  /** The entity as the request gave it: its id, or the list of values of a parameter. */
  readonly entityId?: unknown;
}

/**
 * The operations of a service and the scopes that each needs, as {@link definePolicy} returns them.
 * Frozen. An operation that is not in the table is always a `TypeError`.
 */
export interface Policy<Operation extends string = string, C extends Catalog = Catalog> {
  /** The catalog that it was defined on. */
  readonly catalog: C;
  /** Every operation, in the order of the table. */
  readonly operations: readonly Operation[];
  /**
   * Guards an operation: checks the scopes first, then the entity.
   *
   * Pass `entityId` as the request gave it: its id, or the list of values of a parameter. Without
   * one, the key's own entity is checked. Not checked: whether the key has ended since it was
   * verified.
   *
   * @returns The entity that was checked. Use only this one in your handler.
   * @throws AccessError `insufficient_scope`, `invalid_request` (repeated, or not an id
   *   of this service) or `entity_forbidden`.
   * @throws TypeError on an operation that is not in the table, an unknown option, or an object
   *   that is not a principal.
   * @example
   * const asked = { entityId: query.entity_uuid };
   * const entityId = policy.authorize(principal, 'listThreats', asked);
   */
  authorize(principal: Principal, operation: Operation, options?: AuthorizeOptions): string;
  /**
   * Returns the operations that a principal may use, in the order of the table, for menus and MCP
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
   * Returns the scopes that an operation needs, in catalog order. Guards call it when you declare a
   * route.
   *
   * @throws TypeError on an operation that is not in the table.
   * @example
   * policy.requires('listThreats'); // ['threats:read']
   */
  requires(operation: Operation): readonly ScopeOf<C>[];
  /**
   * Returns the fewest scopes that let an integration use `operations`, in catalog order.
   *
   * @throws TypeError on an operation that is not in the table.
   * @example
   * policy.leastScopes(['whoami', 'listThreats']); // ['threats:read']
   */
  leastScopes(operations: readonly Operation[]): readonly ScopeOf<C>[];
  /**
   * Returns the `names` (of routes or tools) that are not in the table. Assert in a test that the
   * list is empty.
   *
   * @throws TypeError if `names` is not a list of strings.
   * @example
   * expect(policy.unmapped(routes.map((route) => route.operation))).toEqual([]);
   */
  unmapped(names: readonly string[]): readonly string[];
}

/** The literal union of a policy's operations. */
export type OperationOf<P> = P extends Policy<infer Operation> ? Operation : never;

/** Operation → the scopes it needs. */
type PolicyTable<C, Operation extends string> = Readonly<Record<Operation, readonly ScopeOf<C>[]>>;

/**
 * Defines which scopes each operation needs. An explicit empty list is allowed and admits any valid
 * key.
 *
 * Not checked: whether each operation has a route or tool; see `unmapped`.
 *
 * @param catalog What `defineScopes` returned.
 * @param table Operation → concrete scopes of the catalog; a caller needs all of them.
 * @throws TypeError on a pattern, a scope that is not in the catalog, or an empty table.
 * @example
 * const policy = definePolicy(catalog, { whoami: [], listThreats: ['threats:read'] });
 * const entityId = policy.authorize(principal, 'listThreats', { entityId: query.entity_uuid });
 */
export function definePolicy<C extends Catalog, const Op extends string>(
  catalog: C,
  table: PolicyTable<C, Op>,
): Policy<Op, C> {
  const instead = 'definePolicy: pass what defineScopes returned, then the table';
  assert(hasMethods(catalog, 'expand'), instead);
  return createPolicy(catalog, readTable(catalog, table)) as unknown as Policy<Op, C>;
}

type Needs = ReadonlyMap<string, readonly string[]>;

function readTable(catalog: Catalog, table: unknown): Needs {
  const needs = new Map<string, readonly string[]>();
  const known = new Set(catalog.all);
  const rule = {
    holds: (scope: string): boolean => known.has(scope),
    instead: 'name a scope of the catalog',
  };
  const instead = 'definePolicy: pass { operation: [scopes] } with at least one operation';
  for (const [operation, scopes] of readEntries(table, instead)) {
    const required = readStrings(scopes, `definePolicy: ${quote(operation)}`, rule);
    needs.set(operation, catalog.expand(required));
  }
  return needs;
}

function createPolicy(catalog: Catalog, needs: Needs): Policy {
  const operations = Object.freeze([...needs.keys()]);

  function requires(operation: string): readonly string[] {
    const scopes = needs.get(operation);
    if (scopes !== undefined) return scopes;
    throw new TypeError(`policy: ${quote(operation)} is not in the table; add it to definePolicy`);
  }

  function authorize(principal: Principal, name: string, options: AuthorizeOptions = {}): string {
    const { entityId: asked } = readFields(options, ['entityId'], 'authorize');
    const scopes = requires(name);
    if (scopes.length > 0) requireScopes(principal, ...scopes);
    const entityId = requestedEntity(asked, principal?.entityId);
    requireEntity(principal, entityId);
    return entityId;
  }

  function allowed(principal: Principal): readonly string[] {
    const held = new Set(grantedScopes(principal));
    const isAllowed = (operation: string): boolean =>
      requires(operation).every((scope) => held.has(scope));
    return Object.freeze(operations.filter(isAllowed));
  }

  function leastScopes(names: readonly string[]): readonly string[] {
    return catalog.expand(readStrings(names, 'operations').flatMap(requires));
  }

  function unmapped(names: readonly string[]): readonly string[] {
    return Object.freeze(readStrings(names, 'names').filter((name) => !needs.has(name)));
  }

  return Object.freeze({
    catalog,
    operations,
    authorize,
    allowed,
    requires,
    leastScopes,
    unmapped,
  });
}

/**
 * Returns the entity that a request asks for; by default, the key's own. If the request names
 * several, it returns the list and chooses none of them. Not checked: the result may be any value.
 */
export function requestedEntity(asked: unknown, own: string | undefined): unknown {
  const isOneOrNone = Array.isArray(asked) && asked.length < 2;
  const only: unknown = isOneOrNone ? asked[0] : asked;
  return only ?? own;
}
