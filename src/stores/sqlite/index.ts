/** `keyscope/stores/sqlite`. */

export type { SqliteHandle, SqliteStatement } from './store.js';
export { migrate, sqliteStore } from './store.js';
