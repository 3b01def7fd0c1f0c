/** `keyscope/stores/d1`. */

export type { D1Client, D1Session, D1Statement, D1StoreOptions } from './store.js';
export { d1Store, migrate } from './store.js';
