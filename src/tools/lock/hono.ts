/** Reads the routes of Hono 4 from `app.routes`, which lists middleware and handlers alike. */
import { assert, hasMethods } from '../../core/input.js';
import { type Front, isProxy, operationOf, operationsAbove, readChain } from './guards.js';
import type { GuardedRoute } from './route.js';

interface Entry {
  readonly path: string;
  readonly method: string;
  readonly handler: unknown;
}

/** The functions declared for one method and path, in order. */
interface Group {
  readonly method: string;
  readonly path: string;
  readonly chain: unknown[];
  readonly above: readonly string[];
}

/** The property where `route()` keeps the handler of an app with its own `onError`. */
const COMPOSED = '__COMPOSED_HANDLER';

const USAGE =
  'routesOf: this is not a plain Hono 4 app. Pass the app itself, not a Proxy, or a table such ' +
  "as { 'GET /threats': 'listThreats' }";

export function isHono(app: unknown): boolean {
  return hasMethods(app, 'fetch', 'route', 'basePath', 'mount', 'on');
}

/**
 * Lists each method and path once, with all functions declared for exactly these. Hono stores the
 * arguments of `use`, `all` and `mount` alike, under the method `ALL`.
 *
 * @throws TypeError if this is not Hono 4.
 */
export function readHono(app: unknown): readonly GuardedRoute[] {
  const { routes } = app as { readonly routes: unknown };
  assert(!isProxy(app) && Array.isArray(routes) && routes.every(isEntry), USAGE);
  const groups = new Map<string, Group>();
  const fronts: Front[] = [];
  for (const { method, path, handler } of routes as readonly Entry[]) {
    const key = `${method} ${path}`;
    const started = { method, path, chain: [], above: operationsAbove(method, path, fronts) };
    const group: Group = groups.get(key) ?? started;
    group.chain.push(unwrapped(handler));
    groups.set(key, group);
    fronts.push(...frontsOf(method, path, unwrapped(handler)));
  }
  return [...groups.values()].map(({ method, path, chain, above }) => {
    const handlers = chain.filter((each) => operationOf(each) === undefined).length;
    return { method, path, ...readChain(chain, above), handlers };
  });
}

function isEntry(entry: unknown): boolean {
  const { path, method, handler } = Object(entry) as Partial<Entry>;
  return typeof path === 'string' && typeof method === 'string' && typeof handler === 'function';
}

function unwrapped(handler: unknown): unknown {
  let inner = handler;
  while (Object.hasOwn(Object(inner) as object, COMPOSED)) {
    inner = (inner as { readonly [COMPOSED]: unknown })[COMPOSED];
  }
  return inner;
}

function frontsOf(method: string, path: string, handler: unknown): readonly Front[] {
  const operation = operationOf(handler);
  if (operation === undefined) return [];
  const isPrefix = path.endsWith('/*');
  return [{ operation, method, path: isPrefix ? path.slice(0, -'/*'.length) : path, isPrefix }];
}
