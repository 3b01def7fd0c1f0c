/** Deletes keys that ended long ago. */
import {
  type EndedKey,
  type Position,
  type PurgeOptions,
  type PurgeTimes,
  purgeInBatches,
  readPurgeTimes,
} from '../purge.js';
import type { MysqlClient, Row, Session } from './client.js';
import { connectionsOf, rowsOf } from './client.js';
import { createReaders, FRESHNESS, isTrue } from './freshness.js';
import { readModeOf } from './galera.js';
import { migrateIfNeeded } from './migrate.js';
import { findFree, placesFor } from './statements.js';
import { transact, withRetries } from './transactions.js';

/** How many keys are deleted in one transaction; each can have a thousand pairs. */
const BATCH = 100;

/**
 * Selects one key that has not ended and has the key `k` in this column. A subquery with a LIMIT
 * reads no further than that key; for EXISTS the servers may read the whole table.
 */
function liveBy(column: 'root_key_id' | 'issued_under', index: string): string {
  return `(SELECT own.key_id FROM keyscope_keys AS own FORCE INDEX (${index})
    WHERE own.${column} = k.key_id AND own.revoked_at IS NULL
      AND (own.ended_at IS NULL OR own.ended_at > ?) LIMIT 1)`;
}

/**
 * True if a key ended, was created and was last changed before a time, unless it is the first of
 * its chain and a key of that chain, or one issued under it, has not ended.
 */
const IS_DUE = `GREATEST(k.ended_at, k.created_at, COALESCE(k.changed_at, k.created_at)) < ?
    AND (k.key_id <> k.root_key_id OR COALESCE(
      ${liveBy('root_key_id', 'keyscope_keys_lineage')},
      ${liveBy('issued_under', 'keyscope_keys_issued')}) IS NULL)`;

/** Finds keys that ended before a time, after a position in the order of ends. */
const FIND_ENDED = `
  SELECT k.key_id, CONCAT(k.ended_at) AS ended_at, ${IS_DUE} AS is_due, ${FRESHNESS}
  FROM keyscope_keys AS k FORCE INDEX (keyscope_keys_ended)
  WHERE k.ended_at < ? AND (k.ended_at > CAST(? AS SIGNED)
    OR (k.ended_at = CAST(? AS SIGNED) AND k.key_id > ?))
  ORDER BY k.ended_at, k.key_id LIMIT ${BATCH}`;

/** Selects those of some keys that are still due. */
function findDue(keyIds: readonly string[]): string {
  return `SELECT k.key_id FROM keyscope_keys AS k FORCE INDEX (PRIMARY)
  WHERE k.key_id IN (${placesFor(keyIds)}) AND ${IS_DUE} LIMIT ${BATCH}`;
}

const ALLOW_PURGE = 'UPDATE keyscope_schema SET purge_before = ? WHERE id = 1';

function idsOf(rows: readonly Row[]): string[] {
  return rows.map(({ key_id }) => String(key_id));
}

function toEnded({ key_id, ended_at, is_due }: Row): EndedKey {
  return { keyId: String(key_id), endedAt: String(ended_at), isDue: isTrue(is_due) };
}

/**
 * Deletes the found keys that are still due, and returns their ids. Leaves keys that another
 * transaction has locked to the next purge, so that nobody waits. First locks the schema's row, so
 * purges run one after the other; the value set there is never committed. Checks again under the
 * keys' locks.
 */
async function deleteDue(
  session: Session,
  found: readonly string[],
  { endedBefore, now }: PurgeTimes,
): Promise<readonly string[]> {
  await session.query(ALLOW_PURGE, [endedBefore]);
  const free = idsOf(rowsOf(await session.query(findFree(found), found)));
  const due = [...free, endedBefore, now, now];
  const ids = free.length === 0 ? [] : idsOf(rowsOf(await session.query(findDue(free), due)));
  if (ids.length > 0) {
    const places = placesFor(ids);
    await session.query(`DELETE FROM keyscope_keys WHERE key_id IN (${places})`, ids);
    await session.query(`DELETE FROM keyscope_addressing WHERE key_id IN (${places})`, ids);
  }
  await session.query(ALLOW_PURGE, [null]);
  return ids;
}

/**
 * Deletes the keys that were revoked, retired or expired before a time, for services that may not
 * keep them for ever. An audit log may then name keys that nobody can look up, so set the time at
 * least as far back as you keep logs. A key that was created or changed since then stays, and so
 * does the first key of a chain of rotations while a key of that chain, or one that was issued on
 * its authority, has not ended.
 *
 * Reads only keys that have ended, in the order in which they ended. Works in batches, each in one
 * transaction, and migrates first. Any number of processes may purge at once, while stores are in
 * use: each key is deleted by one of them. If it fails halfway, the earlier batches stay deleted;
 * call it again. Keys that another transaction has locked stay until then.
 *
 * Not checked: that the clocks of this machine and of those that end keys agree; that caches have
 * dropped the keys, which are rejected anyway.
 *
 * @param client As for `mysqlStore`. Its user also needs DELETE on `keyscope_keys` and
 *   `keyscope_addressing`, and UPDATE on `keyscope_schema`.
 * @param options `endedBefore`, a `Date` that is not in the future.
 * @returns The ids of the deleted keys.
 * @throws TypeError if `client` is not a supported client, or `endedBefore` is not such a date.
 * @throws Error as `migrate` does, and if the server refuses.
 * @example
 * const year = 365 * 86_400_000;
 * await purgeEnded(pool, { endedBefore: new Date(Date.now() - year) });
 */
export async function purgeEnded(
  client: MysqlClient,
  options: PurgeOptions,
): Promise<readonly string[]> {
  const times = readPurgeTimes(options);
  const { endedBefore, now } = times;
  const connections = connectionsOf(client);
  await migrateIfNeeded(connections);
  const mode = await readModeOf(connections);
  const { select } = createReaders(connections, () => mode);

  async function findAfter({ endedAt, keyId }: Position): Promise<EndedKey[]> {
    const due = [endedBefore, now, now];
    const rows = await select(FIND_ENDED, [...due, endedBefore, endedAt, endedAt, keyId]);
    return rows.map(toEnded);
  }

  function deleteBatch(found: readonly string[]): Promise<readonly string[]> {
    const work = (session: Session) => transact(session, () => deleteDue(session, found, times));
    return withRetries(connections, work);
  }

  return purgeInBatches(findAfter, deleteBatch);
}
