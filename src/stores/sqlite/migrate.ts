/** Migrates the tables and triggers to the version of this release. */
import { minReaderOf, readSchemaVersion } from '../schema/versions.js';
import { assertMayMigrate } from '../start.js';
import type { SqliteHandle } from './client.js';
import { inMain, isTemporary, prepareHandle, readValue } from './client.js';
import { SQLITE } from './schema.js';
import { STATEMENTS } from './statements.js';
import { transaction } from './transactions.js';

const TEMPORARY = "SELECT count(*) AS tables FROM sqlite_temp_master WHERE name LIKE 'keyscope%'";

const IN_THE_WAY =
  'keyscope: the handle has temporary tables whose names begin with keyscope. ' +
  'Open a handle only for keyscope';

/** Checks whether the tables and triggers are those of this release, or of one it works with. */
export function isCurrent(db: SqliteHandle): boolean {
  return readVersion(db) === SQLITE.length;
}

/** Returns the schema's version in this file, 0 without a schema. */
function readVersion(db: SqliteHandle): number {
  const tables = db.prepare(STATEMENTS.hasVersion).all();
  if (tables.length === 0) return 0;
  const [row] = db.prepare(inMain(STATEMENTS.version)).all();
  return readSchemaVersion(row as object | undefined, SQLITE.length, 'the file');
}

/**
 * Migrates the schema to this release, all of it or nothing; `sqliteStore` calls it. Any number of
 * processes may call it at once. If the schema is current, or newer but still usable by this
 * release, it only reads.
 *
 * Not checked: that nobody has changed the tables since.
 *
 * @param db As for `sqliteStore`.
 * @throws TypeError as `sqliteStore` does.
 * @throws Error if a newer release has migrated the file so that this one cannot work with it; if
 *   the driver throws.
 * @example
 * migrate(new DatabaseSync('keys.db')); // in a deploy step
 */
export function migrate(db: SqliteHandle): void {
  prepareHandle(db, 'migrate');
  migrateIfNeeded(db);
}

/** Does the same for a handle that has been checked. */
export function migrateIfNeeded(db: SqliteHandle): void {
  if (isCurrent(db)) return;
  if (!isTemporary(db)) assertMayMigrate();
  // Indexes and triggers would be created on those.
  if (readValue(db, TEMPORARY, 'tables') !== 0) throw new Error(IN_THE_WAY);
  transaction(db, () => {
    // Read again under the lock: another process may have been faster.
    const missing = SQLITE.slice(readVersion(db)).flat();
    for (const sql of missing) db.exec(sql);
    const latest = SQLITE.length;
    db.prepare(inMain(STATEMENTS.writeVersion)).run(latest, minReaderOf(latest));
  });
}
