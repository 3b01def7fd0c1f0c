/** Routes of Express 5: the layers of its routers. */
import { assert, hasMethods } from '../../core/input.js';
import { leadingOperations, operationOf, operationsBeforeHandler } from './guards.js';
import {
  covers,
  expressSegments,
  type Front,
  isOpen,
  type Reading,
  type Segment,
  withoutEnd,
} from './paths.js';
import { assertFew, type GuardedRoute } from './route.js';

type Path = string | RegExp;

interface Layer {
  readonly handle: ((...args: never[]) => unknown) & { readonly stack?: readonly Layer[] };
  /** Since version 2.3 of the package `router`; before, the path is nowhere. */
  readonly rawPath?: Path | readonly Path[];
  /** Whether it was mounted at `/`. */
  readonly slash?: boolean;
  readonly method?: string | undefined;
  readonly route?: Route;
}

interface Route {
  readonly path: Path | readonly Path[];
  readonly stack: readonly Layer[];
}

interface Router {
  readonly stack: readonly Layer[];
  readonly caseSensitive?: boolean | undefined;
  readonly strict?: boolean | undefined;
}

interface App {
  readonly router: Router;
}

/** Where a walk is: within which routers, below which path, behind which guards. */
interface Place {
  readonly routers: readonly Router[];
  readonly path: string;
  readonly segments: readonly Segment[];
  readonly fronts: readonly Front[];
  readonly found: GuardedRoute[];
  /** Routers that were read, of which a mounted one counts each time. */
  readonly walks: { count: number };
}

/** Middleware takes `req`, `res` and `next`; a fourth argument makes it a handler of errors. */
const NEXT = 3;

const HIDDEN =
  'routesOf: this version of the package "router" hides mount paths; ' +
  'install 2.3 or later, or pass a table';
const CYCLE = 'routesOf: a router is mounted within itself, so its routes have no end';

function isRouter(value: unknown): value is Router {
  return hasMethods(value, 'handle', 'use', 'route') && Array.isArray((value as Router).stack);
}

function isApp(value: unknown): value is App {
  return (
    typeof value === 'function' && hasMethods(value, 'handle', 'use', 'route', 'set', 'engine')
  );
}

export function isExpress(app: unknown): boolean {
  return isApp(app) || isRouter(app);
}

/** @throws TypeError if mount paths cannot be seen, or lead in a circle. */
export function readExpress(app: unknown): readonly GuardedRoute[] {
  const found: GuardedRoute[] = [];
  const place = { routers: [], path: '', segments: [], fronts: [], found, walks: { count: 0 } };
  walk(routerOf(app as App | Router), place);
  return found;
}

function routerOf(app: App | Router): Router {
  if (isRouter(app)) return app;
  assert(
    !('lazyrouter' in app),
    'routesOf: of Express it takes version 5; upgrade, or pass a table',
  );
  return app.router;
}

function walk(router: Router, place: Place): void {
  assert(!place.routers.includes(router), CYCLE);
  place.walks.count += 1;
  assertFew(place.walks.count);
  const routers = [...place.routers, router];
  const fronts = [...place.fronts];
  const here = { ...place, routers, fronts };
  for (const layer of router.stack) {
    if (layer.route !== undefined) fronts.push(...readRoute(layer, layersOf(layer.route), here));
    else fronts.push(...readMiddleware(layer, here));
  }
}

/** Lists what is mounted; returns the guard, if it is one, for what follows it. */
function readMiddleware(layer: Layer, place: Place): readonly Front[] {
  const { handle } = layer;
  const operation = operationOf(handle);
  const mounted = isRouter(handle) ? handle : mountedRouter(handle);
  if (mounted === null && operation === undefined) return [];
  const paths = pathsOf(layer);
  if (mounted !== null) {
    for (const path of paths) walk(mounted, below(place, path));
    return [];
  }
  return paths.map((path): Front => {
    const { segments } = below(place, path);
    return { operation: String(operation), method: 'ALL', segments, isPrefix: true };
  });
}

