/** `keyscope/stores/sqlite`. */
export type { PurgeOptions } from '../purge.js';
export type { SqliteHandle, SqliteStatement } from './client.js';
export { migrate } from './migrate.js';
export { purgeEnded } from './purge.js';
export { sqliteStore } from './store.js';
