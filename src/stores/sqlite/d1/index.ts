/** `keyscope/stores/d1`. */
export type { PurgeOptions } from '../../purge.js';
export type { D1Client, D1Session, D1Statement } from './client.js';
export { migrate } from './migrate.js';
export { purgeEnded } from './purge.js';
export type { D1StoreOptions } from './store.js';
export { d1Store } from './store.js';
