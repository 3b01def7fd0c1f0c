/** Migrates the tables and triggers to the version of this release. */
import { minReaderOf, readSchemaVersion } from '../../schema/versions.js';
import { assertMayMigrate } from '../../start.js';
import { SQLITE } from '../schema.js';
import { STATEMENTS } from '../statements.js';
import type { D1Client, D1Session, D1Statement } from './client.js';
import { assertClient, atPrimary, query } from './client.js';

/** Returns the row with the version; undefined if the table does not exist. */
async function readVersionRow(db: D1Client): Promise<object | undefined> {
  try {
    // One round trip if the table exists, which is nearly always so when an isolate starts.
    const rows = await query(db, STATEMENTS.version);
    return rows[0] as object | undefined;
  } catch (error) {
    const tables = await query(db, STATEMENTS.hasVersion);
    if (tables.length > 0) throw error;
    return undefined;
  }
}

/** Returns the schema's version, 0 without a schema. */
async function readVersion(db: D1Client): Promise<number> {
  return readSchemaVersion(await readVersionRow(db), SQLITE.length);
}

/** Returns the statements that migrate a database from the version `found` to this release's. */
function statementsFrom(session: D1Session, found: number): D1Statement[] {
  const missing = SQLITE.slice(found)
    .flat()
    .map((sql) => session.prepare(sql));
  const latest = SQLITE.length;
  const write = session.prepare(STATEMENTS.writeVersion).bind(latest, minReaderOf(latest));
  // D1 has no transaction in which to read the version again. If another isolate has migrated in
  // the meantime, the first statement fails, and with it the batch: on a new database because the
  // table exists.
  if (found === 0) return [...missing, write];
  // On an older database because of the CHECK that no version is 0.
  const guard = `UPDATE keyscope_schema SET version = iif(version = ${found}, version, 0)`;
  return [session.prepare(guard), ...missing, write];
}

/**
 * Migrates the schema to this release, all of it or nothing; `d1Store` calls it before its first
 * use. Any number of isolates may call it at once. If the schema is current, or newer but still
 * usable by this release, it only reads.
 *
 * Not checked: that nobody has changed the tables since.
 *
 * @param db As for `d1Store`.
 * @throws TypeError if `db` is not a D1 binding.
 * @throws Error if a newer release has migrated the database so that this one cannot work with it;
 *   if D1 throws.
 * @example
 * await migrate(env.DB); // in a Worker that a deploy step calls
 */
export async function migrate(db: D1Client): Promise<void> {
  assertClient(db);
  const found = await readVersion(db);
  if (found === SQLITE.length) return;
  assertMayMigrate();
  const session = atPrimary(db);
  try {
    await session.batch(statementsFrom(session, found));
  } catch (error) {
    // Not an error if another isolate was faster.
    const reached = await readVersion(db);
    if (reached !== SQLITE.length) throw error;
  }
}
