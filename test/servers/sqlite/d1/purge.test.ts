import type { KeyRecord } from 'keyscope';
import { d1Store, type PurgeOptions, purgeEnded } from 'keyscope/stores/d1';
import { expect, test } from 'vitest';
import { another, RECORD } from '../../../support/d1-records.ts';
import { spyOn } from '../../../support/d1-spy.ts';
import { OTHER, untyped } from '../../../support/keyring.ts';
import { databases, describeWithWorkerd, SLOW, sqlOf } from '../../../support/workerd.ts';

const BEFORE = new Date(1000);

function like(n: number, given: Partial<KeyRecord>): KeyRecord {
  return { ...another(n), ...given };
}

// `test/stores/sqlite/purge.test.ts` tests all ends and options: the statements are the same.
describeWithWorkerd('purgeEnded', SLOW, () => {
  const fresh = databases();

  test('deletes keys that ended before a time, with their places, and returns ids', async () => {
    const db = await fresh();
    const store = d1Store(db);
    const root = { rootKeyId: another(4).keyId };
    const records = [
      RECORD,
      like(1, { revokedAt: 999 }),
      like(2, { retireAt: 999 }),
      like(3, { expiresAt: 1000 }),
      like(4, { ...root, retireAt: 5 }),
      like(5, { ...root, rotatedFrom: another(4).keyId }),
      like(6, { revokedAt: 5 }),
      like(7, { issuedUnder: another(6).keyId }),
    ];
    for (const record of records) await store.insert(record);
    const gone = [another(1).keyId, another(2).keyId];
    expect(await purgeEnded(db, { endedBefore: BEFORE })).toEqual(gone);
    const left = [3, 4, 5, 6, 7].map((n) => another(n).keyId);
    const { items } = await store.listAll({ after: null, limit: 9 });
    expect(items.map(({ keyId }) => keyId)).toEqual([...left, RECORD.keyId]);
    const places = await sqlOf(db)(
      `SELECT key_id FROM keyscope_addressing WHERE entity_uuid = '${OTHER}' ORDER BY key_id`,
    );
    expect(places.map(({ key_id }) => key_id)).toEqual([...left, RECORD.keyId]);
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
      SELECT format, 'x' || n, prefix, hint, name, 's1$' || n, entity_uuid, accessible_entities,
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
