/** `keyscope/cache`. */

export type { Invalidation } from '../core/invalidation.js';
export { cacheStore } from './cache-store.js';
export type { CacheOptions, LookupCache } from './options.js';
