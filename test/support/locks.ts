/** Makes locks of small services from tables. */
import { definePolicy, defineScopes } from 'keyscope';
import { type AccessLock, type GuardedRoute, lockOf } from 'keyscope/lock';
import { untyped } from './keyring.ts';

/** Resource → action → whether a wildcard may grant it. */
export type Scopes = Readonly<Record<string, 'open' | 'reserved'>>;

/** Route → the scopes that it needs; null for a route without a guard. */
export type Routes = Readonly<Record<string, readonly string[] | null>>;

/** Makes the lock of a service in which each route has an operation named after it. */
export function lockWith(
  scopes: Scopes,
  routes: Routes,
  reasons: Readonly<Record<string, string>> = {},
): AccessLock {
  const definition: Record<string, Record<string, string>> = {};
  for (const scope of Object.keys(scopes)) {
    const [resource = '', action = ''] = scope.split(':');
    definition[resource] = { ...definition[resource], [action]: 'Whatever it allows.' };
  }
  const reserved = Object.keys(scopes).filter((scope) => scopes[scope] === 'reserved');
  const catalog = defineScopes(definition, { reserved: untyped<readonly never[]>(reserved) });
  const guarded = Object.entries(routes).filter(([, needed]) => needed !== null);
  const table = guarded.map(([route, needed]) => [`do ${route}`, needed] as const);
  const policy = definePolicy(catalog, { whoami: [], ...Object.fromEntries(table) });
  return lockOf({ keyring: { policy }, routes: Object.entries(routes).map(routeOf), reasons });
}

function routeOf([name, needed]: readonly [string, readonly string[] | null]): GuardedRoute {
  const [method = '', path = ''] = name.split(/ (.*)/s);
  return { method, path, operations: needed === null ? [] : [`do ${name}`] };
}
