/** A route and its guards, as every framework's routes are listed. */
import { assert } from '../../core/input.js';

/** A route, and what stands before its handler. */
export interface GuardedRoute {
  /** `GET`, …; `ALL` for every method; or `TOOL` for an MCP tool. */
  readonly method: string;
  /** As it is declared, with the mount paths before it: `/v1/threats/:id`; a tool's name. */
  readonly path: string;
  /** The operations of the guards on the route itself, in order: none if it has no guard. */
  readonly operations: readonly string[];
  /**
   * Of a route without a guard: the operations of guards on its router, prefix or plugin, or later
   * on the route, sorted. A hint for people; the route counts as unguarded.
   */
  readonly behind?: readonly string[] | undefined;
  /**
   * Of a route without a guard: how many share its method and path, if there is more than one. A
   * new one then changes the lock, though the reason of the others would cover it.
   */
  readonly handlers?: number | undefined;
}

/** A cyclic or generated tree must end in an error, not in a list that nobody reads. */
const MAX_ROUTES = 100_000;

export function assertFew(count: number): void {
  assert(count <= MAX_ROUTES, `routesOf: this has more than ${MAX_ROUTES} routes or routers`);
}

/**
 * Sorts routes by path and method, one for each. Of two with the same method and path, only the
 * guards that both have count.
 */
export function sortRoutes(routes: readonly GuardedRoute[]): readonly GuardedRoute[] {
  assertFew(routes.length);
  const found = new Map<string, GuardedRoute>();
  for (const route of routes) {
    const key = `${route.path}\0${route.method}`;
    const other = found.get(key);
    found.set(key, other === undefined ? route : bothOf(other, route));
  }
  const sorted = [...found].sort(([a], [b]) => (a < b ? -1 : 1));
  return Object.freeze(sorted.map(([, route]) => frozen(route)));
}

function bothOf(one: GuardedRoute, other: GuardedRoute): GuardedRoute {
  const { method, path } = one;
  const operations = one.operations.filter((operation) => other.operations.includes(operation));
  const behind = [...guardsOf(one), ...guardsOf(other)];
  return {
    method,
    path,
    operations,
    behind,
    handlers: (one.handlers ?? 1) + (other.handlers ?? 1),
  };
}

function guardsOf({ operations, behind = [] }: GuardedRoute): readonly string[] {
  return [...operations, ...behind];
}

function frozen({
  method,
  path,
  operations,
  behind = [],
  handlers = 1,
}: GuardedRoute): GuardedRoute {
  const route = { method, path, operations: Object.freeze([...new Set(operations)]) };
  if (operations.length > 0) return Object.freeze(route);
  const hints = Object.freeze([...new Set(behind)].sort());
  return Object.freeze({
    ...route,
    ...(hints.length > 0 && { behind: hints }),
    ...(handlers > 1 && { handlers }),
  });
}
