/**
 * Migrates the tables and triggers to the version of this release. First checks that the connection
 * behaves as the statements require.
 */
import { toInteger, type Value } from '../rows.js';
import {
  minReaderOf,
  readSchemaVersion,
  readTriggers,
  type SchemaOptions,
  type Versions,
} from '../schema/versions.js';
import { assertMayMigrate } from '../start.js';
import type { Connections, MysqlClient, Row, Session } from './client.js';
import { connectionsOf, rowsOf } from './client.js';
import { isMissingTable, type MysqlError } from './errors.js';
import { FRESHNESS, isTrue, requireFresh } from './freshness.js';
import { MYSQL, MYSQL_WITHOUT_TRIGGERS } from './schema.js';
import { begin, commit, withRetries } from './transactions.js';

/** The version of the schema that this release migrates to. */
const CURRENT = MYSQL.length;

/** One lock per database. It uses a checksum, because a database's name may be too long. */
const LOCK = "CONCAT('keyscope_schema_', CRC32(DATABASE()))";
const LOCK_SECONDS = 30;

const READ_VERSION = 'SELECT version, min_reader FROM keyscope_schema WHERE id = 1';
const WRITE_VERSION = `
  INSERT INTO keyscope_schema (id, version, min_reader) VALUES (1, ?, ?)
  ON DUPLICATE KEY UPDATE version = ?, min_reader = ?`;

/** Returns the version to migrate from; 0 if the schema is missing or incomplete. */
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
  const { got } = rowsOf(answer)[0] ?? {};
  if (isTrue(got)) return;
  throw new Error(`keyscope: another process has been migrating for ${LOCK_SECONDS} s. Try again`);
}

async function migrateUnderLock(session: Session, versions: Versions): Promise<void> {
  assertMayMigrate();
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

/** Inspects the connection, and migrates if the schema is not current. Returns the database. */
export async function migrateIfNeeded(
  connections: Connections,
  versions: Versions = MYSQL,
): Promise<string> {
  async function migrateOn(session: Session): Promise<string> {
    const database = await inspect(session);
    // On MySQL no row shows an open transaction, which the first DDL would commit.
    await begin(session);
    const version = await readVersion(session);
    if (version < CURRENT) await migrateUnderLock(session, versions);
    return database;
  }
  return withRetries(connections, migrateOn, null);
}

/**
 * Migrates the schema to this release; `mysqlStore` calls it before its first use. Any number of
 * processes may call it at once. If the schema is current, it only reads. Not atomic, because each
 * DDL statement commits: the next run completes an interrupted migration.
 *
 * Not checked: that nobody has changed the tables since; that the lock holds on all nodes of a
 * cluster. If `GET_LOCK` holds on only one node, migrate from one place.
 *
 * @param client As for `mysqlStore`.
 * @param options `{ triggers: false }` leaves out the triggers: see `SchemaOptions` for the
 *   consequences. Run this with each release before the store starts, because the store migrates
 *   with triggers.
 * @throws TypeError if `client` is not a supported client, or on an unknown or wrong option.
 * @throws Error if a newer release has migrated the database, the connection is unsuitable, or the
 *   server refuses.
 * @example
 * // In a deploy step, with a user that may create tables and triggers:
 * await migrate(mysql.createPool(url));
 */
export async function migrate(client: MysqlClient, options: SchemaOptions = {}): Promise<void> {
  const versions = readTriggers(options, 'migrate') ? MYSQL : MYSQL_WITHOUT_TRIGGERS;
  await migrateIfNeeded(connectionsOf(client), versions);
}

// ── The connection ──────────────────────────────────────────────────────────────────────────────

const LARGEST = Number.MAX_SAFE_INTEGER;

const PROBE = `SELECT DATABASE() AS place, ${LARGEST} AS largest, ${FRESHNESS}`;

const PLAIN_ROWS =
  'the driver must return rows as objects, texts as strings, and integers unchanged. ' +
  'Connect without a typeCast';

type Send = (sql: string, values: Value[]) => Promise<unknown>;

async function probe(send: Send): Promise<unknown> {
  try {
    return await send(PROBE, []);
  } catch (error) {
    const { code, message } = error as MysqlError;
    if (code !== undefined) throw error;
    // An error without a code comes neither from the server nor from the network: mysql2 is closed,
    // or could not read the row.
    throw new Error(`${message}. If the client is open, ${PLAIN_ROWS}`);
  }
}

/**
 * Throws if the connection lacks something. Returns its database. Not checked: rights, and the
 * server's durability.
 */
async function inspect(session: Session): Promise<string> {
  let database = '';
  // Drivers read the answers to prepared statements and to others in different ways.
  for (const send of [session.execute, session.query]) {
    const [row = {}] = rowsOf(await probe(send));
    const { place, largest } = row;
    if (toInteger(largest) !== LARGEST) throw new Error(`keyscope: ${PLAIN_ROWS}`);
    requireFresh(session, [row]);
    database = String(place);
  }
  return database;
}
