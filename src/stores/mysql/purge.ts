/** Deletes keys that ended long ago. */
import { assert, readFields } from '../../core/input.js';
import { removePairs } from './addressing.js';
import type { Row } from './answers.js';
import { rowsOf } from './answers.js';
import type { MysqlClient } from './client.js';
import type { Session } from './connections.js';
import { connectionsOf } from './connections.js';
import { FRESHNESS } from './freshness.js';
import { beforeReads } from './galera.js';
import { migrateIfNeeded } from './migrate.js';
import { createReaders, type Readers } from './readers.js';
import { findFree, placesFor } from './statements.js';
import { transact, withRetries } from './transactions.js';

/** Which keys to delete. */
export interface PurgeOptions {
  /** Only keys that were revoked, retired or expired before this time. Not in the future. */
  readonly endedBefore: Date;
}

/** How many keys are deleted in one transaction; each can have a thousand pairs. */
const BATCH = 100;

function endOf(row: string): string {
  const never = '9223372036854775807';
  const times = ['revoked_at', 'retire_at', 'expires_at'];
  return `LEAST(${times.map((time) => `COALESCE(${row}.${time}, ${never})`).join(', ')})`;
}

/**
 * A condition: the key ended before one time, and has no successor that ends after another. COUNT
 * and not EXISTS, for which the servers may read the whole table once for each batch.
 */
const IS_DUE = `${endOf('k')} < ? AND 0 = (
  SELECT COUNT(*) FROM keyscope_keys AS successor
  WHERE successor.root_key_id = k.root_key_id AND successor.rotated_from = k.key_id
    AND ${endOf('successor')} > ?)`;

/** Without locks, because it may read the whole table. */
const FIND = `SELECT k.key_id, ${FRESHNESS} FROM keyscope_keys AS k
  WHERE k.key_id > ? AND ${IS_DUE} ORDER BY k.key_id LIMIT ${BATCH}`;

const ALLOW = 'UPDATE keyscope_schema SET purge_before = ? WHERE id = 1';

/** The two times that {@link IS_DUE} compares with. */
interface Times {
  readonly endedBefore: number;
  readonly now: number;
}

function idsOf(rows: readonly Row[]): string[] {
  return rows.map(({ key_id }) => String(key_id));
}

async function findDue(
  { select }: Readers,
  after: string,
  { endedBefore, now }: Times,
): Promise<string[]> {
  return idsOf(await select(FIND, [after, endedBefore, now]));
}

/**
 * Returns what it deleted of the keys that were found. Those that somebody else has locked are left
 * for the next purge, so that nobody waits for them. What was due stays so: no end is ever undone.
 * The schema's row, which it locks first, lets one purge after the other through; what is set there
 * is never committed.
 */
async function deleteDue(
  session: Session,
  found: readonly string[],
  { endedBefore }: Times,
): Promise<readonly string[]> {
  await session.query(ALLOW, [endedBefore]);
  const ids = idsOf(rowsOf(await session.query(findFree(found), found)));
  if (ids.length > 0) {
    const places = placesFor(ids);
    await session.query(`DELETE FROM keyscope_keys WHERE key_id IN (${places})`, ids);
    await removePairs(session, ids);
  }
  await session.query(ALLOW, [null]);
  return ids;
}

/** Reads the time before which keys must have ended. */
function readEndedBefore(options: PurgeOptions, now: number): number {
  const { endedBefore } = readFields(options, ['endedBefore'], 'purgeEnded');
  const instead = 'purgeEnded: endedBefore: pass a valid Date that is not in the future';
  assert(endedBefore instanceof Date, instead);
  const time = new Date(endedBefore).getTime();
  // NaN if the date is invalid, and then the comparison is false.
  assert(time <= now, instead);
  return time;
}

/**
 * Deletes the keys that were revoked, retired or expired before a time, for services that may not
 * keep them for ever. An audit log then names keys that nobody can look up any more, so leave as
 * much time as you keep logs. A key is kept for as long as the one that replaced it has not ended.
 *
 * Works in batches, each of them one transaction, and migrates first. Any number of processes may
 * purge at once, beside stores in use: each key is deleted by one of them. If it fails halfway, the
 * batches before stay deleted; call it again. Keys that somebody else has locked stay until then.
 *
 * Not checked: that the clocks of this machine and of those that end keys agree; that caches have
 * forgotten the keys, which are refused anyway.
 *
 * @param client As for `mysqlStore`, of a user who may also DELETE from `keyscope_keys` and
 *   `keyscope_addressing` and UPDATE `keyscope_schema`.
 * @param options `endedBefore`, a `Date` that is not in the future.
 * @returns The ids of the keys that it deleted.
 * @throws TypeError if `client` is not such a client, or `endedBefore` no such date.
 * @throws Error as `migrate`, and if the server refuses.
 * @example
 * const year = 365 * 86_400_000;
 * await purgeEnded(pool, { endedBefore: new Date(Date.now() - year) });
 */
export async function purgeEnded(
  client: MysqlClient,
  options: PurgeOptions,
): Promise<readonly string[]> {
  const now = Date.now();
  const times = { endedBefore: readEndedBefore(options, now), now };
  const connections = connectionsOf(client);
  await migrateIfNeeded(connections);
  const before = await beforeReads(connections);
  const readers = createReaders(connections, () => before);
  const deleted: string[] = [];
  let found = await findDue(readers, '', times);
  while (found.length > 0) {
    const batch = found;
    const ids = await withRetries(connections, (session) =>
      transact(session, () => deleteDue(session, batch, times)),
    );
    deleted.push(...ids);
    found = await findDue(readers, batch.at(-1) ?? '', times);
  }
  return deleted;
}
