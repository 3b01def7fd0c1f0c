/** `keyscope/stores/sqlite`. */
export type { SqliteHandle, SqliteStatement } from './client.js';
export { migrate } from './migrate.js';
export { purgeEnded } from './purge.js';
export type { PurgeOptions } from './purge-options.js';
export { sqliteStore } from './store.js';
