/** The routes that a service really has, and the guards on each. */
import { isExpress, readExpress } from './express.js';
import { isFastify, readFastify } from './fastify.js';
import { isHono, readHono } from './hono.js';
import { type GuardedRoute, sortRoutes } from './route.js';
import { isRouteList, isTable, readRouteList, readTable } from './route-table.js';

/** A kind of service: how it is recognised, and how its routes are found. */
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
  'routesOf: unsupported app. Pass an Express 5 app or router, a Fastify 5 app after ' +
  "recordRoutes(app), a Hono 4 app, or a table: { 'GET /threats': 'listThreats' }";

/**
 * Lists the routes of a service, sorted by path and method, each with the operations of its guards.
 * A guard counts only on the route itself, with nothing but guards before it: first in the route's
 * list (Express), among its hooks (Fastify), or among what was declared for the same method and
 * path (Hono). Any other guard is `behind`, a hint. A guard is recognised by the mark that the
 * adapters leave on it.
 *
 * Not listed: middleware, hooks of plugins and `app.param` that answer by themselves, the HEAD that
 * follows a GET, and what is answered outside of the router.
 *
 * @param app An app or router of a framework, or a table: `{ 'GET /threats': 'listThreats' }`.
 * @throws TypeError if it is none of these, or hides a part of its routes; the message says what to
 *   do.
 * @example
 * const unguarded = routesOf(app).filter(({ operations }) => operations.length === 0);
 */
export function routesOf(app: unknown): readonly GuardedRoute[] {
  const reader = READERS.find(({ is }) => is(app));
  if (reader === undefined) throw new TypeError(USAGE);
  return sortRoutes(reader.read(app));
}
