/** Lists the actual routes of a service and the guards on each. */
import { isExpress, readExpress } from './express.js';
import { isFastify, readFastify } from './fastify.js';
import { isHono, readHono } from './hono.js';
import { type GuardedRoute, sortRoutes } from './route.js';
import { isRouteList, isTable, readRouteList, readTable } from './route-table.js';

/** Recognises one kind of app and reads its routes. */
interface Reader {
  readonly is: (app: unknown) => boolean;
  readonly read: (app: unknown) => readonly GuardedRoute[];
}

const READERS: readonly Reader[] = [
  { is: isExpress, read: readExpress },
  { is: isFastify, read: readFastify },
  { is: isHono, read: readHono },
  { is: isRouteList, read: readRouteList },
  { is: isTable, read: readTable },
];

const USAGE =
  'routesOf: unsupported app. Pass an Express 5 app or router, a Fastify 5 app on which you ' +
  "called recordRoutes, a Hono 4 app, or a table such as { 'GET /threats': 'listThreats' }";

/**
 * Lists the routes of a service, sorted by path and method, each with the operations of its guards.
 * A guard counts only if it is on the route itself and only guards run before it: first in the
 * route's list (Express), among its hooks (Fastify), or among the handlers declared for the same
 * method and path (Hono). Any other guard is listed in `behind`, as a hint. Adapters mark their
 * guards so that `routesOf` can recognise them.
 *
 * Not listed: middleware and plugin hooks that answer requests; the HEAD that comes with a GET;
 * requests answered outside the router.
 *
 * @param app An app or router of a framework, or a table: `{ 'GET /threats': 'listThreats' }`.
 * @throws TypeError if the app is unsupported or hides some of its routes. The message says what to
 *   do.
 * @example
 * const unguarded = routesOf(app).filter(({ operations }) => operations.length === 0);
 */
export function routesOf(app: unknown): readonly GuardedRoute[] {
  const reader = READERS.find(({ is }) => is(app));
  if (reader === undefined) throw new TypeError(USAGE);
  return sortRoutes(reader.read(app));
}
