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
 * For the listings, there are sorted sets of entries, `<time>:<key id>:<entity>:<prefix>:<digest>`:
 *
 *     keyscope:own:<prefix>:<entity>          by creation: the entity's own records
 *     keyscope:addressing:<prefix>:<entity>   by creation: the records of others that address it
 *     keyscope:lineage:<key id>               by creation: what was rotated from or issued under it
 *     keyscope:expiry                         by expiry: all records
 *     keyscope:ended                          by revocation and by retirement: those that have one
 *     keyscope:changes                        by the time at which they were written: all marks
 *
 * A record is written after its entries, and a mark after its own, so a crash never leaves half a
 * key or half a mark behind, only an entry or a pointer that leads to nothing. It is skipped. Key
 * ids are random, so it conflicts with no other key.
 *
 * **Data that Redis loses can revive keys.** A mark is part of the record, so both are lost or kept
 * together; but if the data goes back to an earlier state, keys revoked since then work again. The
 * causes and what to do:
 * - A crash without the append-only file: the last snapshot is loaded. Set `appendonly yes`, and
 *   `appendfsync always` if acknowledged writes must survive a power cut; `everysec` may lose a
 *   second of revocations. With no persistence at all, every key is unknown (401) after a restart,
 *   and none is revived.
 * - A restored backup: revoke again every key that was revoked since the backup. An audit log of
 *   `key.revoked` has the list.
 * - A failover: replication is asynchronous, so the new primary may lack the last writes.
 *   `min-replicas-to-write 1` bounds that. To wait for replicas, send `WAIT 1 1000` after `revoke`
 *   on the same connection (one client, no pool; a `createSentinel` with its default of one), and
 *   treat an answer below 1 as not yet durable. keyscope sends no `WAIT`. It takes nothing back,
 *   and says how many replicas have the write, not which: what survives every failover is what all
 *   replicas have that may be promoted. In a cluster, each shard fails over separately: if only a
 *   pointer was lost, the key works, is in `list` and cannot be revoked until
 *   `SET keyscope:id:<key id> <its entry>`.
 * - Eviction or expiry, which loses keys (401) and revives none. The store refuses to start under
 *   `allkeys-*`; `volatile-*` evicts only Redis keys with a time to live, and none here has one. Do
 *   not set one.
 *
 * Once `maxmemory` is reached, `issue` and `rotate` fail, but revocations still succeed.
 *
 * Reads go to primaries, because replicas lag, and each read asks the server for its role in the
 * same step: a primary that was demoted refuses, also with `replica-read-only no`. Reads go on
 * where Redis refuses writes, for want of replicas, memory or a disk, or holds them back. Not
 * checked: a primary that has not yet heard that another one took over; it answers as before, until
 * Sentinel or the cluster reaches it. With ioredis and Sentinel, set `failoverDetector: true`,
 * which leaves that primary as soon as Sentinel has named another one; a `createSentinel` does so
 * by itself.
 *
 * While the server is down, both clients by default queue commands and send them later: a
 * revocation that was answered with 503 may still be carried out, and so may an `issue`, whose
 * plaintext key was never returned. With `disableOfflineQueue` (node-redis) and
 * `enableOfflineQueue: false` (ioredis) they fail at once instead. Set ioredis'
 * `autoResendUnfulfilledCommands: false`, because a write that is sent twice reports a conflict,
 * and a `commandTimeout` with it, because ioredis then never answers what was under way when the
 * connection was lost; and a `socketTimeout`, so that it leaves a connection on which nothing
 * arrives any more. node-redis has none that works under load: each command that is written begins
 * its `socketTimeout` again. Ping it, and take a new client where no answer comes; the same one,
 * connected again, may hand out answers to other questions, which every read refuses as an outage.
 *
 * An ACL that lacks a command or a key of the store is an error, never a key that is not there. Not
 * noticed: that somebody has sent `SELECT` on the client, or on one connection of its pool. Every
 * key is unknown in that other database. Give keyscope a client of its own.
 *
 * Redis answers one connection in order, so a write that it holds back holds up the look-ups behind
 * it. `usageClient`, a second client, keeps the writes that nobody asked for out of their way.
 *
 * With a pepper, a record that somebody edited by hand does not authenticate. If a field is
 * missing, or is not JSON exactly as written here, that record is refused; a Redis key of another
 * type is a `StoreError`. Listings have a row of a damaged record, too, with the fields under which
 * it was filed.
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
 * Costs: a look-up is one round trip, even with several digests; by id it is two, a mark three, an
 * insert three, with a command for each entity that the key addresses. `summarize` reads every
 * record, some seconds for 100,000: give a report more time than a request.
 *
 * The commands that an ACL must allow, on keys that begin with the prefix:
 * `+get +set +del +exists +eval +info +hgetall +hget +hmget +hset +zadd +zrem +zrange`
 *
 * Not checked: persistence, replication and backups; read the top of this file before production.
 *
 * @param client A client, pool, cluster or sentinel of `redis`, or a Redis or Cluster of `ioredis`
 *   or `iovalkey`, not in a transaction or subscriber mode; the service may use it, too. keyscope
 *   never connects or closes it.
 * @param options `prefix`: what every Redis key begins with, for several stores on one server. A
 *   `keyPrefix` of ioredis or iovalkey comes in front of it; one of node-redis does not, so then a
 *   `prefix` is required. `usageClient`: another client of the same server, with the same
 *   `keyPrefix`, for usage alone.
 * @throws TypeError if `client` is none of those or reads from replicas, and on unknown options.
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
