/** Routes of Fastify 5, which tells of each one when it is declared, and never again. */
import { assert, hasMethods } from '../../core/input.js';
import { operationsOf, readChain } from './guards.js';
import { assertFew, type GuardedRoute, sortRoutes } from './route.js';

/** What Fastify runs before the handler, in order. */
const HOOKS = ['onRequest', 'preParsing', 'preValidation', 'preHandler'] as const;

type Hooks = { readonly [Name in (typeof HOOKS)[number]]?: unknown };

/** What `recordRoutes` needs of a Fastify app. */
export interface FastifyLike {
  addHook(name: 'onRoute', hook: (options: RouteOptionsLike) => void): unknown;
  addHook(name: 'onReady', hook: () => Promise<void>): unknown;
  printRoutes(): string;
  readonly version: string;
}

/** What Fastify tells of a route. */
export interface RouteOptionsLike {
  readonly method: string | readonly string[];
  readonly url: string;
  readonly handler?: unknown;
}

interface Declared {
  readonly methods: readonly string[];
  readonly url: string;
  /** Kept, because hooks that run later may add guards to them. */
  readonly options: RouteOptionsLike;
  /** The app or plugin that declared it. */
  readonly instance: object;
}

interface Recording {
  readonly routes: Declared[];
  isReady: boolean;
}

const recordings = new WeakMap<object, Recording>();

const FIRST = 'recordRoutes(app), right after the app is made and before its first route';

export function isFastify(app: unknown): boolean {
  return hasMethods(app, 'addHook', 'printRoutes', 'inject', 'register', 'ready');
}

/**
 * Has a Fastify app keep its routes for `routesOf`. To be called before the first route, because
 * Fastify tells of routes only as they are declared. Adds two hooks, and does nothing to requests.
 *
 * @throws TypeError if `app` is no Fastify app, or has routes already.
 * @example
 * const app = fastify();
 * recordRoutes(app);
 * app.get('/threats', { onRequest: guard('listThreats') }, handler);
 * await app.ready();
 * const routes = routesOf(app);
 */
export function recordRoutes(app: FastifyLike): void {
  const isKnown = isFastify(app) && /^5\./.test(String(app.version));
  assert(isKnown, 'recordRoutes: pass a Fastify 5 app');
  if (recordings.has(app)) return;
  assert(/^\(empty tree\)\s*$/.test(app.printRoutes()), `recordRoutes: too late; call ${FIRST}`);
  const recording: Recording = { routes: [], isReady: false };
  recordings.set(app, recording);
  app.addHook('onRoute', function onRoute(this: object, options) {
    const { method, url } = options;
    const methods = typeof method === 'string' ? [method] : [...method];
    recording.routes.push({ methods, url, options, instance: this });
    assertFew(recording.routes.length);
  });
  app.addHook('onReady', async () => {
    recording.isReady = true;
  });
}

/** @throws TypeError if the app was not recorded, or is not ready. */
export function readFastify(app: unknown): readonly GuardedRoute[] {
  const recording = recordings.get(app as object);
  assert(recording !== undefined, `routesOf: call ${FIRST}`);
  assert(recording.isReady, 'routesOf: await app.ready() before, so that all plugins are loaded');
  const rows = sortRoutes(recording.routes.flatMap((each) => rowsOf(each, recording.routes)));
  const names = new Set(rows.map(nameOf));
  // Fastify adds a HEAD to each GET.
  return rows.filter(
    (row) => row.method !== 'HEAD' || !names.has(nameOf({ ...row, method: 'GET' })),
  );
}

function nameOf({ method, path, operations }: GuardedRoute): string {
  return [method, path, ...operations].join(' ');
}

function rowsOf(declared: Declared, all: readonly Declared[]): readonly GuardedRoute[] {
  const { methods, options, instance } = declared;
  const guards = readChain(hooksOf(options as Hooks), operationsOf(hooksAround(instance)));
  const { supportedMethods = [] } = instance as Partial<FastifyMethods>;
  const isAll = supportedMethods.every((method) => methods.includes(method));
  const names = isAll && supportedMethods.length > 0 ? ['ALL'] : methods;
  return names.map((method) => ({ method, path: pathOf(declared, all), ...guards }));
}

interface FastifyMethods {
  readonly supportedMethods: readonly string[];
}

/** Of `/` below a prefix, Fastify declares GET without the slash at the end, and HEAD with it. */
function pathOf({ methods, url, options }: Declared, all: readonly Declared[]): string {
  if (methods[0] !== 'HEAD' || !url.endsWith('/')) return url;
  const { handler } = options;
  const get = all.find((other) => `${other.url}/` === url && other.options.handler === handler);
  return get?.url ?? url;
}

function hooksOf(hooks: Hooks): readonly unknown[] {
  return HOOKS.flatMap((name) => hooks[name] ?? []);
}

/** The hooks of a plugin and of those around it, which Fastify keeps under a symbol. */
function hooksAround(instance: object): readonly unknown[] {
  for (let holder: object | null = instance; holder !== null; ) {
    const symbols = Object.getOwnPropertySymbols(holder);
    const key = symbols.find(({ description }) => description === 'fastify.hooks');
    if (key !== undefined) return hooksOf(Reflect.get(holder, key) as Hooks);
    holder = Object.getPrototypeOf(holder) as object | null;
  }
  return [];
}
