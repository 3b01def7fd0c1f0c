/** `keyscope/stores/sqlite`. */

export type { SqliteHandle, SqliteStatement } from './handle.js';
export { migrate } from './migrate.js';
export { sqliteStore } from './store.js';
