/** Records the routes of Fastify 5, which reports each route only when it is declared. */
import { assert, hasMethods } from '../../core/input.js';
import { operationsOf, readChain } from './guards.js';
import { assertFew, callersOf, type GuardedRoute } from './route.js';

/** The hooks that Fastify runs before the handler, in order. */
const HOOKS = ['onRequest', 'preParsing', 'preValidation', 'preHandler'] as const;

type Hooks = { readonly [Name in (typeof HOOKS)[number]]?: unknown };

/** The part of a Fastify app that `recordRoutes` uses. */
export interface FastifyLike {
  addHook(name: 'onRoute', hook: (options: RouteOptionsLike) => void): unknown;
  addHook(name: 'onReady', hook: () => Promise<void>): unknown;
  printRoutes(): string;
  readonly version: string;
}

/** The options of a route, as Fastify passes them to `onRoute`. */
export interface RouteOptionsLike {
  readonly method: string | readonly string[];
  readonly url: string;
  readonly handler?: unknown;
}

interface Declared {
  readonly methods: readonly string[];
  readonly url: string;
  readonly options: RouteOptionsLike;
  /** The app or plugin that declared it. */
  readonly instance: object;
  /** The hooks that Fastify copied from its options. Hooks added to the options later never run. */
  hooks: readonly unknown[];
  /** Whether another hook has changed its method or url since. */
  isMoved: boolean;
}

interface Recording {
  readonly routes: Declared[];
  isReady: boolean;
}

const recordings = new WeakMap<object, Recording>();

const FIRST = 'Call recordRoutes(app) right after fastify(), before the first route or plugin';
const MOVED =
  'routesOf: a hook changed the method or url of a route. Pass a table instead, such as ' +
  "{ 'GET /threats': 'listThreats' }";

export function isFastify(app: unknown): boolean {
  return hasMethods(app, 'addHook', 'printRoutes', 'inject', 'register', 'ready');
}

/**
 * Records the routes of a Fastify app for `routesOf`. Call it before the first route or plugin,
 * because Fastify reports routes only when they are declared. It adds two hooks and does not affect
 * requests.
 *
 * @throws TypeError if `app` is not a Fastify 5 app, or already has routes or plugins.
 * @example
 * const app = fastify();
 * recordRoutes(app);
 * app.get('/threats', { onRequest: guard('listThreats') }, handler);
 * await app.ready();
 * const routes = routesOf(app);
 */
export function recordRoutes(app: FastifyLike): void {
  const isKnown = isFastify(app) && /^5\./.test(String(app.version));
  assert(isKnown, 'recordRoutes: not a Fastify 5 app. Pass the app that fastify() returned');
  if (recordings.has(app)) return;
  const isEmpty = /^\(empty tree\)\s*$/.test(app.printRoutes());
  const plugins = keptBy(app, 'fastify.children');
  const isFirst = isEmpty && Array.isArray(plugins) && plugins.length === 0;
  assert(isFirst, `recordRoutes: the app already has routes or plugins. ${FIRST}`);
  const recording: Recording = { routes: [], isReady: false };
  recordings.set(app, recording);
  app.addHook('onRoute', function onRoute(this: object, options) {
    const { url } = options;
    const methods = methodsOf(options);
    const declared = { methods, url, options, instance: this, hooks: [], isMoved: false };
    recording.routes.push(declared);
    assertFew(recording.routes.length);
  });
  app.addHook('onReady', async () => {
    for (const declared of recording.routes) settle(declared);
    recording.isReady = true;
  });
}

/** Below a prefix, Fastify itself appends a slash to the url of `/`. */
function settle(declared: Declared): void {
  const { options, url, methods } = declared;
  declared.hooks = hooksOf(options as Hooks);
  const isThere = options.url === url || options.url === `${url}/`;
  declared.isMoved = !isThere || methodsOf(options).join() !== methods.join();
}

function methodsOf({ method }: RouteOptionsLike): readonly string[] {
  return typeof method === 'string' ? [method] : [...method];
}

/** @throws TypeError if `recordRoutes` was not called, or the app is not ready. */
export function readFastify(app: unknown): readonly GuardedRoute[] {
  const recording = recordings.get(app as object);
  assert(recording !== undefined, `routesOf: no routes were recorded for this app. ${FIRST}`);
  assert(recording.isReady, 'routesOf: the app is not ready. Await app.ready() first');
  assert(!recording.routes.some(({ isMoved }) => isMoved), MOVED);
  const gets = recording.routes.filter(({ methods }) => methods.includes('GET'));
  const heads = recording.routes.filter(isHead);
  const own = new Set(heads.filter((head) => !isHeadOf(head, gets)).map(({ url }) => url));
  return recording.routes.filter((each) => !isHead(each) || own.has(each.url)).flatMap(rowsOf);
}

function isHead({ methods }: Declared): boolean {
  return methods.join() === 'HEAD';
}

/** Whether Fastify added this HEAD to a GET: it has the same handler and the same guards. */
function isHeadOf(head: Declared, gets: readonly Declared[]): boolean {
  const { url, options, hooks } = head;
  const guards = callersOf(readChain(hooks));
  return gets.some((get) => {
    const isSame = get.options.handler === options.handler;
    const isThere = get.url === url || `${get.url}/` === url;
    return isSame && isThere && callersOf(readChain(get.hooks)) === guards;
  });
}

function rowsOf({ methods, url, instance, hooks }: Declared): readonly GuardedRoute[] {
  const around = hooksOf((keptBy(instance, 'fastify.hooks') ?? {}) as Hooks);
  const guards = readChain(hooks, operationsOf(around));
  const { supportedMethods = [] } = instance as Partial<FastifyMethods>;
  const isAll = supportedMethods.every((method) => methods.includes(method));
  const names = isAll && supportedMethods.length > 0 ? ['ALL'] : methods;
  return names.map((method) => ({ method, path: url, ...guards }));
}

interface FastifyMethods {
  readonly supportedMethods: readonly string[];
}

function hooksOf(hooks: Hooks): readonly unknown[] {
  return HOOKS.flatMap((name) => hooks[name] ?? []);
}

/** Reads what Fastify keeps under a symbol for an app or plugin and for its children. */
function keptBy(instance: object, name: string): unknown {
  for (let holder: object | null = instance; holder !== null; ) {
    const symbols = Object.getOwnPropertySymbols(holder);
    const key = symbols.find(({ description }) => description === name);
    if (key !== undefined) return Reflect.get(holder, key);
    holder = Object.getPrototypeOf(holder) as object | null;
  }
  return undefined;
}
