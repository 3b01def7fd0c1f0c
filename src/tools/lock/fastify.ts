/** Routes of Fastify 5, which tells of each one when it is declared, and never again. */
import { assert, hasMethods } from '../../core/input.js';
import { operationsOf, readChain } from './guards.js';
import { assertFew, type GuardedRoute } from './route.js';

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
  readonly options: RouteOptionsLike;
  /** The app or plugin that declared it. */
  readonly instance: object;
  /** Its own hooks, once Fastify has taken them: what is put into its options later never runs. */
  hooks: readonly unknown[];
  /** Whether another hook has changed its place since. */
  isMoved: boolean;
}

interface Recording {
  readonly routes: Declared[];
  isReady: boolean;
}

const recordings = new WeakMap<object, Recording>();

const FIRST = 'recordRoutes(app), right after the app is made and before its first route or plugin';
const MOVED = 'routesOf: a hook changes the method or the url of a route; pass a table instead';

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
  const isEmpty = /^\(empty tree\)\s*$/.test(app.printRoutes());
  const plugins = keptBy(app, 'fastify.children');
  const isFirst = isEmpty && Array.isArray(plugins) && plugins.length === 0;
  assert(isFirst, `recordRoutes: too late; call ${FIRST}`);
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

/** Below a prefix, Fastify itself adds the slash at the end to the url of `/`. */
function settle(declared: Declared): void {
  const { options, url, methods } = declared;
  declared.hooks = hooksOf(options as Hooks);
  const isThere = options.url === url || options.url === `${url}/`;
  declared.isMoved = !isThere || methodsOf(options).join() !== methods.join();
}

function methodsOf({ method }: RouteOptionsLike): readonly string[] {
  return typeof method === 'string' ? [method] : [...method];
}

/** @throws TypeError if the app was not recorded, or is not ready. */
export function readFastify(app: unknown): readonly GuardedRoute[] {
  const recording = recordings.get(app as object);
  assert(recording !== undefined, `routesOf: call ${FIRST}`);
  assert(recording.isReady, 'routesOf: await app.ready() before, so that all plugins are loaded');
  assert(!recording.routes.some(({ isMoved }) => isMoved), MOVED);
  const gets = recording.routes.filter(({ methods }) => methods.includes('GET'));
  const heads = recording.routes.filter(isHead);
  const own = new Set(heads.filter((head) => !isHeadOf(head, gets)).map(({ url }) => url));
  return recording.routes.filter((each) => !isHead(each) || own.has(each.url)).flatMap(rowsOf);
}

function isHead({ methods }: Declared): boolean {
  return methods.join() === 'HEAD';
}

/** Fastify adds a HEAD to each GET: the same handler behind the same guards. */
function isHeadOf(head: Declared, gets: readonly Declared[]): boolean {
  const { url, options, hooks } = head;
  const guards = readChain(hooks).operations.join();
  return gets.some((get) => {
    const isSame = get.options.handler === options.handler;
    const isThere = get.url === url || `${get.url}/` === url;
    return isSame && isThere && readChain(get.hooks).operations.join() === guards;
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

/** What Fastify keeps for an app or a plugin, and for those within it, under a symbol. */
function keptBy(instance: object, name: string): unknown {
  for (let holder: object | null = instance; holder !== null; ) {
    const symbols = Object.getOwnPropertySymbols(holder);
    const key = symbols.find(({ description }) => description === name);
    if (key !== undefined) return Reflect.get(holder, key);
    holder = Object.getPrototypeOf(holder) as object | null;
  }
  return undefined;
}
