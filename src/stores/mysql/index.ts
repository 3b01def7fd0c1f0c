/** `keyscope/stores/mysql`. */

export type {
  MysqlClient,
  MysqlConnection,
  MysqlLoan,
  MysqlPool,
  MysqlStatement,
  MysqlStoreOptions,
} from './store.js';
export { migrate, mysqlStore } from './store.js';
