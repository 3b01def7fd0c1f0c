/** `keyscope/stores/postgres`. */

export type {
  PgClient,
  PgListener,
  PgliteChannel,
  PgliteClient,
  PgQuery,
  PostgresChannel,
  PostgresClient,
  PostgresJsChannel,
  PostgresJsClient,
  PostgresStoreOptions,
} from './store.js';
export { migrate, postgresInvalidation, postgresStore } from './store.js';
