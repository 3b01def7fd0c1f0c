/** A route and its guards, in the same form for every framework. */
import { assert } from '../../core/input.js';

/** A route and its guards. */
export interface GuardedRoute {
  /** `GET`, …; `ALL` for every method; or `TOOL` for an MCP tool. */
  readonly method: string;
  /** The declared path, including mount paths, such as `/v1/threats/:id`; or the tool's name. */
  readonly path: string;
  /** The operations of the guards on the route itself, in order. Empty if it has no guard. */
  readonly operations: readonly string[];
  /**
   * For a route without a guard: the operations of guards on its router, prefix or plugin, or later
   * on the route, sorted. This is a hint for people; the route counts as unguarded.
   */
  readonly behind?: readonly string[] | undefined;
  /** For a route with a guard: who else may call it, as its guards say (`also` of a guard). */
  readonly also?: readonly string[] | undefined;
  /**
   * For a route without a guard: the number of handlers with its method and path, if above 1. A new
   * handler then changes the lock, so that an old reason does not silently cover it.
   */
  readonly handlers?: number | undefined;
}

/** Cyclic or generated trees end in an error instead of an endless list. */
const MAX_ROUTES = 100_000;

export function assertFew(count: number): void {
  assert(count <= MAX_ROUTES, `routesOf: the app has more than ${MAX_ROUTES} routes or routers`);
}

/**
 * Sorts routes by path and method, one for each. If two share a method and path, a guard counts
 * only if both have it.
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

/** Returns the same text for two routes only if their guards let in the same callers. */
export function callersOf(route: Pick<GuardedRoute, 'operations' | 'also'>): string {
  return JSON.stringify([route.operations, route.also ?? []]);
}

function bothOf(one: GuardedRoute, other: GuardedRoute): GuardedRoute {
  const { method, path, also = [] } = one;
  const operations = one.operations.filter((operation) => other.operations.includes(operation));
  const behind = [...guardsOf(one), ...guardsOf(other)];
  return {
    method,
    path,
    operations,
    behind,
    also: [...also, ...(other.also ?? [])],
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
  also = [],
  handlers = 1,
}: GuardedRoute): GuardedRoute {
  const route = { method, path, operations: Object.freeze([...new Set(operations)]) };
  if (operations.length > 0) {
    const others = Object.freeze([...new Set(also)].sort());
    return Object.freeze({ ...route, ...(others.length > 0 && { also: others }) });
  }
  const hints = Object.freeze([...new Set(behind)].sort());
  return Object.freeze({
    ...route,
    ...(hints.length > 0 && { behind: hints }),
    ...(handlers > 1 && { handlers }),
  });
}
