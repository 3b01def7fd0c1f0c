/** Routes of Hono 4: `app.routes`, in which middleware and handlers stand side by side. */
import { assert, hasMethods } from '../../core/input.js';
import { operationOf } from './guards.js';
import { covers, type Front, honoSegments } from './paths.js';
import type { GuardedRoute } from './route.js';

type Handler = (...args: never[]) => unknown;

interface Entry {
  readonly path: string;
  readonly method: string;
  readonly handler: Handler;
}

interface App {
  readonly routes: readonly Entry[];
}

/** Where `route()` keeps the handler of an app that has its own `onError`. */
const COMPOSED = '__COMPOSED_HANDLER';

const USAGE = 'routesOf: of Hono it takes version 4; upgrade, or pass a table';

export function isHono(app: unknown): boolean {
  return hasMethods(app, 'fetch', 'route', 'basePath', 'mount', 'on');
}

export function readHono(app: unknown): readonly GuardedRoute[] {
  const { routes } = app as App;
  assert(Array.isArray(routes) && routes.every(isEntry), USAGE);
  const entries = (routes as readonly Entry[]).map(unwrapped);
  const fronts: Front[] = [];
  const found: GuardedRoute[] = [];
  for (const [at, { path, method, handler }] of entries.entries()) {
    const operation = operationOf(handler);
    const segments = honoSegments(path);
    if (operation !== undefined) fronts.push({ operation, method, segments, isPrefix: false });
    if (operation !== undefined || !isHandler(entries, at)) continue;
    const met = fronts.filter((front) => covers(front, { method, segments }));
    found.push({ method, path, operations: met.map((front) => front.operation) });
  }
  return found;
}

function isEntry({ path, method, handler }: Partial<Entry>): boolean {
  return typeof path === 'string' && typeof method === 'string' && typeof handler === 'function';
}

function unwrapped(entry: Entry): Entry {
  let { handler } = entry;
  for (;;) {
    const { [COMPOSED]: inner } = handler as { readonly [COMPOSED]?: unknown };
    if (typeof inner !== 'function') return { ...entry, handler };
    handler = inner as Handler;
  }
}

/**
 * Whether it answers, as far as can be seen: what takes no `next` does, and so does the last of
 * those that were declared together for one method. For every method it is middleware, unless
 * `mount` made it.
 */
function isHandler(entries: readonly Entry[], at: number): boolean {
  const { method, path, handler } = entries[at] as Entry;
  if (handler.length < 2) return true;
  if (method === 'ALL') return handler.name === 'handler' && path.endsWith('/*');
  const rest = entries.slice(at + 1);
  const end = rest.findIndex((entry) => entry.method !== method || entry.path !== path);
  const together = end === -1 ? rest : rest.slice(0, end);
  return together.every((entry) => operationOf(entry.handler) !== undefined);
}
