import { d1Store } from 'keyscope/stores/d1';
import { expect, test } from 'vitest';
import { another, RECORD } from '../../../support/d1-records.ts';
import { spyOnStore } from '../../../support/d1-spy.ts';
import { START } from '../../../support/keyring.ts';
import { databases, describeWithWorkerd, SLOW } from '../../../support/workerd.ts';

describeWithWorkerd('touch', SLOW, () => {
  const fresh = databases();

  test('sends 1,000 keys a statement, and all of them in one transaction', async () => {
    const { asked, store } = await spyOnStore(await fresh(), RECORD);
    const others = Array.from({ length: 2_500 }, (_, i) => ({
      keyId: another(i).keyId,
      lastUsedAt: 5,
      scopesUsed: {},
    }));
    const use = { lastUsedAt: 7, scopesUsed: { 'a:b': 2 } };
    await store.touch([...others, { keyId: RECORD.keyId, ...use }, ...others]);
    expect(asked.batches).toEqual([3]);
    expect(await store.findById(RECORD.keyId)).toEqual({ ...RECORD, ...use });
  });

  test('accepts the usage of 40 keys with 256 scopes of maximum length each', async () => {
    const store = d1Store(await fresh());
    const resource = 'r'.repeat(64);
    const action = 'a'.repeat(61);
    const names = Array.from({ length: 256 }, (_, i) => `${resource}:${action}${100 + i}`);
    const scopesUsed = Object.fromEntries(names.map((name) => [name, START]));
    const keys = Array.from({ length: 40 }, (_, i) => another(i));
    for (const key of keys) await store.insert(key);
    await store.touch(keys.map(({ keyId }) => ({ keyId, lastUsedAt: START, scopesUsed })));
    const rows = await store.findByDigest(keys.map(({ digest }) => digest));
    expect(rows).toHaveLength(40);
    for (const row of rows) expect(Object.keys(row.scopesUsed)).toHaveLength(256);
  });
});
