/**
 * An unchanged row gives the same frozen record, so that its seal is checked once. The store still
 * asks the database every time: anything that changes a row, or makes it unreliable, shows at once.
 */
import type { KeyRecord } from 'keyscope';
import { postgresStore } from 'keyscope/stores/postgres';
import type pg from 'pg';
import { expect, test } from 'vitest';
import { alone, another, describePostgres, RECORD } from '../../support/postgres-place.ts';

const SUSPEND = { kind: 'suspend', at: 5, by: null, reason: null } as const;

describePostgres('a remembered row', () => {
  test('is the same record, however it is looked up, until it changes', async () => {
    await alone('pg Pool of 10', async ({ client, sql }) => {
      const store = postgresStore(client);
      await store.insert(RECORD);
      await store.insert(another(1));
      const byDigest = async (): Promise<KeyRecord | undefined> =>
        (await store.findByDigest([RECORD.digest]))[0];
      const first = await byDigest();
      expect(first).toEqual(RECORD);
      expect(Object.isFrozen(first)).toBe(true);
      expect(await byDigest()).toBe(first);
      expect(await store.findById(RECORD.keyId)).toBe(first);
      const several = await store.findByDigest([another(1).digest, RECORD.digest]);
      expect(several).toContain(first);

      await store.mark(RECORD.keyId, SUSPEND);
      const suspended = await byDigest();
      expect(suspended).toMatchObject({ suspendedAt: 5 });
      await store.touch([{ keyId: RECORD.keyId, lastUsedAt: 7, scopesUsed: {} }]);
      expect(await byDigest()).toMatchObject({ suspendedAt: 5, lastUsedAt: 7 });
      // By hand, past every method of the store.
      const row = `WHERE key_id = '${RECORD.keyId}'`;
      await sql(`UPDATE keyscope_keys SET suspended_at = NULL ${row}`);
      expect(await byDigest()).toMatchObject({ suspendedAt: null, lastUsedAt: 7 });
    });
  });

  test('is rejected in a transaction left open', async () => {
    await alone('pg Client', async ({ client }) => {
      const store = postgresStore(client);
      const own = client as pg.Client;
      await store.insert(RECORD);
      const first = await store.findById(RECORD.keyId);
      for (const ending of ['COMMIT', 'ROLLBACK']) {
        await own.query('BEGIN');
        await own.query('SELECT pg_current_xact_id()');
        for (const _ of ['first', 'again']) {
          await expect(async () => store.findById(RECORD.keyId)).rejects.toThrow(
            'in the middle of a transaction',
          );
        }
        await own.query(ending);
        expect(await store.findById(RECORD.keyId)).toBe(first);
      }
    });
  });
});
