/** Routes of Express 5: the layers of its routers. */
import { assert, hasMethods } from '../../core/input.js';
import { type Front, isProxy, operationOf, operationsAbove, readChain } from './guards.js';
import { assertFew, type GuardedRoute } from './route.js';

interface Layer {
  readonly handle: (...args: never[]) => unknown;
  /** Since version 2.3 of the package `router`; before, the path is nowhere. */
  readonly rawPath?: unknown;
  /** Of a route's own layers; none for every method. */
  readonly method?: string | undefined;
  readonly route?: { readonly stack: readonly Layer[] };
}

interface Router {
  readonly stack: readonly Layer[];
}

/** Where a walk is: within which routers, below which path, behind which guards. */
interface Place {
  readonly routers: readonly Router[];
  readonly path: string;
  readonly fronts: readonly Front[];
  readonly found: GuardedRoute[];
  /** Routers that were read, of which a mounted one counts each time. */
  readonly walks: { count: number };
}

/** What takes a fourth argument is met by errors alone. */
const MOST_ARGUMENTS = 3;
const FOR_ERRORS = 'a function that errors meet';

const TABLE = "or pass a table, such as { 'GET /threats': 'listThreats' }";
const VERSION = `routesOf: install Express 5 with the package "router" 2.3 or later, ${TABLE}`;
const MOUNTED = `routesOf: it cannot read an app mounted in another; mount a Router, ${TABLE}`;
const PROXY = `routesOf: it cannot read a router through a Proxy; pass the router itself, ${TABLE}`;
const REPLACED = `routesOf: something else has replaced handle() of a router; leave it, ${TABLE}`;
const CYCLE = 'routesOf: a router is mounted within itself, so its routes have no end';
const PATHS = `routesOf: a path of Express is no string and no RegExp; use one, ${TABLE}`;

function isRouter(value: unknown): value is Router {
  return hasMethods(value, 'handle', 'use', 'route') && Array.isArray((value as Router).stack);
}

function isApp(value: unknown): value is { readonly router: unknown } {
  return hasMethods(value, 'handle', 'use', 'set', 'engine');
}

export function isExpress(app: unknown): boolean {
  return isApp(app) || isRouter(app);
}

/** @throws TypeError on what it cannot read to the end; the message says what to do. */
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
      else here.found.push(...readRoute(path, layer.route.stack, here));
      fronts.push(...frontsOf(layer, path));
    }
    assertFew(here.found.length);
  }
}

/** Reads what `use` was given, if it is a router. What has a `handle` of its own is an app. */
function readMounted(handle: Layer['handle'], place: Place): void {
  if (isRouter(handle)) walk(handle, place);
  else assert(!hasMethods(handle, 'handle') && handle.name !== 'mounted_app', MOUNTED);
}

/** A row for each method, or one for all of them. */
function readRoute(path: string, stack: readonly Layer[], place: Place): readonly GuardedRoute[] {
  const rows = [...new Set(stack.map(methodOf))].map((method) => {
    const above = operationsAbove(method, path, place.fronts);
    return { method, path, ...readChain(chainOf(stack, method), above) };
  });
  // `app.all` declares each method that Node knows.
  const methods = rows.map(({ method }) => method);
  const isAll = ['GET', 'CONNECT', 'TRACE'].every((method) => methods.includes(method));
  const kinds = new Set(rows.map(({ operations }) => operations.join()));
  if (!isAll || kinds.size > 1) return rows;
  return rows.slice(0, 1).map((row) => ({ ...row, method: 'ALL' }));
}

/** The guards that a layer has for what follows it. */
function frontsOf({ route, handle, method }: Layer, path: string): readonly Front[] {
  const isPrefix = route === undefined;
  return (route?.stack ?? [{ handle, method }]).flatMap((layer) => {
    const operation = operationOf(layer.handle);
    return operation === undefined ? [] : [{ operation, method: methodOf(layer), path, isPrefix }];
  });
}

/**
 * The functions that a request of this method meets. With one for errors among them no guard
 * counts: it may let a request go on that made a guard throw.
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
    // In parentheses, which no text has, so that the two are never one row.
    const shown = typeof path === 'string' ? path : `(${String(path)})`;
    return (mount.endsWith('/') ? mount.slice(0, -1) : mount) + shown;
  });
}
