/** `keyscope/cache`. */

export type { Invalidation } from '../core/invalidation.js';
export type { CacheOptions, LookupCache } from './cache-store.js';
export { cacheStore } from './cache-store.js';
