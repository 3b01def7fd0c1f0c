/** Migrates the schema. Any number of processes may try at once. */
import { minReaderOf, readSchemaVersion } from '../schema/versions.js';
import { assertMayMigrate } from '../start.js';
import { openSession, type PostgresClient, type Session } from './client.js';
import { HIDDEN, toSafeError } from './errors.js';
import { createRunner, createSender, type RunStatement } from './query.js';
import { POSTGRES } from './schema.js';

/** The error if a replica answers, at the start or to a look-up. */
export const REPLICA: string =
  'keyscope: this is a replica, which lags behind. Pass a client of the primary';

/**
 * The number of the advisory lock: the letters of "keyscope", so that it is unlikely to collide
 * with another. Without it, a second process would wait for a table and then fail, which it also
 * does with the lock.
 */
const LOCK = '7738725071202512997';

/** The error if the tables are not found where they have just been created. */
const LOST =
  'keyscope: PostgreSQL: the tables are not on the search_path. ' +
  'Set it on the role, so that each connection has the same';

/** The version of the schema that this release migrates to. */
const CURRENT = POSTGRES.length;

/**
 * Returns the script that migrates from a version to the current one, as one simple query: one
 * transaction, on any connection of a pool. It fails if another process was faster, at the latest
 * when it writes the version.
 */
function scriptFrom(found: number): string {
  const minReader = minReaderOf(CURRENT);
  const lock = `SELECT pg_advisory_xact_lock(${LOCK})`;
  const isStill = `SELECT 1 / count(*) FROM keyscope_schema WHERE version = ${found}`;
  const insert = `
    INSERT INTO keyscope_schema (id, version, min_reader) VALUES (1, ${CURRENT}, ${minReader})`;
  const update = `
    UPDATE keyscope_schema SET version = ${CURRENT}, min_reader = ${minReader}`;
  const isFirst = found === 0;
  const statements = [
    lock,
    ...(isFirst ? [] : [isStill]),
    ...POSTGRES.slice(found).flat(),
    isFirst ? insert : update,
  ];
  return statements.join(';\n');
}

/** Returns the schema with the tables, quoted for SQL, or null if the tables are missing. */
async function findSchema(run: RunStatement): Promise<string | null> {
  const answers = (await run('start')) as readonly (readonly unknown[])[];
  const [schema, isReplica, mayHide] = answers[0] ?? [];
  if (isReplica) throw new Error(REPLICA);
  if (mayHide) throw new Error(HIDDEN);
  return typeof schema === 'string' ? schema : null;
}

/**
 * Reads the schema's version, 0 without a schema. Throws on a replica, if rows may be hidden, and
 * if a newer release has migrated the database to a schema that this one cannot work with.
 */
async function readVersion(run: RunStatement): Promise<number> {
  if ((await findSchema(run)) === null) return 0;
  const rows = (await run('version')) as readonly object[];
  return readSchemaVersion(rows[0], CURRENT);
}

/** Migrates, unless the schema is current. Returns the schema with the tables. */
export async function migrateIfNeeded(session: Session): Promise<string> {
  // Not prepared: these statements run only once.
  const run = createRunner(createSender(session, false));
  await migrateFrom(await readVersion(run), session, run);
  const schema = await findSchema(run);
  if (schema === null) throw new Error(LOST);
  return schema;
}

async function migrateFrom(found: number, session: Session, run: RunStatement): Promise<void> {
  if (found === CURRENT) return;
  assertMayMigrate();
  try {
    await session.runScript(scriptFrom(found));
  } catch (error) {
    // Another process may have migrated meanwhile, even one of a newer release.
    const version = await readVersion(run);
    if (version !== CURRENT) throw toSafeError(error);
  }
}

/**
 * Migrates the schema to this release, all of it or nothing; `postgresStore` calls it before its
 * first use. Any number of processes may call it at once. If the schema is current, or that of a
 * newer release that this one works with, it only reads.
 *
 * Not checked: that nobody has changed the tables since.
 *
 * @param client As for `postgresStore`.
 * @throws TypeError if `client` is not a supported client.
 * @throws Error if a newer release has migrated the database to a schema that this one cannot work
 *   with, on a replica, or if PostgreSQL refuses.
 * @example
 * // In a deploy step, with a role that may create tables:
 * await migrate(new pg.Pool({ connectionString }));
 */
export async function migrate(client: PostgresClient): Promise<void> {
  await migrateIfNeeded(openSession(client));
}
