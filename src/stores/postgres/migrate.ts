/** Migrates the schema, whichever process comes first. */
import { POSTGRES as VERSIONS } from '../schema/postgres.js';
import { readSchemaVersion } from '../schema-version.js';
import { openSession, type PostgresClient, type Session } from './clients.js';
import { toSafeError } from './driver-errors.js';
import { createRunner, type RunStatement } from './query.js';

/** The error if a replica answers, at the start or to a look-up. */
export const REPLICA: string =
  'keyscope: this is a replica, which lags behind; pass a client of the primary';

/**
 * The number of the advisory lock: the letters of "keyscope", so that it is unlikely to collide
 * with another.
 */
const LOCK = '7738725071202512997';

/**
 * Migrates through all missing versions as one simple query, which is one transaction on whichever
 * connection of a pool. It reads the version again under the lock, because another process may have
 * been faster. At a stricter isolation level it would not see what that process wrote.
 */
const SCRIPT = `
SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
DO $migrate$
DECLARE
  found integer := 0;
BEGIN
  PERFORM pg_advisory_xact_lock(${LOCK});
  -- Not to_regclass, whose answer from before the wait for the lock may be remembered.
  IF EXISTS (
    SELECT FROM pg_class WHERE relname = 'keyscope_schema' AND pg_table_is_visible(oid)
  ) THEN
    SELECT coalesce(max(version), 0) INTO found FROM keyscope_schema;
  END IF;
${VERSIONS.map(migrationStep).join('')}
END
$migrate$`;

/** The part of the script that migrates to version `index + 1`. */
function migrationStep(statements: readonly string[], index: number): string {
  const version = index + 1;
  const steps = statements.map((sql) => `EXECUTE $statement$${sql}$statement$;`);
  return `
  IF found < ${version} THEN
    ${steps.join('\n    ')}
    INSERT INTO keyscope_schema (id, version) VALUES (1, ${version})
      ON CONFLICT (id) DO UPDATE SET version = ${version};
  END IF;`;
}

/**
 * Reads the schema's version, 0 if there is none. Throws on a replica, and if a newer release has
 * migrated the database.
 */
async function readVersion(run: RunStatement): Promise<number> {
  const answers = (await run('start')) as readonly (readonly boolean[])[];
  const exists = answers[0]?.[0];
  const isReplica = answers[0]?.[1];
  if (isReplica) throw new Error(REPLICA);
  if (!exists) return 0;
  const versions = await run('version');
  return readSchemaVersion(versions[0], VERSIONS.length);
}

/** Migrates, unless the schema is current. */
export async function migrateIfNeeded(session: Session): Promise<void> {
  // Not prepared: these statements run only once.
  const run = createRunner(session, false);
  const version = await readVersion(run);
  if (version === VERSIONS.length) return;
  try {
    await session.runScript(SCRIPT);
  } catch (error) {
    throw toSafeError(error);
  }
  // A newer release may have been faster.
  await readVersion(run);
}

/**
 * Migrates the schema to this release, all of it or nothing; `postgresStore` calls it before its
 * first use. Any number of processes may call it at once. If the schema is current, it only reads.
 *
 * Not checked: that nobody has changed the tables since.
 *
 * @param client As for `postgresStore`.
 * @throws TypeError if `client` is not such a client.
 * @throws Error if a newer release has migrated the database, on a replica, or if PostgreSQL
 *   refuses.
 * @example
 * // In a deploy step, with a role that may create tables:
 * await migrate(new pg.Pool({ connectionString }));
 */
export async function migrate(client: PostgresClient): Promise<void> {
  await migrateIfNeeded(openSession(client));
}
