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
import { createReaders, isTrue } from './freshness.js';
import { beforeReads } from './galera.js';
import { migrateIfNeeded } from './migrate.js';
import { ALLOW_PURGE, FIND_ENDED, findFree, placesFor } from './statements.js';
import { transact, withRetries } from './transactions.js';

function idsOf(rows: readonly Row[]): string[] {
  return rows.map(({ key_id }) => String(key_id));
}

function toEnded({ key_id, ended_at, is_due }: Row): EndedKey {
  return { keyId: String(key_id), endedAt: String(ended_at), isDue: isTrue(is_due) };
}

/**
 * Deletes the found keys that are still due, and returns their ids. Leaves keys that another
 * transaction has locked to the next purge, so that nobody waits. A key that was due stays due: no
 * end is ever undone. First locks the schema's row, so purges run one after the other; the value
 * set there is never committed.
 */
async function deleteDue(
  session: Session,
  found: readonly string[],
  { endedBefore }: PurgeTimes,
): Promise<readonly string[]> {
  await session.query(ALLOW_PURGE, [endedBefore]);
  const ids = idsOf(rowsOf(await session.query(findFree(found), found)));
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
 * least as far back as you keep logs. A key stays while its replacement, or a key that was issued
 * on its authority, has not ended.
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
  const before = await beforeReads(connections);
  const { select } = createReaders(connections, () => before);

  async function findAfter({ endedAt, keyId }: Position): Promise<EndedKey[]> {
    const rows = await select(FIND_ENDED, [now, now, endedBefore, endedAt, endedAt, keyId]);
    return rows.map(toEnded);
  }

  function deleteBatch(found: readonly string[]): Promise<readonly string[]> {
    const work = (session: Session) => transact(session, () => deleteDue(session, found, times));
    return withRetries(connections, work);
  }

  return purgeInBatches(findAfter, deleteBatch);
}
