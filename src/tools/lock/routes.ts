/** The routes that a service really has, and the guards in front of each. */
import { isElysia, readElysia } from './elysia.js';
import { isExpress, readExpress } from './express.js';
import { isFastify, readFastify } from './fastify.js';
import { isHono, readHono } from './hono.js';
import { isKoa, readKoa } from './koa.js';
import { isNest, readNest } from './nest.js';
import { type GuardedRoute, sortRoutes } from './route.js';
import { isRouteList, isTable, readRouteList, readTable } from './route-table.js';
import { isTrpc, readTrpc } from './trpc.js';

/** A kind of service: how it is recognised, and how its routes are found. */
interface Reader {
  readonly takes: string;
  readonly is: (app: unknown) => boolean;
  readonly read: (app: unknown) => readonly GuardedRoute[];
}

const READERS: readonly Reader[] = [
  { takes: 'an Express 5 app or router', is: isExpress, read: readExpress },
  { takes: 'a Fastify 5 app, after recordRoutes(app)', is: isFastify, read: readFastify },
  { takes: 'a Hono 4 app', is: isHono, read: readHono },
  { takes: 'a Koa app or a router of @koa/router', is: isKoa, read: readKoa },
  { takes: 'an Elysia app', is: isElysia, read: readElysia },
  { takes: 'a Nest app', is: isNest, read: readNest },
  { takes: 'a tRPC router', is: isTrpc, read: readTrpc },
  { takes: 'a list of { method, path, operations }', is: isRouteList, read: readRouteList },
  { takes: 'a table of routes or of modules by their paths', is: isTable, read: readTable },
];

/**
 * Lists the routes of a service, sorted by path and method, each with the operations of the guards
 * in front of its handler. A guard is recognised by the mark that the adapters leave on it; a guard
 * that covers only some paths of a route does not count for it.
 *
 * Not listed: middleware that answers by itself; the HEAD that follows a GET; what is answered
 * outside of the router. Not noticed: a function in front of a guard that takes `next` and answers
 * by itself. A method and path that are declared twice with other guards are in the list twice.
 *
 * @param app An app or router of a framework, or a table: `{ 'GET /threats': 'listThreats' }`.
 * @throws TypeError if it is none of these, or hides a part of its routes; the message says what to
 *   do.
 * @example
 * const unguarded = routesOf(app).filter(({ operations }) => operations.length === 0);
 */
export function routesOf(app: unknown): readonly GuardedRoute[] {
  const reader = READERS.find(({ is }) => is(app));
  if (reader === undefined) {
    const known = READERS.map(({ takes }) => takes).join('; ');
    throw new TypeError(`routesOf: this is nothing whose routes it can list; pass ${known}`);
  }
  return sortRoutes(reader.read(app));
}
