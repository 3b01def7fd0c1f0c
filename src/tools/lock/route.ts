/** A route and its guards, as every framework's routes are listed. */
import { assert } from '../../core/input.js';

/** What is in front of it. */
export interface GuardedRoute {
  /** `GET`, …; `ALL` for every method; or `TOOL` for an MCP tool. */
  readonly method: string;
  /** As it is declared, with the mount paths before it: `/v1/threats/:id`; a tool's name. */
  readonly path: string;
  /** The operations of the guards in front of it, in order: none if it has no guard. */
  readonly operations: readonly string[];
}

/** A cyclic or generated tree must end in an error, not in a list that nobody reads. */
const MAX_ROUTES = 100_000;

export function assertFew(count: number): void {
  assert(count <= MAX_ROUTES, `routesOf: this has more than ${MAX_ROUTES} routes or routers`);
}

/**
 * Sorted by path, method and operations, each once. A HEAD like the GET of the same path is left
 * out: routers add it by themselves.
 */
export function sortRoutes(routes: readonly GuardedRoute[]): readonly GuardedRoute[] {
  assertFew(routes.length);
  const known = new Map<string, GuardedRoute>();
  for (const { method, path, operations } of routes) {
    const each = Object.freeze([...new Set(operations)]);
    const route = Object.freeze({ method, path, operations: each });
    known.set(keyOf(route), route);
  }
  const kept = [...known].filter(
    ([, route]) => route.method !== 'HEAD' || !known.has(keyOf({ ...route, method: 'GET' })),
  );
  kept.sort(([a], [b]) => (a < b ? -1 : 1));
  return Object.freeze(kept.map(([, route]) => route));
}

function keyOf({ method, path, operations }: GuardedRoute): string {
  return [path, method, ...operations].join('\0');
}
