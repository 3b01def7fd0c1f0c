/**
 * `keyscope/lock`: which routes and tools a service really has, and which guards stand in front of
 * them.
 */
export type { FastifyLike, RouteOptionsLike } from './fastify.js';
export { recordRoutes } from './fastify.js';
export type { GuardedRoute } from './route.js';
export { routesOf } from './routes.js';
export type { ToolsOfOptions } from './tools.js';
export { toolsOf } from './tools.js';
