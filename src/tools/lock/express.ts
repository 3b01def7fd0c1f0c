/** Reads the routes of Express 5 from the layers of its routers. */
import { assert, hasMethods } from '../../core/input.js';
import { type Front, isProxy, operationOf, operationsAbove, readChain } from './guards.js';
import { assertFew, callersOf, type GuardedRoute } from './route.js';

interface Layer {
  readonly handle: (...args: never[]) => unknown;
  /** The package `router` keeps the path only since version 2.3. */
  readonly rawPath?: unknown;
  /** Set on the layers of a route, unless the layer is for every method. */
  readonly method?: string | undefined;
  readonly route?: { readonly stack: readonly Layer[] };
}

interface Router {
  readonly stack: readonly Layer[];
  /** The callbacks of `param`, by the name of the parameter. */
  readonly params?: object;
}

/** The position of a walk: the enclosing routers, the path above, and the guards before. */
interface Place {
  readonly routers: readonly Router[];
  readonly path: string;
  readonly fronts: readonly Front[];
  readonly found: GuardedRoute[];
  /** The number of routers read so far. A router counts once per mount. */
  readonly walks: { count: number };
}

/** Express calls functions with a fourth argument only for errors. */
const MOST_ARGUMENTS = 3;
const FOR_ERRORS = 'an error handler';
const FOR_PARAMETERS = 'a callback of param';

const TABLE = "or pass a table such as { 'GET /threats': 'listThreats' }";
const VERSION =
  'routesOf: unsupported version of Express. Install Express 5 with the package "router" 2.3 or ' +
  `later, ${TABLE}`;
const MOUNTED = `routesOf: an app is mounted in another app. Mount a Router instead, ${TABLE}`;
const PROXY = `routesOf: a router is behind a Proxy. Pass the router itself, ${TABLE}`;
const REPLACED = `routesOf: a router has a replaced handle(). Keep the original, ${TABLE}`;
const CYCLE = `routesOf: a router is mounted within itself. Remove that mount, ${TABLE}`;
const PATHS = `routesOf: a path is neither a string nor a RegExp. Use one of these, ${TABLE}`;

function isRouter(value: unknown): value is Router {
  return hasMethods(value, 'handle', 'use', 'route') && Array.isArray((value as Router).stack);
}

function isApp(value: unknown): value is { readonly router: unknown } {
  return hasMethods(value, 'handle', 'use', 'set', 'engine');
}

export function isExpress(app: unknown): boolean {
  return isApp(app) || isRouter(app);
}

/** @throws TypeError if it cannot read all routes. The message says what to do. */
export function readExpress(app: unknown): readonly GuardedRoute[] {
  assert(!isProxy(app), PROXY);
  assert(!('lazyrouter' in Object(app)), VERSION);
  const root = isApp(app) ? app.router : app;
  assert(isRouter(root), VERSION);
  const found: GuardedRoute[] = [];
  walk(root, { routers: [], path: '', fronts: [], found, walks: { count: 0 } });
  return found;
}

function walk(router: Router, place: Place): void {
  assert(!isProxy(router), PROXY);
  assert(!Object.hasOwn(router, 'handle'), REPLACED);
  assert(!place.routers.includes(router), CYCLE);
  place.walks.count += 1;
  assertFew(place.walks.count);
  const fronts = [...place.fronts];
  const here = { ...place, routers: [...place.routers, router], fronts };
  for (const layer of router.stack) {
    for (const path of pathsOf(layer, place.path)) {
      if (layer.route === undefined) readMounted(layer.handle, { ...here, path });
      else {
        const first = hasCallback(router, layer, path) ? [FOR_PARAMETERS] : [];
        here.found.push(...readRoute(path, layer.route.stack, here, first));
      }
      fronts.push(...frontsOf(layer, path));
    }
    assertFew(here.found.length);
  }
}

/** Reads a router that was passed to `use`. Rejects an app, which has a `handle` method. */
function readMounted(handle: Layer['handle'], place: Place): void {
  if (isRouter(handle)) walk(handle, place);
  else assert(!hasMethods(handle, 'handle') && handle.name !== 'mounted_app', MOUNTED);
}

/** Whether a callback of `param` may run before the functions of a route, and answer. */
function hasCallback({ params = {} }: Router, { rawPath }: Layer, path: string): boolean {
  const names = Object.keys(params);
  if (typeof rawPath !== 'string') return names.length > 0;
  const parameters = path.split(/[:*]"?/).slice(1);
  return parameters.some((each) => names.some((name) => each.startsWith(name)));
}

/**
 * Returns a row per method, or a single row for `all`.
 *
 * @param first What runs before the stack.
 */
function readRoute(
  path: string,
  stack: readonly Layer[],
  place: Place,
  first: readonly unknown[],
): readonly GuardedRoute[] {
  const rows = [...new Set(stack.map(methodOf))].map((method) => {
    const above = operationsAbove(method, path, place.fronts);
    return { method, path, ...readChain([...first, ...chainOf(stack, method)], above) };
  });
  // `app.all` declares every method that Node knows.
  const methods = rows.map(({ method }) => method);
  const isAll = ['GET', 'CONNECT', 'TRACE'].every((method) => methods.includes(method));
  const kinds = new Set(rows.map(callersOf));
  if (!isAll || kinds.size > 1) return rows;
  return rows.slice(0, 1).map((row) => ({ ...row, method: 'ALL' }));
}

/** The guards of a layer that run before later layers. */
function frontsOf({ route, handle, method }: Layer, path: string): readonly Front[] {
  const isPrefix = route === undefined;
  return (route?.stack ?? [{ handle, method }]).flatMap((layer) => {
    const operation = operationOf(layer.handle);
    return operation === undefined ? [] : [{ operation, method: methodOf(layer), path, isPrefix }];
  });
}

/**
 * The functions that run for a request with this method. If one of them handles errors, no guard
 * counts, because it may let a request continue after a guard threw.
 */
function chainOf(stack: readonly Layer[], method: string): readonly unknown[] {
  const met = stack.filter((layer) => [method, 'ALL'].includes(methodOf(layer)));
  const handles = met.map(({ handle }) => handle);
  const others = handles.filter(({ length }) => length <= MOST_ARGUMENTS);
  return others.length < handles.length ? [FOR_ERRORS, ...others] : handles;
}

function methodOf({ method }: Layer): string {
  return method?.toUpperCase() ?? 'ALL';
}

function pathsOf({ rawPath }: Layer, mount: string): readonly string[] {
  assert(rawPath !== undefined, VERSION);
  const paths: readonly unknown[] = Array.isArray(rawPath) ? rawPath : [rawPath];
  return paths.map((path) => {
    assert(typeof path === 'string' || path instanceof RegExp, PATHS);
    if (path === '/' || path === '') return mount === '' ? '/' : mount;
    // In parentheses, which string paths cannot have, so that the two never share a row.
    const shown = typeof path === 'string' ? path : `(${String(path)})`;
    return (mount.endsWith('/') ? mount.slice(0, -1) : mount) + shown;
  });
}
