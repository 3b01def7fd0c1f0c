/** Deletes the records of keys that ended long ago. */
import { type KeyRecord, readRecord } from '../../core/record.js';
import { type PurgeOptions, type PurgeTimes, readPurgeTimes } from '../purge.js';
import { type Link, type RedisClient, runOn } from './client.js';
import { limitConcurrency, MAX_AT_ONCE } from './concurrency.js';
import { migrateIfNeeded } from './migrate.js';
import { type RedisStoreOptions, readPlace } from './place.js';
import { listLineage } from './reads.js';
import {
  type Entry,
  filingsOf,
  formatField,
  type Keys,
  keysUnder,
  memberOf,
  startOf,
} from './schema.js';
import { PURGE } from './scripts.js';
import {
  type Found,
  filedByExpiry,
  filedByMark,
  type Range,
  readOrFiled,
  walkEntries,
  walkRecords,
} from './walk.js';
import { removeFilings } from './writes.js';

/** What an index has before a time. */
function rangeBefore(time: number): Range {
  return { from: '-', to: `(${startOf(time)}`, size: MAX_AT_ONCE };
}

/** A mark whose entry is older than this is written, or never will be. */
const SETTLED_MS = 86_400_000;

/**
 * Deletes the records of keys that ended before a time: by revocation, by the end of their
 * retirement or by expiry, whichever came first. Keeps the record of a key as long as another one
 * that it was rotated to, or that was issued on its authority, has not ended, and every record that
 * this release cannot read. If it
 * throws, what was deleted stays deleted; call it again.
 *
 * For a job of its own. It reads the records that have ended, 500 at a time, and the entries of
 * marks that were written before the time. What is deleted cannot be looked up in an audit any
 * more. Calls `migrate` first.
 *
 * Not checked: that the bytes are gone. They stay in the append-only file until Redis rewrites it,
 * and in backups. A rotation that is in progress while its predecessor is deleted: leave at least a
 * minute between the time and now.
 *
 * @param client As for `redisStore`.
 * @param options Up to when.
 * @param place `prefix`: the same as for the store.
 * @returns The ids of the keys whose records were deleted, in any order.
 * @throws TypeError as `migrate` does; if `endedBefore` is no valid `Date` or in the future.
 * @throws Error as `migrate` does; whatever the client rejects with.
 * @example
 * const twoYearsAgo = new Date(Date.now() - 2 * 365 * 86_400_000);
 * const deleted = await purgeEnded(client, { endedBefore: twoYearsAgo });
 */
export async function purgeEnded(
  client: RedisClient,
  options: PurgeOptions,
  place: RedisStoreOptions = {},
): Promise<readonly string[]> {
  const { link, prefix } = readPlace(client, place, 'purgeEnded');
  const times = readPurgeTimes(options);
  await migrateIfNeeded({ link, prefix });
  const keys = keysUnder(prefix);
  const limited = limitConcurrency(link);
  const deleted: string[] = [];
  const range = rangeBefore(times.endedBefore);
  const indexes = [
    { index: keys.expiry, filed: filedByExpiry },
    { index: keys.ended, filed: filedByMark },
  ];
  for (const { index, filed } of indexes) {
    for await (const page of walkRecords(limited, keys, index, range, filed)) {
      const purged = await Promise.all(page.map((found) => purge(limited, keys, found, times)));
      deleted.push(...purged.filter((keyId) => keyId !== null));
    }
  }
  await removeVoid(limited, keys, keys.changes, ['changedAt'], times);
  await removeVoid(limited, keys, keys.ended, ['revokedAt', 'retireAt'], times);
  return deleted;
}

// ── One record ──────────────────────────────────────────────────────────────────────────────────

/** Returns the id of the key if its record was deleted. */
async function purge(
  link: Link,
  keys: Keys,
  { entry, row }: Found,
  { endedBefore, now }: PurgeTimes,
): Promise<string | null> {
  const { keyId, digest } = entry;
  const record = readRecord(row);
  if (record === null || !hasEnded(record, endedBefore)) return null;
  const lineage = await listLineage(link, keys, record.rootKeyId);
  const isNeeded = lineage.some((each) => mayFollow(each, record) && !hasEnded(each, now));
  if (isNeeded) return null;
  // Checks again, and deletes the record before what leads to it: if this process ends in between,
  // entries are left that lead nowhere.
  const args = [formatField(keyId), String(endedBefore)];
  const answer = await runOn(link, keys.record(digest), PURGE, args);
  if (Number(answer) !== 1) return null;
  const filings = filingsOf(keys, { ...record, digest });
  await removeFilings(link, filings, keys.pointer(keyId));
  return keyId;
}

/** Whether a record ended before a time. False for one with an end that is no time. */
function hasEnded(record: KeyRecord, time: number): boolean {
  const ends: readonly unknown[] = [record.revokedAt, record.retireAt, record.expiresAt];
  const areTimes = ends.every((end) => end === null || typeof end === 'number');
  return areTimes && ends.some((end) => end !== null && Number(end) < time);
}

/** Whether a record is that of a successor, or of a key issued on the authority of `old`. */
function mayFollow(record: Partial<KeyRecord>, old: KeyRecord): boolean {
  const { rotatedFrom, issuedUnder } = record;
  // A damaged one could be.
  if (rotatedFrom === undefined || issuedUnder === undefined) return true;
  return rotatedFrom === old.keyId || issuedUnder === old.rootKeyId;
}

// ── Marks ───────────────────────────────────────────────────────────────────────────────────────

/**
 * Removes entries of old marks whose record is gone, has a newer mark or was never marked so.
 *
 * @param fields Of the record, one of which has the time of an entry that is still good.
 */
async function removeVoid(
  link: Link,
  keys: Keys,
  index: string,
  fields: readonly ('changedAt' | 'revokedAt' | 'retireAt')[],
  { endedBefore, now }: PurgeTimes,
): Promise<void> {
  const settled = Math.min(endedBefore, now - SETTLED_MS);
  async function removeIfVoid(entry: Entry): Promise<void> {
    const row = await readOrFiled(link, keys, entry.digest, filedByMark(entry));
    if (fields.some((field) => row?.[field] === entry.time)) return;
    await link.send(index, ['zrem', index, memberOf(entry)]);
  }
  for await (const entries of walkEntries(link, index, rangeBefore(settled))) {
    await Promise.all(entries.map(removeIfVoid));
  }
}
