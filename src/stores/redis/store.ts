/**
 * Keys in Redis 7 or newer, over a client that the service has connected: `redis` 5.0 (node-redis),
 * `ioredis` 5.1, `iovalkey` 0.1 or newer, for one server, a primary that Sentinel watches, or a
 * cluster. Imports no driver. The layout is the same everywhere, and each command names one key, so
 * none spans slots:
 *
 *     keyscope:rec:<digest>    hash: the record, as JSON in ASCII, and `used:<scope>` with a time
 *     keyscope:id:<key id>     text: the entry of the record, as in `keyscope:own:…`
 *     keyscope:schema          hash: the version of this layout, and the oldest that can read it
 *
 * The listings use sorted sets of entries, `<time>:<key id>:<entity>:<prefix>:<digest>`:
 *
 *     keyscope:own:<prefix>:<entity>          by creation: the entity's own records
 *     keyscope:addressing:<prefix>:<entity>   by creation: other entities' records that address it
 *     keyscope:lineage:<key id>               by creation: keys rotated from or issued under it
 *     keyscope:expiry                         by expiry: all records
 *     keyscope:ended                          by revocation and by retirement: those that have one
 *     keyscope:changes                        by the time at which they were written: all marks
 *
 * A record is written after its entries, and a mark after its own. So a crash never leaves half a
 * key or half a mark behind, only an entry or a pointer that leads nowhere. Reads skip it, and it
 * conflicts with no other key, because key ids are random.
 *
 * **If Redis loses data, revoked keys can work again.** A mark is part of the record, so Redis
 * loses or keeps both together. But if the data goes back to an earlier state, keys revoked since
 * then work again. The causes and remedies:
 * - A crash without the append-only file: Redis loads the last snapshot. Set `appendonly yes`, and
 *   `appendfsync always` if acknowledged writes must survive a power cut; `everysec` may lose a
 *   second of revocations. With no persistence at all, every key is unknown (401) after a restart,
 *   and no revoked key works again.
 * - A restored backup: revoke again every key that was revoked since the backup. An audit log of
 *   `key.revoked` has the list.
 * - A failover: replication is asynchronous, so the new primary may lack the last writes.
 *   `min-replicas-to-write 1` bounds that. To wait for replicas, send `WAIT 1 1000` after `revoke`
 *   on the same connection (one client, no pool; a `createSentinel` with its default of one), and
 *   treat an answer below 1 as not yet durable. keyscope sends no `WAIT`. `WAIT` takes nothing
 *   back, and reports how many replicas have the write, not which ones: only a write that every
 *   promotable replica has survives every failover. In a cluster, each shard fails over separately.
 *   If only a pointer was lost, the key works, is in `list` and cannot be revoked until
 *   `SET keyscope:id:<key id> <its entry>`.
 * - Eviction or expiry loses keys (401), but never makes a revoked key work again. The store
 *   refuses to start under `allkeys-*`. `volatile-*` evicts only Redis keys with a time to live;
 *   the store sets none, and neither should you.
 *
 * Once `maxmemory` is reached, `issue` and `rotate` fail, but revocations still succeed.
 *
 * Reads go to primaries, because replicas lag, and each read asks the server for its role in the
 * same step: a demoted primary refuses, even with `replica-read-only no`. Reads go on while Redis
 * rejects writes or holds them back, for example because it lacks replicas, memory or a disk. Not
 * checked: a primary that does not know yet that another has taken over. It answers as before,
 * until Sentinel or the cluster reaches it. With ioredis and Sentinel, set
 * `failoverDetector: true`, which leaves that primary as soon as Sentinel has named another; a
 * `createSentinel` does so on its own.
 *
 * While the server is down, both clients by default queue commands and send them later. A
 * revocation that was answered with 503 may then still be carried out, and so may an `issue`, whose
 * plaintext key was never returned. With `disableOfflineQueue` (node-redis) and
 * `enableOfflineQueue: false` (ioredis) they fail at once instead.
 *
 * For ioredis, set three more options. `autoResendUnfulfilledCommands: false`: a write that is sent
 * twice reports a conflict. `commandTimeout`: with that option alone, ioredis never answers
 * commands that were under way when the connection was lost. `socketTimeout`: it then leaves a
 * connection on which nothing arrives any more. The `socketTimeout` of node-redis does not help
 * under load, because each written command restarts it. Ping node-redis instead, and replace a
 * client that does not answer. The same client, connected again, may hand out answers to other
 * commands; every read detects that and fails as an outage.
 *
 * An ACL that lacks a command or a key of the store leads to an error, never to a missing key. Not
 * noticed: that another user has sent `SELECT` on the client, or on one connection of its pool.
 * Every key is unknown in that other database. Give keyscope its own client.
 *
 * Redis answers one connection in order, so a write that it holds back delays the look-ups behind
 * it. With a second client, `usageClient`, background writes of usage do not delay them.
 *
 * With a pepper, a record edited by hand does not authenticate. If a field is missing, or is not
 * JSON exactly as written here, that record is rejected; a Redis key of another type is a
 * `StoreError`. Listings have a row for a damaged record, too, with the fields under which it was
 * filed.
 */
import type { KeyStore } from '../../core/store.js';
import { afterStart, startOnce } from '../start.js';
import type { RedisClient } from './client.js';
import { migrateIfNeeded } from './migrate.js';
import { type RedisStoreOptions, readPlace } from './place.js';
import { createReads } from './reads.js';
import { keysUnder } from './schema.js';
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
 * Not checked: persistence, replication and backups. Read the top of this file before production.
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
  const place = readPlace(client, options, 'redisStore');
  const keys = keysUnder(place.prefix);
  const ready = startOnce(() => migrateIfNeeded(place));
  return afterStart(ready, { ...createReads(place.link, keys), ...createWrites(place, keys) });
}
