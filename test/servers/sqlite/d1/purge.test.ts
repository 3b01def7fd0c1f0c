import type { KeyRecord } from 'keyscope';
import { type D1Client, d1Store, type PurgeOptions, purgeEnded } from 'keyscope/stores/d1';
import { expect, test } from 'vitest';
import { another, RECORD } from '../../../support/d1-records.ts';
import { spyOn } from '../../../support/d1-spy.ts';
import { untyped } from '../../../support/keyring.ts';
import { type PurgePlace, purgeRaces, purgeSuite } from '../../../support/purge-suite.ts';
import { databases, describeWithWorkerd, SLOW, sqlOf } from '../../../support/workerd.ts';

const BEFORE = new Date(1000);

function like(n: number, given: Partial<KeyRecord>): KeyRecord {
  return { ...another(n), ...given };
}

describeWithWorkerd('purgeEnded', SLOW, () => {
  const fresh = databases();

  async function make(): Promise<PurgePlace> {
    const db = await fresh();
    const store = d1Store(db);
    await store.findById(RECORD.keyId);
    const sql = sqlOf(db);
    async function damage(keyId: string): Promise<void> {
      const triggers = await sql("SELECT name, sql FROM sqlite_master WHERE sql LIKE '%RAISE(%'");
      for (const { name } of triggers) await sql(`DROP TRIGGER ${name}`);
      // The CHECKs accept any list.
      const set = `accessible_entities = '[5]', scopes = '[{}]', withdrawn = '["", 5]'`;
      await sql(`UPDATE keyscope_keys SET ${set} WHERE key_id = '${keyId}'`);
      for (const { sql: trigger } of triggers) await sql(String(trigger));
    }
    return { store, purge: (endedBefore) => purgeEnded(db, { endedBefore }), damage };
  }

  purgeSuite(make);
  purgeRaces(make);

  test('keeps a first row if a key of its chain is inserted before the deletion', async () => {
    const db = await fresh();
    const store = d1Store(db);
    for (const n of [1, 2]) await store.insert(like(n, { revokedAt: 5 }));
    const live = like(3, { rootKeyId: another(1).keyId });
    const late: D1Client = {
      prepare: (sql) => db.prepare(sql),
      async batch(statements) {
        await store.insert(live);
        return db.batch(statements);
      },
    };
    expect(await purgeEnded(late, { endedBefore: BEFORE })).toEqual([another(2).keyId]);
    expect(await sqlOf(db)('SELECT purge_before FROM keyscope_schema')).toEqual([
      { purge_before: null },
    ]);
  });

  test('deletes 500 rows in a batch, which is one transaction', async () => {
    const db = await fresh();
    const { client, asked, forget } = spyOn(db);
    const store = d1Store(client);
    await store.insert(like(1, { revokedAt: 5 }));
    // 600 more, in one statement: separate requests would take long.
    await sqlOf(db)(`
      INSERT INTO keyscope_keys
      WITH RECURSIVE number (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM number WHERE n < 600)
      SELECT format, 'x' || n, prefix, hint, name, 's1$' || n, entity_id, accessible_entities,
        scopes, justification, metadata, created_at, created_by, expires_at, rotated_from,
        root_key_id, issued_under, trust, seal, revoked_at, suspended_at, retire_at, withdrawn,
        ended_by, end_reason, changed_at, last_used_at, scopes_used
      FROM keyscope_keys, number`);
    forget();
    expect(await purgeEnded(client, { endedBefore: BEFORE })).toHaveLength(601);
    expect(asked.batches).toEqual([3, 3]);
    expect(await sqlOf(db)('SELECT count(*) AS n FROM keyscope_keys')).toEqual([{ n: 0 }]);
    expect(await sqlOf(db)('SELECT count(*) AS n FROM keyscope_addressing')).toEqual([{ n: 0 }]);
  });

  test('deletes nothing of a batch that fails, and leaves no row deletable', async () => {
    const db = await fresh();
    const store = d1Store(db);
    for (const n of [1, 2]) await store.insert(like(n, { revokedAt: 5 }));
    const sql = sqlOf(db);
    await sql(`CREATE TRIGGER theirs BEFORE DELETE ON keyscope_keys
      WHEN OLD.key_id = '${another(2).keyId}' BEGIN SELECT RAISE(ABORT, 'still needed'); END`);
    await expect(purgeEnded(db, { endedBefore: BEFORE })).rejects.toThrow('still needed');
    expect(await store.findById(another(1).keyId)).not.toBe(null);
    expect(await sql('SELECT purge_before FROM keyscope_schema')).toEqual([{ purge_before: null }]);
    await expect(sql('DELETE FROM keyscope_keys')).rejects.toThrow('never deleted');
  });

  test('rejects an invalid or future date before it asks anything', async () => {
    const { client, asked } = spyOn(await fresh());
    for (const endedBefore of [new Date(Number.NaN), new Date(8.64e15), 1000, null, undefined]) {
      const purge = purgeEnded(client, untyped<PurgeOptions>({ endedBefore }));
      await expect(purge).rejects.toThrow(
        'purgeEnded: endedBefore: pass a valid Date that is not in the future',
      );
    }
    expect(asked.statements).toEqual([]);
  });
});
