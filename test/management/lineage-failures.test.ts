/** Stores that fail, or break their contract, while a lineage ends. */
import type { KeyStore } from 'keyscope';
import { causeOf } from 'keyscope';
import { memoryStore } from 'keyscope/stores/memory';
import { describe, expect, it } from 'vitest';
import { issue, setUp, storeError, untyped, wrap } from '../support/keyring.ts';
import { EVE, idsOfChain, injected, leftIn } from '../support/lineages.ts';
import { unpeppered, unsealed } from '../support/unsealed.ts';

/** Makes a store whose marks fail on some keys. Records the keys that are tried. */
function failingOn(inner: KeyStore, isBroken: (keyId: string) => boolean) {
  const tried: string[] = [];
  const store = wrap(inner, (method, [given], call) => {
    const keyId = String(given);
    if (method === 'mark') tried.push(keyId);
    if (method === 'mark' && isBroken(keyId)) throw new Error(`cannot write ${keyId}`);
    return call();
  });
  return { store, tried };
}

describe('revokeLineage', () => {
  // A row that no mark could reach kept every key behind it alive.
  it('ends all other keys if one fails, and throws its error at the end', async () => {
    for (const position of [1, 2, 3]) {
      const inner = memoryStore();
      const ids = await idsOfChain(setUp({ store: inner }).keyring, 5);
      const broken = ids[position] ?? '';
      const { store, tried } = failingOn(inner, (keyId) => keyId === broken);
      const { keyring, events } = setUp({ store });
      const error = await storeError(() => keyring.revokeLineage(ids[0] ?? '', EVE));
      expect(String(causeOf(error))).toContain(broken);
      expect(await leftIn(inner)).toEqual([broken]);
      expect(events.map(({ type }) => type)).toEqual(Array(4).fill('key.revoked'));
      expect(tried.length).toBeLessThan(50);
      const again = await setUp({ store: inner }).keyring.revokeLineage(ids[0] ?? '', EVE);
      expect(again).toEqual([broken]);
    }
  });

  it.each([0, 2])(
    'ends all others if key %d of the chain, with which it begins, fails',
    async (at) => {
      const inner = memoryStore();
      const ids = await idsOfChain(setUp({ store: inner }).keyring, 5);
      const broken = ids[at] ?? '';
      const { store } = failingOn(inner, (keyId) => keyId === broken);
      await storeError(() => setUp({ store }).keyring.revokeLineage(ids[2] ?? '', EVE));
      expect(await leftIn(inner)).toEqual([broken]);
    },
  );

  it('succeeds if the keys that failed end in a later pass', async () => {
    const inner = memoryStore();
    const ids = await idsOfChain(setUp({ store: inner }).keyring, 5);
    const failed = new Set<string>();
    const isFirst = (keyId: string): boolean => {
      return ids.indexOf(keyId) > 2 && failed.size < failed.add(keyId).size;
    };
    const { store } = failingOn(inner, isFirst);
    const ended = await setUp({ store }).keyring.revokeLineage(ids[0] ?? '', EVE);
    expect(failed.size).toBe(2);
    expect([...ended].sort()).toEqual([...ids].sort());
    expect(await leftIn(inner)).toEqual([]);
  });

  it('does not miss keys behind the part in which one fails', async () => {
    const inner = memoryStore();
    const { record } = unsealed();
    const rootKeyId = record.keyId;
    inner.insert(record);
    for (let index = 0; index < 600; index++) inner.insert(unsealed({ rootKeyId }).record);
    const [broken = ''] = (await leftIn(inner)).filter((keyId) => keyId !== rootKeyId);
    const { store } = failingOn(inner, (keyId) => keyId === broken);
    await storeError(() => unpeppered(store).revokeLineage(rootKeyId, EVE));
    expect(await leftIn(inner)).toEqual([broken]);
  });

  it('stops at once if all keys of a group fail', async () => {
    const inner = memoryStore();
    const ids = await idsOfChain(setUp({ store: inner }).keyring, 60);
    const { store, tried } = failingOn(inner, (keyId) => keyId !== ids[0]);
    await storeError(() => setUp({ store }).keyring.revokeLineage(ids[0] ?? '', EVE));
    expect(await leftIn(inner)).toHaveLength(59);
    expect(tried.length).toBeLessThan(30);
  });

  it('stops after ten keys if all of a group fail, and the first key is elsewhere', async () => {
    const inner = memoryStore();
    const { record } = unsealed();
    const rows = Array.from({ length: 30 }, () => unsealed({ rootKeyId: record.keyId }).record);
    for (const row of rows) inner.insert(row);
    const { store, tried } = failingOn(inner, () => true);
    await storeError(() => unpeppered(store).revokeLineage(rows[0]?.keyId ?? '', EVE));
    expect(new Set(tried).size).toBeLessThan(12);
  });

  it('can be called again after it failed in the middle', async () => {
    const inner = memoryStore();
    const ids = await idsOfChain(setUp({ store: inner }).keyring, 4);
    let marks = 0;
    const { store } = failingOn(inner, () => ++marks > 2);
    await storeError(() => setUp({ store }).keyring.revokeLineage(ids[0] ?? '', EVE));
    const left = await leftIn(inner);
    expect(left).not.toEqual([]);
    const again = await setUp({ store: inner }).keyring.revokeLineage(ids[0] ?? '', EVE);
    expect([...again].sort()).toEqual(left);
  });

  it('causes an error instead of an endless loop if the store never shows its marks', async () => {
    const inner = memoryStore();
    const [keyId = ''] = await idsOfChain(setUp({ store: inner }).keyring, 2);
    const stale = await inner.listLineage({ rootKeyId: keyId, after: null, limit: 9 });
    let calls = 0;
    const behind = wrap(inner, (method, _args, call) => {
      calls += 1;
      if (method === 'listLineage') return stale;
      return method === 'mark' ? true : call();
    });
    const act = () => setUp({ store: behind }).keyring.revokeLineage(keyId, EVE);
    const { message } = await storeError(act);
    expect(message).toBe('store.listLineage does not see marks; see KeyStore');
    expect(calls).toBeLessThan(500);
  });

  it('causes an error if the store returns the same page again and again', async () => {
    const inner = memoryStore();
    const { record } = unsealed();
    const rootKeyId = record.keyId;
    inner.insert(record);
    for (let index = 0; index < 500; index++) inner.insert(unsealed({ rootKeyId }).record);
    const firstPage = { rootKeyId, after: null, limit: 500 };
    const stuck = wrap(inner, (method, _args, call) =>
      method === 'listLineage' ? inner.listLineage(firstPage) : call(),
    );
    const { message } = await storeError(() => unpeppered(stuck).revokeLineage(rootKeyId, EVE));
    expect(message).toBe('store.listLineage ignores `after`; see KeyStore');
  });

  it('causes an error immediately if the store wrote nothing', async () => {
    const inner = memoryStore();
    const [keyId = ''] = await idsOfChain(setUp({ store: inner }).keyring, 2);
    const silent = wrap(inner, (method, _args, call) => (method === 'mark' ? false : call()));
    const { keyring, events } = setUp({ store: silent });
    const { message } = await storeError(() => keyring.revokeLineage(keyId, EVE));
    expect(message).toBe('store.mark broke its contract; see KeyStore');
    expect(events).toEqual([]);
  });

  it.each([null, undefined, {}, [null], [7], new Array(1)])(
    'causes an error if the store returns %j as the lineage',
    async (answer) => {
      const inner = memoryStore();
      const { info } = await issue(setUp({ store: inner }).keyring);
      const odd = wrap(inner, (method, _args, call) =>
        method === 'listLineage' ? untyped(answer) : call(),
      );
      await storeError(() => setUp({ store: odd }).keyring.revokeLineage(info.keyId, EVE));
    },
  );

  it('ends a lineage that grows for many passes', async () => {
    const inner = memoryStore();
    const [keyId = ''] = await idsOfChain(setUp({ store: inner }).keyring, 1);
    let passes = 0;
    const busy = wrap(inner, (method, _args, call) => {
      if (method !== 'listLineage' || passes >= 50) return call();
      passes += 1;
      inner.insert(injected({ rootKeyId: keyId, rotatedFrom: keyId }));
      return call();
    });
    const ended = await setUp({ store: busy }).keyring.revokeLineage(keyId, EVE);
    expect(ended).toHaveLength(51);
    expect(await leftIn(inner)).toEqual([]);
  });
});
