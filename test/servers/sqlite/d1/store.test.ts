import type { KeyRecord } from 'keyscope';
import { d1Store, purgeEnded } from 'keyscope/stores/d1';
import { expect, test } from 'vitest';
import { complaint } from '../../../support/complaint.ts';
import { another, MARKS, RECORD, revokeAt, WHOSE } from '../../../support/d1-records.ts';
import { spyOn, spyOnStore } from '../../../support/d1-spy.ts';
import { AUTHORITY, HOUR, issue, OWN, storeError, untyped } from '../../../support/keyring.ts';
import { everythingIn, expectNoKeyIn, expectNoSecretIn } from '../../../support/leaks.ts';
import { expectLooseCalls } from '../../../support/loose.ts';
import { keyringOver } from '../../../support/patient-keyring.ts';
import { databases, describeWithWorkerd, SLOW, sqlOf } from '../../../support/workerd.ts';

/** Calls each listing over all entities. */
async function reports(store: ReturnType<typeof d1Store>): Promise<void> {
  await store.listExpiring({ before: 1, after: null, limit: 5 });
  await store.listAll({ after: null, limit: 5 });
  await store.listChanged({ since: 0, limit: 5 });
  await store.summarize(0);
}

describeWithWorkerd('the store', SLOW, () => {
  const fresh = databases();

  test('rejects unknown options', async () => {
    const db = await fresh();
    const complaintAbout = (options: object) => complaint(() => d1Store(db, options));
    expect(complaintAbout({ batches: true })).toContain('batches');
    expect(complaintAbout({ batch: 1 })).toBe('d1Store: batch: pass true or false');
  });

  test('sends nothing before its first use', async () => {
    const { client, asked } = spyOn(await fresh());
    d1Store(client);
    expect(asked).toEqual({ sessions: [], statements: [], batches: [] });
  });

  test('sends one statement a method, with one parameter for a list', async () => {
    const { asked, store } = await spyOnStore(await fresh(), RECORD);
    await store.findByDigest([RECORD.digest]);
    await store.findByDigest(Array.from({ length: 500 }, (_, i) => another(i).digest));
    await store.findById(RECORD.keyId);
    await store.list(WHOSE);
    await store.list({ ...WHOSE, after: RECORD });
    await store.list({ ...WHOSE, addressing: true });
    await store.listLineage({ rootKeyId: RECORD.keyId, after: null, limit: 10 });
    for (const mark of MARKS) expect(await store.mark(RECORD.keyId, mark)).toBe(true);
    await store.insert(another(1));
    await reports(store);
    expect(asked.statements).toHaveLength(17);
    expect(asked.batches).toEqual([]);
    const counts = asked.statements.map(({ values }) => values.length);
    expect(Math.max(...counts)).toBe(28);
  });

  test('sends nothing for ids that cannot exist', async () => {
    const { asked, store } = await spyOnStore(await fresh(), RECORD);
    const odd = [`${RECORD.keyId}\0`, '\ud800', untyped<string>(5), untyped<string>(null)];
    for (const id of odd) {
      expect(await store.findById(id)).toBe(null);
      expect(await store.mark(id, revokeAt(1))).toBe(false);
      expect(await store.list({ ...WHOSE, entityId: id })).toEqual([]);
      expect(await store.list({ ...WHOSE, prefix: id, addressing: true })).toEqual([]);
      expect(await store.listLineage({ rootKeyId: id, after: null, limit: 10 })).toEqual([]);
      expect(await store.findByDigest([id])).toEqual([]);
      await store.touch([{ keyId: id, lastUsedAt: 9, scopesUsed: {} }]);
    }
    await store.touch([]);
    expect(await store.findByDigest([])).toEqual([]);
    expect(asked.statements).toEqual([]);
    expect(asked.batches).toEqual([]);
  });

  test.each([
    [{ batch: true }, 1],
    [{}, 20],
    [{ batch: false }, 20],
  ])('with %o sends simultaneous look-ups as %i queries', async (options, count) => {
    const { client, asked, forget } = spyOn(await fresh());
    const store = d1Store(client, options);
    await store.findById(OWN);
    await store.findByDigest(['x']);
    forget();
    const digests = Array.from({ length: 20 }, (_, i) => another(i).digest);
    await Promise.all(digests.map((digest) => store.findByDigest([digest])));
    expect(asked.statements).toHaveLength(count);
  });

  test('writes nothing for a verification', async () => {
    const { client, asked, forget } = spyOn(await fresh());
    const keyring = keyringOver(d1Store(client));
    const { key } = await issue(keyring);
    await keyring.verify(key);
    forget();
    for (let i = 0; i < 3; i++) await keyring.verify(key);
    const verbs = asked.statements.map(({ sql }) => sql.trim().split(' ')[0]);
    expect(verbs).toEqual(['SELECT', 'SELECT', 'SELECT']);
    expect(asked.batches).toEqual([]);
  });

  test('scans no whole table, and sorts no listing', async () => {
    const db = await fresh();
    const { client, asked, forget } = spyOn(db);
    const store = d1Store(client);
    await store.insert(RECORD);
    forget();
    await store.findByDigest(['a']);
    await store.findByDigest(['a', 'b']);
    await store.findById(OWN);
    await store.list(WHOSE);
    await store.list({ ...WHOSE, addressing: true });
    await store.listLineage({ rootKeyId: OWN, after: null, limit: 10 });
    for (const mark of MARKS) await store.mark(OWN, mark);
    await store.touch([{ keyId: OWN, lastUsedAt: 5, scopesUsed: { 'a:b': 5 } }]);
    await purgeEnded(client, { endedBefore: new Date(0) });
    await reports(store);
    const plans: string[] = [];
    for (const { sql } of asked.statements) {
      const plan = await sqlOf(db)(`EXPLAIN QUERY PLAN ${sql.replaceAll('?', "'[]'")}`);
      plans.push(plan.map(({ detail }) => String(detail)).join('; '));
    }
    // Including the read of the version before the purge.
    expect(plans).toHaveLength(18);
    const isSlow = /SCAN (?:keyscope_keys|ended|place)|TEMP B-TREE FOR .*ORDER BY/;
    expect(plans.filter((plan) => isSlow.test(plan))).toEqual([]);
  });

  test('summarizes as of now without a time, and lists from the beginning', async () => {
    const store = d1Store(await fresh());
    await store.insert({ ...another(1), expiresAt: Date.now() - 1 });
    await store.insert({ ...another(2), expiresAt: Date.now() + HOUR });
    const summarize = store.summarize as () => unknown;
    expect(await summarize()).toEqual([{ scheme: 's1', live: 1, lastUsedAt: null }]);
    await expectLooseCalls(store, OWN);
  });

  test('turns a failure of D1 into a StoreError, and works again once D1 answers', async () => {
    const { client, fail } = spyOn(await fresh());
    const keyring = keyringOver(d1Store(client));
    // The migration, too.
    fail(new Error('D1_ERROR: D1 DB is overloaded. Requests queued for too long.'));
    await storeError(() => issue(keyring));
    fail(undefined);
    const { key, info } = await issue(keyring);
    fail(new Error('D1_ERROR: Network connection lost.'));
    await storeError(() => keyring.verify(key));
    await storeError(() => keyring.revoke(info.keyId, AUTHORITY));
    fail(undefined);
    const principal = await keyring.verify(key);
    expect(principal.keyId).toBe(info.keyId);
  });

  test('includes neither digest nor seal in the error of a rejected write', async () => {
    const store = d1Store(await fresh());
    await store.insert(RECORD);
    const refusals: readonly (readonly [KeyRecord, RegExp])[] = [
      [RECORD, /exists already/],
      [{ ...another(1), digest: RECORD.digest }, /exists already/],
      [{ ...another(2), createdAt: 1.5 }, /cannot store REAL value/],
      [{ ...another(3), name: untyped(null) }, /NOT NULL constraint failed/],
      [{ ...another(4), name: untyped(undefined) }, /not supported/],
      [{ ...another(5), scopes: untyped({}) }, /CHECK constraint failed/],
    ];
    for (const [record, message] of refusals) {
      const [settled] = await Promise.allSettled([store.insert(record)]);
      expect(settled.status).toBe('rejected');
      expect(everythingIn(settled)).toMatch(message);
      expectNoSecretIn(settled, record);
    }
    expect(await store.list(WHOSE)).toEqual([RECORD]);
  });

  test('writes no key into the database', async () => {
    const db = await fresh();
    await expectNoKeyIn(d1Store(db), async () =>
      JSON.stringify(await sqlOf(db)('SELECT * FROM keyscope_keys')),
    );
  });
});
