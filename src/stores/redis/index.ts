/** `keyscope/stores/redis`. */

export type {
  IoRedis,
  IoRedisCluster,
  NodeRedis,
  NodeRedisCluster,
  RedisClient,
  RedisStoreOptions,
  RedisSubscriber,
} from './store.js';
export { migrate, redisInvalidation, redisStore } from './store.js';
