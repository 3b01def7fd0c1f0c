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

/** Returns the part of an index before a time. */
function rangeBefore(time: number): Range {
  return { from: '-', to: `(${startOf(time)}`, size: MAX_AT_ONCE };
}

/** A mark whose entry is older than this has been written, or never will be. */
const SETTLED_MS = 86_400_000;

/**
 * Deletes the records of keys that ended before a time: by revocation, by the end of their
 * retirement or by expiry, whichever came first. The record of a key stays while a key that was
 * rotated from it, or issued on its authority, has not ended. So does every record that this
 * release cannot read. If it throws, the deleted records stay deleted; call it again.
 *
 * Run it as a separate job. It reads the records that have ended, 500 at a time, and the entries of
 * marks that were written before the time. An audit can no longer look up what is deleted. Calls
 * `migrate` first.
 *
 * Not checked: that the bytes are gone. They stay in the append-only file until Redis rewrites it,
 * and in backups. Also not checked: a rotation that is in progress while its predecessor is
 * deleted. Leave at least a minute between the time and now.
 *
 * @param client As for `redisStore`.
 * @param options `endedBefore`: the time.
 * @param place `prefix`: the same as for the store.
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

/** Deletes a record that is due. Returns its key's id, or null if it stays. */
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
  // The script checks again. The record goes before the entries that lead to it: if this process
  // ends in between, the entries that remain lead nowhere.
  const args = [formatField(keyId), String(endedBefore)];
  const answer = await runOn(link, keys.record(digest), PURGE, args);
  if (Number(answer) !== 1) return null;
  const filings = filingsOf(keys, { ...record, digest });
  await removeFilings(link, filings, keys.pointer(keyId));
  return keyId;
}

/** Checks whether a record ended before a time. False for one with an end that is not a time. */
function hasEnded(record: KeyRecord, time: number): boolean {
  const ends: readonly unknown[] = [record.revokedAt, record.retireAt, record.expiresAt];
  const areTimes = ends.every((end) => end === null || typeof end === 'number');
  return areTimes && ends.some((end) => end !== null && Number(end) < time);
}

/** Checks whether a record is the successor of `old`, or was issued on its authority. */
function mayFollow(record: Partial<KeyRecord>, old: KeyRecord): boolean {
  const { rotatedFrom, issuedUnder } = record;
  // A damaged record could be either.
  if (rotatedFrom === undefined || issuedUnder === undefined) return true;
  return rotatedFrom === old.keyId || issuedUnder === old.rootKeyId;
}

// ── Marks ───────────────────────────────────────────────────────────────────────────────────────

/**
 * Removes entries of old marks whose record is gone, has a newer mark or never had this one.
 *
 * @param fields The fields of the record, one of which has the time of an entry that is still good.
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
