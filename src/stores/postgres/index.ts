/** `keyscope/stores/postgres`. */
export type { PurgeOptions } from '../purge.js';
export type {
  PgClient,
  PgliteClient,
  PgQuery,
  PostgresClient,
  PostgresJsClient,
} from './client.js';
export type { PgliteChannel, PostgresChannel, PostgresJsChannel } from './invalidation.js';
export { postgresInvalidation } from './invalidation.js';
export type { PgListener } from './listening-connection.js';
export { migrate } from './migrate.js';
export { purgeEnded } from './purge.js';
export type { PostgresStoreOptions } from './store.js';
export { postgresStore } from './store.js';
