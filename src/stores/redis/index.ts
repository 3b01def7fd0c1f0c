/** `keyscope/stores/redis`. */
export type { PurgeOptions } from '../purge.js';
export type {
  IoRedis,
  IoRedisCluster,
  NodeRedis,
  NodeRedisCluster,
  NodeRedisSentinel,
  RedisClient,
} from './client.js';
export { type RedisSubscriber, redisInvalidation } from './invalidation.js';
export { migrate } from './migrate.js';
export type { RedisStoreOptions } from './options.js';
export { purgeEnded } from './purge.js';
export { redisStore } from './store.js';
