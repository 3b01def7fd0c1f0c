/** `keyscope/stores/sqlite`. */
export type { SqliteHandle, SqliteStatement } from './handle.js';
export { migrate } from './migrate.js';
export { purgeEnded } from './purge.js';
export type { PurgeOptions } from './purge-options.js';
export { sqliteStore } from './store.js';
