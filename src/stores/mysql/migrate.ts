/** Migrates the tables and triggers to the version of this release. */
import { migrationsOf, minReaderOf, type SchemaOptions } from '../schema/migrations.js';
import type { Versions } from '../schema/versions.js';
import { readSchemaVersion } from '../schema-version.js';
import type { Row } from './answers.js';
import { firstValue, rowsOf } from './answers.js';
import type { MysqlClient } from './client.js';
import type { Connections, Session } from './connections.js';
import { connectionsOf } from './connections.js';
import { isMissingTable } from './errors.js';
import { isTrue } from './freshness.js';
import { inspect } from './inspect.js';
import { commit } from './transactions.js';

const WITH_ALL = migrationsOf('mysql', {}, 'migrate');
const CURRENT = WITH_ALL.length;

/** One lock per database. It uses a checksum, because a database's name may be too long. */
const LOCK = "CONCAT('keyscope_schema_', CRC32(DATABASE()))";
const LOCK_SECONDS = 30;

const READ_VERSION = 'SELECT version, min_reader FROM keyscope_schema WHERE id = 1';
const WRITE_VERSION = `
  INSERT INTO keyscope_schema (id, version, min_reader) VALUES (1, ?, ?)
  ON DUPLICATE KEY UPDATE version = ?, min_reader = ?`;

/** The version to migrate from; 0 if there is none or a migration was interrupted. */
async function readVersion(session: Session): Promise<number> {
  let row: Row = {};
  try {
    const answer = await session.query(READ_VERSION);
    row = rowsOf(answer)[0] ?? {};
  } catch (error) {
    if (!isMissingTable(error)) throw error;
  }
  const { version, min_reader: minReader } = row;
  return readSchemaVersion({ version, minReader }, CURRENT);
}

async function lock(session: Session): Promise<void> {
  const answer = await session.query(`SELECT GET_LOCK(${LOCK}, ${LOCK_SECONDS}) AS got`);
  if (isTrue(firstValue(answer, 'got'))) return;
  throw new Error(`keyscope: another process has been migrating for ${LOCK_SECONDS} s; try again`);
}

async function migrateUnderLock(session: Session, versions: Versions): Promise<void> {
  await lock(session);
  try {
    // Read again under the lock: another process may have been faster.
    const missing = versions.slice(await readVersion(session)).flat();
    for (const sql of missing) await session.query(sql);
    // Last: DDL commits statement by statement, and an interrupted migration starts over.
    const minReader = minReaderOf(CURRENT);
    const values = [CURRENT, minReader, CURRENT, minReader];
    if (missing.length > 0) await commit(session, WRITE_VERSION, values);
  } finally {
    // Otherwise the connection would return to the pool with the lock.
    await session.query(`SELECT RELEASE_LOCK(${LOCK}) AS released`).catch(() => session.discard());
  }
}

/** Inspects the connection, and migrates if the schema is not current. */
export async function migrateIfNeeded(
  connections: Connections,
  versions: Versions = WITH_ALL,
): Promise<void> {
  await connections.withSession(async (session) => {
    await inspect(session);
    const version = await readVersion(session);
    if (version < CURRENT) await migrateUnderLock(session, versions);
  });
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
 * @param options `{ triggers: false }` leaves out the triggers: see `SchemaOptions` for what is
 *   missing then. Pass it with each release, before the store starts, which migrates with them.
 * @throws TypeError if `client` is not such a client, or on an unknown or wrong option.
 * @throws Error if a newer release has migrated the database, the connection is unsuitable, or the
 *   server refuses.
 * @example
 * // In a deploy step, with a user that may create tables and triggers:
 * await migrate(mysql.createPool(url));
 */
export async function migrate(client: MysqlClient, options: SchemaOptions = {}): Promise<void> {
  const versions = migrationsOf('mysql', options, 'migrate');
  await migrateIfNeeded(connectionsOf(client), versions);
}
