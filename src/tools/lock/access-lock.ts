/** What a lock says: of each route, who may call it. */
import type { Catalog } from '../../core/catalog.js';
import { assert, isObject, quote, readFields, readStrings, readText } from '../../core/input.js';
import type { Policy } from '../../core/policy.js';
import type { GuardedRoute } from './route.js';

/** Who may call everything that a service has. Made by {@link lockOf} or {@link parseLock}. */
export interface AccessLock {
  /** Of the shape of a lock. */
  readonly version: 1;
  /** The scopes that there are, sorted. */
  readonly scopes: readonly string[];
  /** Those of them that no wildcard grants, sorted. */
  readonly reserved: readonly string[];
  /** By `GET /v1/threats` or `TOOL list_threats`, sorted by path and then by method. */
  readonly routes: ReadonlyMap<string, LockedRoute>;
}

/** What a lock says of one route. */
export interface LockedRoute {
  /** The operations of its guards, in order. Every one of them has to let a request in. */
  readonly operations: readonly string[];
  /** The scopes that they need together, sorted. */
  readonly scopes: readonly string[];
  /** Why a route without a guard has none; null while nobody has said, or if it has a guard. */
  readonly reason: string | null;
  /** Guards that may stand before a route without one, sorted: a hint, which decides nothing. */
  readonly behind?: readonly string[] | undefined;
  /** Of a route without a guard: how many share its method and path, if there is more than one. */
  readonly handlers?: number | undefined;
}

/** What a lock is made of. */
export interface LockInput {
  /** What `defineScopes` returned. */
  readonly catalog: Catalog;
  /** What `definePolicy` returned, for that catalog. */
  readonly policy: Policy;
  /** What `routesOf` found, or a list like it. */
  readonly routes: Iterable<GuardedRoute>;
  /** Route → why it has no guard, such as `{ 'GET /healthz': 'says only that it runs' }`. */
  readonly reasons?: Readonly<Record<string, string>> | undefined;
}

/** The longest reason, in characters. */
export const MAX_REASON_LENGTH: number = 500;

/**
 * Makes the lock of a service as it is now.
 *
 * Not checked: that `routes` are all that the service has, and that its guards ask this policy.
 *
 * @throws TypeError on a route that is there twice with different guards, an operation that the
 *   policy does not have, or a reason for a route that has a guard or is not there.
 * @example
 * const lock = lockOf({ catalog, policy, routes: routesOf(app) });
 */
export function lockOf(input: LockInput): AccessLock {
  readFields(input, ['catalog', 'policy', 'routes', 'reasons'], 'lockOf');
  const { catalog, policy } = input;
  assert(typeof catalog?.isReserved === 'function', 'lockOf: catalog: pass what defineScopes made');
  assert(typeof policy?.requires === 'function', 'lockOf: policy: pass what definePolicy made');
  const reasons = readReasons(input.reasons ?? {});
  const routes = new Map<string, LockedRoute>();
  for (const route of input.routes) {
    const name = nameOf(route);
    const locked = lockRoute(name, route, policy, reasons.get(name) ?? null);
    const other = routes.get(name);
    const isSame = other === undefined || guardsOf(other) === guardsOf(locked);
    assert(isSame, `lockOf: ${quote(name)} is there twice, with different guards`);
    routes.set(name, locked);
  }
  for (const name of reasons.keys()) {
    assert(routes.has(name), `lockOf: reasons: there is no route ${quote(name)}`);
  }
  const reserved = catalog.all.filter((scope) => catalog.isReserved(scope));
  return createLock(catalog.all, reserved, routes);
}

function guardsOf({ operations, behind = [], handlers }: LockedRoute): string {
  return [...operations, '', ...behind, handlers].join();
}

function lockRoute(
  name: string,
  { operations, behind = [], handlers }: GuardedRoute,
  policy: Policy,
  reason: string | null,
): LockedRoute {
  const unknown = policy.unmapped([...operations, ...behind]);
  assert(unknown.length === 0, `lockOf: ${quote(name)}: the policy has no ${unknown.join(', ')}`);
  const isGuarded = operations.length > 0;
  assert(!isGuarded || reason === null, `lockOf: reasons: ${quote(name)} has a guard`);
  const scopes = new Set(operations.flatMap((operation) => policy.requires(operation)));
  return { operations: [...operations], scopes: [...scopes], reason, behind, handlers };
}

function readReasons(value: unknown): ReadonlyMap<string, string> {
  const instead = 'lockOf: reasons: pass { route: reason }';
  assert(isObject(value), instead);
  const entries = Object.entries(value).map(([name, reason]: [string, unknown]) => {
    return [name, readText(reason, MAX_REASON_LENGTH, `lockOf: reasons: ${quote(name)}`)] as const;
  });
  return new Map(entries);
}

const METHOD = /^[A-Z][A-Z-]*$/;
/** A path or a tool's name: printable, so that a line of the file is a line. */
const PATH = /^[!-~\u00a1-\uffff]+(?: [!-~\u00a1-\uffff]+)*$/;

/** What a route is called in a lock. */
export function nameOf({ method, path }: GuardedRoute): string {
  const isRoute = typeof method === 'string' && typeof path === 'string';
  assert(isRoute && METHOD.test(method), 'routes: a method is upper-case letters', method);
  assert(PATH.test(path), 'routes: a path is printable', path);
  return `${method} ${path}`;
}

/** Sorts everything, so that the same service always has the same lock, and freezes it. */
export function createLock(
  scopes: readonly string[],
  reserved: readonly string[],
  routes: ReadonlyMap<string, LockedRoute>,
): AccessLock {
  const sorted = [...routes].sort(([a], [b]) => compareText(keyOf(a), keyOf(b)));
  const frozen = sorted.map(([name, route]) => [name, freezeRoute(name, route)] as const);
  return Object.freeze<AccessLock>({
    version: 1,
    scopes: Object.freeze([...scopes].sort(compareText)),
    reserved: Object.freeze([...reserved].sort(compareText)),
    routes: new Map(frozen),
  });
}

function freezeRoute(name: string, route: LockedRoute): LockedRoute {
  const { operations, scopes, reason, behind = [], handlers } = route;
  const sorted: LockedRoute = {
    operations: Object.freeze(readStrings(operations, name)),
    scopes: Object.freeze([...scopes].sort(compareText)),
    reason,
  };
  if (operations.length > 0) return Object.freeze(sorted);
  const hints = Object.freeze(readStrings(behind, name).sort(compareText));
  return Object.freeze({
    ...sorted,
    ...(hints.length > 0 && { behind: hints }),
    ...(handlers !== undefined && { handlers }),
  });
}

/** By path first, so that the methods of one path stand together. */
function keyOf(name: string): string {
  const space = name.indexOf(' ');
  return `${name.slice(space + 1)} ${name.slice(0, space)}`;
}

/** By code units: the same on every machine. */
function compareText(a: string, b: string): number {
  return a < b ? -1 : 1;
}

/** Who may call a route, in words. */
export function whoMay({ operations, scopes, reason, behind = [] }: LockedRoute): string {
  if (operations.length > 0)
    return scopes.length === 0 ? 'any key' : `keys with ${scopes.join(', ')}`;
  const unless = behind.length === 0 ? '' : `, unless ${behind.join(' or ')} before it covers it`;
  return reason === null ? `anyone${unless}, and nobody wrote why` : `anyone${unless}: ${reason}`;
}
