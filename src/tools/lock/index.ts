/**
 * `keyscope/lock`: writes a committed file that says who may call each route and tool, and reports
 * what a change widens. It does not authorize requests.
 */
export type { AccessLock, LockedRoute, LockInput } from './access-lock.js';
export { lockOf } from './access-lock.js';
export type {
  CatalogChange,
  DiffLocksOptions,
  GrantedKey,
  KeyGain,
  LockDiff,
  RouteChange,
  RouteChangeKind,
} from './diff-locks.js';
export { diffLocks } from './diff-locks.js';
export type { FastifyLike, RouteOptionsLike } from './fastify.js';
export { recordRoutes } from './fastify.js';
export type { LockContractInput } from './lock-contract.js';
export { lockContract } from './lock-contract.js';
export { lockMarkdown } from './lock-markdown.js';
export type { SarifOptions } from './lock-sarif.js';
export { lockSarif } from './lock-sarif.js';
export { formatLock, parseLock } from './lock-text.js';
export type { GuardedRoute } from './route.js';
export { routesOf } from './routes.js';
export type { ToolsOfOptions } from './tools.js';
export { toolsOf } from './tools.js';
