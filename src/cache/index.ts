/** `keyscope/cache`. */
export type { Invalidation } from '../core/invalidation.js';
export type { CacheOptions, LookupCache } from './cache-options.js';
export { type CachedStore, cacheStore } from './cache-store.js';
export type { ChannelState } from './channel.js';
export {
  type PollingInvalidation,
  type PollingOptions,
  pollingInvalidation,
} from './polling.js';
