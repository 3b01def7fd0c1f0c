/** Deletes the records of keys that ended long ago. */
import { isUnended, type KeyRecord, readRecord } from '../../core/record.js';
import { type PurgeOptions, type PurgeTimes, readPurgeTimes } from '../purge.js';
import { type Link, type RedisClient, runOn } from './client.js';
import { limitConcurrency, MAX_AT_ONCE } from './concurrency.js';
import {
  type Found,
  filedByExpiry,
  filedById,
  type Range,
  readOrFiled,
  scanEntries,
  scanRecords,
} from './indexes.js';
import { migrateIfNeeded } from './migrate.js';
import { type RedisStoreOptions, readOptions } from './options.js';
import { type Entry, filingsOf, formatField, type Keys, memberOf, startOf } from './schema.js';
import { PURGE } from './scripts.js';
import { removeFilings } from './writes.js';

/** Returns the part of an index before a time. */
function rangeBefore(time: number): Range {
  return { from: '-', to: `(${startOf(time)}`, size: MAX_AT_ONCE };
}

/** How many keys of a lineage to read at once: mostly, one of the first has not ended. */
const KIN_AT_ONCE = 100;

/** A mark whose entry is older than this has been written, or never will be. */
const SETTLED_MS = 86_400_000;

/**
 * Deletes the records of keys that ended before a time: by revocation, by the end of their
 * retirement or by expiry, whichever came first. A record that was created or changed at the time
 * or later stays. The first record of a chain of rotations stays while another key of the chain, or
 * one that was issued on its authority, has not ended. So does every record that this release
 * cannot read. If it throws, the deleted records stay deleted; call it again.
 *
 * Run it as a separate job. It reads the records that have ended, 500 at a time, and the entries of
 * marks that were written before the time. An audit can no longer look up what is deleted. Calls
 * `migrate` first.
 *
 * Not checked: that the bytes are gone. They stay in the append-only file until Redis rewrites it,
 * and in backups. Also not checked: a key that is added to a lineage after this has looked at it
 * and before the first record is deleted, because no script may span the nodes of a cluster.
 *
 * @param client As for `redisStore`.
 * @param options `endedBefore`: the time.
 * @param storeOptions `prefix`: the same as for the store.
 * @returns The ids of the keys whose records were deleted, in any order.
 * @throws TypeError as `migrate` does; if `endedBefore` is not a valid `Date` or is in the future.
 * @throws Error as `migrate` does; if the client rejects.
 * @example
 * const twoYearsAgo = new Date(Date.now() - 2 * 365 * 86_400_000);
 * const deleted = await purgeEnded(client, { endedBefore: twoYearsAgo });
 */
export async function purgeEnded(
  client: RedisClient,
  options: PurgeOptions,
  storeOptions: RedisStoreOptions = {},
): Promise<readonly string[]> {
  const settings = readOptions(client, storeOptions, 'purgeEnded');
  const times = readPurgeTimes(options);
  await migrateIfNeeded(settings);
  const { link, keys } = settings;
  const limited = limitConcurrency(link);
  const deleted: string[] = [];
  const range = rangeBefore(times.endedBefore);
  const indexes = [
    { index: keys.expiry, filed: filedByExpiry },
    { index: keys.ended, filed: filedById },
  ];
  for (const { index, filed } of indexes) {
    for await (const page of scanRecords(limited, keys, index, range, filed)) {
      const purged = await Promise.all(page.map((found) => purge(limited, keys, found, times)));
      deleted.push(...purged.filter((keyId) => keyId !== null));
    }
  }
  const isNewest: IsGood = (row, { time }) => row.changedAt === time;
  // A revocation that is written again keeps its time, under which it may not be filed.
  const isMarked: IsGood = (row) => (row.revokedAt ?? row.retireAt ?? null) !== null;
  await removeVoid(limited, keys, keys.changes, isNewest, times);
  await removeVoid(limited, keys, keys.ended, isMarked, times);
  return deleted;
}

// ── One record ──────────────────────────────────────────────────────────────────────────────────

/** Deletes a record that is due. Returns its key's id, or null if it stays. */
async function purge(
  link: Link,
  keys: Keys,
  { entry, row }: Found,
  { endedBefore, now }: PurgeTimes,
): Promise<string | null> {
  const { keyId, digest } = entry;
  const record = readRecord(row);
  if (record === null || !isDue(record, endedBefore)) return null;
  const isFirst = record.rootKeyId === keyId;
  if (isFirst && (await isNeeded(link, keys, keyId, now))) return null;
  // The script checks again. The record goes before the entries that lead to it: if this process
  // ends in between, the entries that remain lead nowhere.
  const args = [formatField(keyId), String(endedBefore)];
  const answer = await runOn(link, keys.record(digest), PURGE, args);
  if (Number(answer) !== 1) return null;
  const filings = filingsOf(keys, { ...record, digest });
  await removeFilings(link, filings, keys.pointer(keyId));
  return keyId;
}

/** Checks whether a record was created, last changed and ended before a time. */
function isDue(record: KeyRecord, time: number): boolean {
  const { createdAt, changedAt, revokedAt, retireAt, expiresAt } = record;
  const isOld = createdAt < time && (changedAt === null || changedAt < time);
  return isOld && [revokedAt, retireAt, expiresAt].some((end) => end !== null && end < time);
}

/** Checks whether a key of a lineage other than the first has not ended. */
async function isNeeded(link: Link, keys: Keys, rootKeyId: string, now: number): Promise<boolean> {
  const range = { from: '-', to: '+', size: KIN_AT_ONCE };
  for await (const page of scanRecords(link, keys, keys.lineage(rootKeyId), range, filedById)) {
    if (page.some(({ row }) => !hasEnded(row, now))) return true;
  }
  return false;
}

/** Checks whether an unchecked record has ended. False for one with an end that is not a time. */
function hasEnded(row: KeyRecord, now: number): boolean {
  const ends: readonly unknown[] = [row.revokedAt, row.retireAt, row.expiresAt];
  const areTimes = ends.every((end) => end === null || typeof end === 'number');
  return areTimes && !isUnended(row, now);
}

// ── Marks ───────────────────────────────────────────────────────────────────────────────────────

/** Checks whether an entry still leads to its record. */
type IsGood = (row: KeyRecord, entry: Entry) => boolean;

/** Removes entries of old marks that lead to no record, or are not good. */
async function removeVoid(
  link: Link,
  keys: Keys,
  index: string,
  isGood: IsGood,
  { endedBefore, now }: PurgeTimes,
): Promise<void> {
  const settled = Math.min(endedBefore, now - SETTLED_MS);
  async function removeIfVoid(entry: Entry): Promise<void> {
    const row = await readOrFiled(link, keys, entry.digest, filedById(entry));
    if (row !== null && isGood(row, entry)) return;
    await link.send(index, ['zrem', index, memberOf(entry)]);
  }
  for await (const entries of scanEntries(link, index, rangeBefore(settled))) {
    await Promise.all(entries.map(removeIfVoid));
  }
}
