/** `keyscope/stores/mysql`. */
export type { PurgeOptions } from '../purge.js';
export type {
  MysqlClient,
  MysqlConnection,
  MysqlLoan,
  MysqlPool,
  MysqlStatement,
} from './client.js';
export { migrate } from './migrate.js';
export { purgeEnded } from './purge.js';
export type { MysqlStoreOptions } from './store.js';
export { mysqlStore } from './store.js';
