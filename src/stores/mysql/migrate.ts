/** Migrates the tables and triggers to the version of this release. */
import { MIGRATIONS } from '../schema/migrations.js';
import { readSchemaVersion } from '../schema-version.js';
import { firstValue } from './answers.js';
import type { MysqlClient } from './client.js';
import type { Connections, Session } from './connections.js';
import { connectionsOf } from './connections.js';
import { isMissingTable } from './errors.js';
import { isTrue } from './freshness.js';
import { inspect } from './inspect.js';
import { commit } from './write.js';

const VERSIONS = MIGRATIONS.mysql;

/** One lock per database. It uses a checksum, because a database's name may be too long. */
const LOCK = "CONCAT('keyscope_schema_', CRC32(DATABASE()))";
const LOCK_SECONDS = 30;

const READ_VERSION = 'SELECT version FROM keyscope_schema WHERE id = 1';
const WRITE_VERSION =
  'INSERT INTO keyscope_schema (id, version) VALUES (1, ?) ON DUPLICATE KEY UPDATE version = ?';

/** The schema's version; 0 if there is none or a migration was interrupted. */
async function readVersion(on: Pick<Session, 'query'>): Promise<number> {
  let version: unknown;
  try {
    const answer = await on.query(READ_VERSION);
    version = firstValue(answer, 'version');
  } catch (error) {
    if (!isMissingTable(error)) throw error;
  }
  return readSchemaVersion(version, VERSIONS.length);
}

async function lock(session: Session): Promise<void> {
  const answer = await session.query(`SELECT GET_LOCK(${LOCK}, ${LOCK_SECONDS}) AS got`);
  if (isTrue(firstValue(answer, 'got'))) return;
  throw new Error(`keyscope: another process has been migrating for ${LOCK_SECONDS} s; try again`);
}

async function migrateUnderLock(session: Session): Promise<void> {
  await lock(session);
  try {
    // Read again under the lock: another process may have been faster.
    const missing = VERSIONS.slice(await readVersion(session)).flat();
    for (const sql of missing) await session.run(sql);
    // Last: DDL commits statement by statement, and an interrupted migration starts over.
    if (missing.length > 0)
      await commit(session, WRITE_VERSION, [VERSIONS.length, VERSIONS.length]);
  } finally {
    // Otherwise the connection would return to the pool with the lock.
    await session.query(`SELECT RELEASE_LOCK(${LOCK}) AS released`).catch(() => session.discard());
  }
}

/** Inspects the connection, and migrates if the schema is not current. */
export async function migrateIfNeeded(connections: Connections): Promise<void> {
  await inspect(connections);
  const version = await readVersion(connections);
  if (version < VERSIONS.length) await connections.withSession(migrateUnderLock);
}

/**
 * Migrates the schema to this release; `mysqlStore` calls it before its first use. Any number
 * of processes may call it at once. If the schema is current, it only reads. Not atomic, because
 * DDL commits by itself: the next run completes a migration that was interrupted.
 *
 * Not checked: that nobody has changed the tables since; that the lock holds on all nodes of a
 * cluster. If `GET_LOCK` holds on only one node, migrate from one place.
 *
 * @param client As for `mysqlStore`.
 * @throws TypeError if `client` is not such a client.
 * @throws Error if a newer release has migrated the database, the connection is unsuitable, or the
 *   server refuses.
 * @example
 * // In a deploy step, with a user that may create tables and triggers:
 * await migrate(mysql.createPool(url));
 */
export async function migrate(client: MysqlClient): Promise<void> {
  await migrateIfNeeded(connectionsOf(client));
}
