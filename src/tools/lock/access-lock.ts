/** The access lock: for each route, who may call it. */
import { assert, quote, readFields, readStrings, readText } from '../../core/input.js';
import { type Guarded, type Guarding, joinPolicies } from './guarded.js';
import { findReason, MAX_REASON_LENGTH, readReasons } from './reasons.js';
import { callersOf, type GuardedRoute } from './route.js';

/** Who may call each route of a service. Made by {@link lockOf} or {@link parseLock}. */
export interface AccessLock {
  /** The version of the format. */
  readonly version: 1;
  /** All scopes of the catalog, sorted. */
  readonly scopes: readonly string[];
  /** The scopes that no wildcard grants, sorted. */
  readonly reserved: readonly string[];
  /** By `GET /v1/threats` or `TOOL list_threats`, sorted by path and then by method. */
  readonly routes: ReadonlyMap<string, LockedRoute>;
}

/** The entry of one route. */
export interface LockedRoute {
  /** The operations of its guards, in order. A request must pass all of them. */
  readonly operations: readonly string[];
  /** All scopes that these operations need, sorted. */
  readonly scopes: readonly string[];
  /** Why the route has no guard; null if it has one, or if nobody has written a reason. */
  readonly reason: string | null;
  /** Who else may call a route with a guard, because the service's own sign-in opens it; sorted. */
  readonly also?: readonly string[] | undefined;
  /** Guards that may run before a route without a guard, sorted. Only a hint. */
  readonly behind?: readonly string[] | undefined;
  /** For a route without a guard: the number of handlers with its method and path, if above 1. */
  readonly handlers?: number | undefined;
  /** The key of `reasons` that its reason is from, if that is not its own name. */
  readonly pattern?: string | undefined;
}

/** The input of {@link lockOf}. */
export interface LockInput {
  /** The keyring of the service, made with a policy; or all of them, in a list. */
  readonly keyring: Guarding | readonly Guarding[];
  /** The routes that `routesOf` returned, or a list of the same shape. */
  readonly routes: Iterable<GuardedRoute>;
  /**
   * Route or pattern → why it has no guard, such as `{ 'GET /healthz': 'says only that it runs',
   * '/settings/*': 'people with a session' }`. The longest key that matches a route counts.
   */
  readonly reasons?: Readonly<Record<string, string>> | undefined;
  /** The committed lock, whose reasons stay for routes that no key of `reasons` matches. */
  readonly committed?: AccessLock | undefined;
}

/**
 * Makes the lock of a service in its current state.
 *
 * Not checked: that `routes` contains all routes of the service, and that its guards use this
 * keyring.
 *
 * @throws TypeError if a route appears twice with different guards, the policy lacks an operation,
 *   two keyrings need different scopes for one operation, or a reason matches no route without a
 *   guard.
 * @example
 * const lock = lockOf({ keyring, routes: routesOf(app) });
 */
export function lockOf(input: LockInput): AccessLock {
  readFields(input, ['keyring', 'routes', 'reasons', 'committed'], 'lockOf');
  const guarded = joinPolicies(input.keyring, 'lockOf');
  const reasons = readReasons(input.reasons ?? {});
  const unused = new Set(reasons.keys());
  const routes = new Map<string, LockedRoute>();
  for (const route of input.routes) {
    const name = nameOf(route);
    const why = route.operations.length === 0 ? whyOpen(name) : {};
    const locked = { ...lockRoute(name, route, guarded), ...why };
    const other = routes.get(name);
    const isSame = other === undefined || guardsOf(other) === guardsOf(locked);
    assert(isSame, `lockOf: routes: ${quote(name)} appears twice, with different guards`);
    routes.set(name, locked);
  }
  const [odd] = unused;
  const problem = `lockOf: reasons: ${quote(odd)} applies to no route without a guard`;
  assert(odd === undefined, `${problem}. Correct or remove it`);
  const scopes = [...guarded.scopes.keys()];
  const reserved = scopes.filter((scope) => guarded.scopes.get(scope));
  return createLock(scopes, reserved, routes);

  function whyOpen(name: string): Partial<LockedRoute> {
    const found = findReason(name, reasons);
    if (found === undefined) {
      const { reason = null, pattern } = input.committed?.routes.get(name) ?? {};
      return pattern === undefined ? { reason } : {};
    }
    const [key, reason] = found;
    unused.delete(key);
    return { reason, pattern: key === name ? undefined : key };
  }
}

function guardsOf(route: LockedRoute): string {
  const { behind = [], handlers } = route;
  return [callersOf(route), ...behind, handlers].join();
}

function lockRoute(
  name: string,
  { operations, also, behind = [], handlers }: GuardedRoute,
  guarded: Guarded,
): LockedRoute {
  const unknown = [...operations, ...behind].filter((each) => !guarded.operations.has(each));
  const names = unknown.join(', ');
  const problem = `lockOf: ${quote(name)}: the policy has no operation ${names}`;
  assert(unknown.length === 0, `${problem}. Add it to definePolicy`);
  const scopes = new Set(
    operations.flatMap((operation) => guarded.operations.get(operation) ?? []),
  );
  return { operations: [...operations], scopes: [...scopes], reason: null, also, behind, handlers };
}

const METHOD = /^[A-Z][A-Z-]*$/;
/** A path or the name of a tool. It is printable, so that each entry of the file is one line. */
const PATH = /^[!-~\u00a1-\uffff]+(?: [!-~\u00a1-\uffff]+)*$/;

/** Returns the name of a route in a lock. */
export function nameOf({ method, path }: GuardedRoute): string {
  const isRoute = typeof method === 'string' && typeof path === 'string';
  assert(isRoute && METHOD.test(method), 'routes: write methods in upper-case letters', method);
  assert(PATH.test(path), 'routes: write paths in printable characters', path);
  return `${method} ${path}`;
}

/** Makes a frozen lock, sorted so that the same service always gives the same lock. */
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
  const { operations, scopes, reason, also = [], behind = [], handlers, pattern } = route;
  const sorted: LockedRoute = {
    operations: Object.freeze(readStrings(operations, name)),
    scopes: Object.freeze([...scopes].sort(compareText)),
    reason,
  };
  if (operations.length > 0) {
    const others = also.map((who) => readText(who, MAX_REASON_LENGTH, `${quote(name)}: also`));
    const all = Object.freeze(others.sort(compareText));
    return Object.freeze({ ...sorted, ...(all.length > 0 && { also: all }) });
  }
  const hints = Object.freeze(readStrings(behind, name).sort(compareText));
  return Object.freeze({
    ...sorted,
    ...(hints.length > 0 && { behind: hints }),
    ...(handlers !== undefined && { handlers }),
    ...(pattern !== undefined && { pattern }),
  });
}

/** Returns a sort key with the path first, so that the methods of one path are adjacent. */
function keyOf(name: string): string {
  const space = name.indexOf(' ');
  return `${name.slice(space + 1)} ${name.slice(0, space)}`;
}

/** Compares by code units, which gives the same order on every machine. */
function compareText(a: string, b: string): number {
  return a < b ? -1 : 1;
}

/** Says in words who may call a route. */
export function whoMay({ operations, scopes, also = [], behind = [] }: LockedRoute): string {
  if (operations.length > 0) {
    const keys = scopes.length === 0 ? 'any key' : `keys with ${scopes.join(', ')}`;
    return [keys, ...also].join(', and ');
  }
  return behind.length === 0
    ? 'anyone'
    : `anyone, unless ${behind.join(' or ')} before it covers it`;
}
