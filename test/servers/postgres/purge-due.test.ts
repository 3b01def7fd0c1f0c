/** The rule of purges, on PostgreSQL. */
import { postgresStore, purgeEnded } from 'keyscope/stores/postgres';
import { onTestFinished } from 'vitest';
import { emptySchema, pgPool } from '../../support/postgres-clients.ts';
import { describePostgres } from '../../support/postgres-place.ts';
import { type PurgePlace, purgeSuite } from '../../support/purge-suite.ts';

async function makePlace(): Promise<PurgePlace> {
  const { settings, sql, drop } = await emptySchema();
  const pool = pgPool(settings);
  onTestFinished(async () => {
    await pool.end();
    await drop();
  });
  async function damage(keyId: string): Promise<void> {
    await sql('ALTER TABLE keyscope_keys DISABLE TRIGGER USER');
    await sql(`UPDATE keyscope_keys SET scopes = '{"*:*"}' WHERE key_id = '${keyId}'`);
    await sql('ALTER TABLE keyscope_keys ENABLE TRIGGER USER');
  }
  const store = postgresStore(pool);
  return { store, purge: (endedBefore) => purgeEnded(pool, { endedBefore }), damage };
}

describePostgres('purgeEnded', () => purgeSuite(makePlace));
