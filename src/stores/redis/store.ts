/**
 * Keys in Redis 7 or newer, over a client that the service has connected: `redis` 5.0 (node-redis),
 * `ioredis` 5.1, `iovalkey` 0.1 or newer, for one server, a primary that Sentinel watches, or a
 * cluster. Imports no driver. Each command names one key, so none spans slots.
 *
 * - **Guarantees.** A record is written after its entries, and a mark after its own. So a crash
 *   leaves at most an entry or a pointer that leads nowhere, which reads skip. Each read asks the
 *   server for its role in the same step, so a demoted primary refuses. With a pepper, a record
 *   edited by hand does not authenticate, and listings still have a row for it.
 * - **Requires** persistence and replicas that lose no revocation: if Redis goes back to an earlier
 *   state, keys that were revoked since then work again.
 * - **Not checked:** persistence, replication and backups; a primary that does not know yet that
 *   another has taken over; in a cluster, that a shard was flushed.
 *
 * See docs/stores.md for what to set, and docs/reliability.md for the options of each client.
 */
import type { KeyStore } from '../../core/store.js';
import { afterStart, startOnce } from '../start.js';
import type { RedisClient } from './client.js';
import { migrateIfNeeded } from './migrate.js';
import { type RedisStoreOptions, readOptions } from './options.js';
import { createReads } from './reads.js';
import { createWrites } from './writes.js';

/**
 * Makes a store in Redis. Sends nothing to the server until the first operation, which calls
 * `migrate`; if that fails, the next operation tries again. Each operation is atomic per record.
 *
 * Costs: a look-up takes one round trip, even with several digests; by id it takes two, a mark
 * three, an insert three, with a command for each entity that the key addresses. `summarize` reads
 * every record, which takes some seconds for 100,000: give a report more time than a request.
 *
 * The commands that an ACL must allow, on keys that begin with the prefix:
 * `+get +set +del +exists +eval +info +hgetall +hget +hmget +hset +zadd +zrem +zrange`
 *
 * Not checked: persistence, replication and backups. Read docs/stores.md before production.
 *
 * @param client A client, pool, cluster or sentinel of `redis`, or a Redis or Cluster of `ioredis`
 *   or `iovalkey`, not in a transaction or subscriber mode; the service may use it, too. keyscope
 *   never connects or closes it.
 * @param options `prefix`: the beginning of every Redis key, for several stores on one server. A
 *   `keyPrefix` of ioredis or iovalkey comes in front of it. One of node-redis does not, so then a
 *   `prefix` is required. `usageClient`: another client of the same server, with the same
 *   `keyPrefix`, for usage alone.
 * @throws TypeError if `client` is not a supported client or reads from replicas, and on unknown
 *   options.
 * @example
 * const client = await createClient({ url: process.env.REDIS_URL }).on('error', report).connect();
 * const keyring = createKeyring({ prefix: 'acme', catalog, store: redisStore(client), peppers });
 */
export function redisStore(
  client: RedisClient,
  options: RedisStoreOptions = {},
): Required<KeyStore> {
  const settings = readOptions(client, options, 'redisStore');
  const ready = startOnce(() => migrateIfNeeded(settings));
  return afterStart(ready, { ...createReads(settings), ...createWrites(settings) });
}