/** Lists a route, method by method; returns the guards that it has for the routes behind it. */
function readRoute(layer: Layer, stack: readonly Layer[], place: Place): readonly Front[] {
  const methods = new Set(stack.map(methodOf));
  return pathsOf(layer).flatMap((path) =>
    [...methods].flatMap((method) => {
      const chain = chainOf(stack, method);
      const segments = [...place.segments, ...expressSegments(path, readingOf(place))];
      const operations = operationsBeforeHandler(chain, NEXT);
      if (operations !== null) addRoute(place, method, path, segments, operations);
      // A HEAD that has handlers of its own does not meet the guards of GET.
      if (method === 'GET' && methods.has('HEAD')) return [];
      return leadingOperations(chain).map((operation): Front => {
        return { operation, method, segments, isPrefix: false };
      });
    }),
  );
}

function addRoute(
  place: Place,
  method: string,
  path: Path,
  segments: readonly Segment[],
  own: readonly string[],
): void {
  const fronts = place.fronts.filter((front) => covers(front, { method, segments }));
  const operations = [...fronts.map(({ operation }) => operation), ...own];
  place.found.push({ method, path: joined(place.path, path), operations });
  assertFew(place.found.length);
}

/** Of `app.all`, which declares each method that Node knows, one layer for all. */
function layersOf({ stack }: Route): readonly Layer[] {
  const gets = stack.filter(({ method }) => method === 'get');
  const rest = stack.filter(({ method }) => method !== 'get');
  const known = new Set(rest.map(({ method }) => method));
  const isAll = gets.length > 0 && known.has('trace') && known.has('connect');
  const isSame = gets.length * (known.size + 1) === stack.length;
  const handles = new Set(gets.map(({ handle }) => handle));
  if (!isAll || !isSame || !rest.every(({ handle }) => handles.has(handle))) return stack;
  return gets.map((layer) => ({ ...layer, method: undefined }));
}

/** The functions that a request of this method meets. */
function chainOf(stack: readonly Layer[], method: string): readonly unknown[] {
  const met = stack.filter((layer) => [method, 'ALL'].includes(methodOf(layer)));
  return met.map(({ handle }) => handle).filter(({ length }) => length <= NEXT);
}

function methodOf({ method }: Layer): string {
  return method?.toUpperCase() ?? 'ALL';
}

function readingOf({ routers }: Place): Reading {
  const router = routers.at(-1);
  return { isSensitive: router?.caseSensitive === true, isStrict: router?.strict === true };
}

/** Guards of a path alone do not count within: there a slash at its end may be read otherwise. */
function below(place: Place, path: Path): Place {
  const reading = { ...readingOf(place), isStrict: false };
  const segments = [...place.segments, ...expressSegments(path, reading)];
  return {
    ...place,
    path: joined(place.path, path),
    segments,
    fronts: place.fronts.filter(isOpen),
  };
}

function pathsOf(layer: Layer): readonly Path[] {
  const path = layer.rawPath ?? layer.route?.path ?? (layer.slash === true ? '/' : undefined);
  assert(path !== undefined, HIDDEN);
  return typeof path === 'string' || path instanceof RegExp ? [path] : path;
}

function joined(mount: string, path: Path): string {
  if (path instanceof RegExp) return mount + String(path);
  if (path === '/' || path === '') return mount === '' ? '/' : mount;
  return withoutEnd(mount) + path;
}

/**
 * The router of an app that was mounted with `app.use`, which is in a closure alone. It is asked
 * with a request that nobody sent: the first thing that it does is to give this its own prototype,
 * which names the app; here that ends it.
 */
function mountedRouter(handle: Layer['handle']): Router | null {
  if (handle.name !== 'mounted_app') return null;
  let app: unknown;
  const probe = new Proxy(
    {},
    {
      setPrototypeOf(_target, prototype: { readonly app?: unknown } | null) {
        app = prototype?.app;
        throw new TypeError('routesOf: a probe');
      },
    },
  );
  const response = { setHeader() {} };
  try {
    (handle as (...args: unknown[]) => unknown)(probe, response, () => {});
  } catch {
    // The probe ended it.
  }
  assert(isApp(app), 'routesOf: a mounted app hides its routes; mount a router, or pass a table');
  return routerOf(app);
}
