/** `keyscope/cache`. */

export type { CacheOptions, Invalidation, LookupCache } from './cache-store.js';
export { cacheStore } from './cache-store.js';
