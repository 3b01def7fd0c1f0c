/** Ends a leaked key, its predecessors and its successors. */
import type { KeyState, KeyStore } from 'keyscope';
import { memoryStore } from 'keyscope/stores/memory';
import { describe, expect, it } from 'vitest';
import {
  ANSWERING,
  AUTHORITY,
  delayed,
  denied,
  inputError,
  issue,
  NOWHERE,
  OTHER,
  OWN,
  rowOf,
  START,
  setUp,
  storeError,
  untyped,
  wrap,
} from '../support/keyring.ts';
import { chain, EVE, idsOfChain, injected, leftIn, OVERLAP, rotated } from '../support/lineages.ts';
import { bring, editing, LIFE_NAMES, LIVES } from '../support/lives.ts';
import { keysOf } from '../support/managing.ts';
import { countTurns } from '../support/turns.ts';
import { unpeppered, unsealed } from '../support/unsealed.ts';

/** The states in which a seal vouches for the row of a key. */
const VOUCHED_FOR: readonly KeyState[] = ['revoked', 'suspended', 'retired', 'expired', 'live'];

describe('revokeLineage', () => {
  it.each(ANSWERING)(
    'ends a whole chain from any of its keys, in a store that answers %s',
    async (_how, through) => {
      for (const position of [0, 1, 2, 3]) {
        const { keyring, store, clock, events } = setUp({ store: through(memoryStore()) });
        const keys = await chain(keyring, 4);
        const ids = keys.map(({ keyId }) => keyId);
        const bystander = await issue(keyring);
        clock.advance(5);
        events.length = 0;
        const ended = await keyring.revokeLineage(ids[position] ?? '', EVE);
        expect([...ended].sort()).toEqual([...ids].sort());
        expect(Object.isFrozen(ended)).toBe(true);
        for (const { key } of keys) {
          await denied(() => keyring.verify(key), 'invalid_token', 'revoked');
        }
        await keyring.verify(bystander.key);
        for (const id of ended) {
          expect(await keyring.get(id, AUTHORITY)).toMatchObject({
            state: 'revoked',
            tampered: false,
            revokedAt: new Date(START + 5),
            endedBy: 'eve',
            endReason: 'found on GitHub',
          });
        }
        const words = { actor: 'eve', reason: 'found on GitHub' };
        const told = { type: 'key.revoked', time: START + 5, entityId: OWN, ...words };
        expect(events).toEqual(ended.map((id) => ({ ...told, keyId: id })));
        expect(await leftIn(store)).toEqual([bystander.info.keyId]);
      }
    },
  );

  // It began with the requested key, and meanwhile a thief rotated another one of the chain.
  it('ends the first key of the chain before it reads the chain', async () => {
    for (const position of [0, 1, 2]) {
      const inner = memoryStore();
      const ids = await idsOfChain(setUp({ store: inner }).keyring, 3);
      const marked: unknown[] = [];
      let before: readonly unknown[] = [];
      const store = wrap(inner, (method, [keyId], call) => {
        if (method === 'mark') marked.push(keyId);
        if (method === 'listLineage' && before.length === 0) before = [...marked];
        return call();
      });
      await setUp({ store }).keyring.revokeLineage(ids[position] ?? '', EVE);
      expect(marked[0]).toBe(ids[0]);
      expect(before).toContain(ids[0]);
    }
  });

  it('ends branches from rotations that broke off before they retired the key', async () => {
    const inner = memoryStore();
    const { keyring } = setUp({ store: inner });
    const [keyId = ''] = await idsOfChain(keyring, 1);
    const breaking = wrap(inner, (method, _args, call) => {
      if (method === 'mark') throw new Error('connection lost');
      return call();
    });
    const broken = setUp({ store: breaking }).keyring;
    for (const _attempt of [1, 2]) {
      await storeError(() => broken.rotate(keyId, OVERLAP, AUTHORITY));
    }
    const branch = (await keysOf(inner)).find(({ rotatedFrom }) => rotatedFrom === keyId);
    await rotated(keyring, branch?.keyId ?? '');
    await rotated(keyring, keyId);
    const all = await leftIn(inner);
    expect(all).toHaveLength(5);
    const ended = await keyring.revokeLineage(branch?.keyId ?? '', EVE);
    expect([...ended].sort()).toEqual(all);
    expect(await leftIn(inner)).toEqual([]);
  });

  it('returns only the keys that it ended, not those that were revoked before', async () => {
    const { keyring, store, clock } = setUp();
    const [first = '', second = '', third = ''] = await idsOfChain(keyring, 3);
    await keyring.revoke(second, { ...AUTHORITY, actor: 'ada' });
    clock.advance(1);
    expect([...(await keyring.revokeLineage(second, EVE))].sort()).toEqual([first, third].sort());
    expect((await rowOf(store, second)).endedBy).toBe('ada');
    expect(await keyring.revokeLineage(first, EVE)).toEqual([]);
    expect((await rowOf(store, first)).revokedAt).toBe(START + 1);
  });

  it('ends the rest of a chain whose first key was revoked before', async () => {
    const { keyring, store } = setUp();
    const [first = '', ...others] = await idsOfChain(keyring, 3);
    await keyring.revoke(first, AUTHORITY);
    expect([...(await keyring.revokeLineage(first, EVE))].sort()).toEqual(others.sort());
    expect(await leftIn(store)).toEqual([]);
  });

  it('is idempotent for concurrent callers: exactly one of them ends each key', async () => {
    const { keyring, events } = setUp({ store: delayed(memoryStore()) });
    const ids = await idsOfChain(keyring, 3);
    events.length = 0;
    const calls = ids.map((keyId) => keyring.revokeLineage(keyId, EVE));
    const ended = (await Promise.all(calls)).flat();
    expect(ended.sort()).toEqual(ids.sort());
    expect(events).toHaveLength(3);
  });

  const vouched = LIFE_NAMES.filter((name) => VOUCHED_FOR.includes(LIVES[name].state));
  it.each(vouched)('ends the lineage of a key that is %s', async (name) => {
    const { keyring, inner, keyId } = await bring(name);
    const before = await leftIn(inner);
    const ended = await keyring.revokeLineage(keyId, EVE);
    expect([...ended].sort()).toEqual(before);
    expect(ended.includes(keyId)).toBe(LIVES[name].state !== 'revoked');
    expect(await leftIn(inner)).toEqual([]);
  });

  it('denies another entity’s key, and ends nothing', async () => {
    const { keyring, store, events } = setUp();
    const [keyId = ''] = await idsOfChain(keyring, 2);
    events.length = 0;
    const authority = { entityId: OTHER, entities: [OWN] };
    await denied(() => keyring.revokeLineage(keyId, authority), 'not_found', 'foreign_key');
    await denied(() => keyring.revokeLineage(NOWHERE, EVE), 'not_found', 'no_such_key');
    const odd = () => keyring.revokeLineage(untyped(7), EVE);
    await inputError(odd, 'keyId', /^keyId: pass a string/);
    expect(events.map(({ type }) => type)).toEqual(Array(2).fill('management.denied'));
    expect(await leftIn(store)).toHaveLength(2);
  });
});

describe('revokeLineage of many keys', () => {
  /** Makes a key without a pepper, and this many rows that were rotated from it. */
  async function many(count: number) {
    const store = memoryStore();
    const { record } = unsealed();
    const rootKeyId = record.keyId;
    store.insert(record);
    for (let index = 0; index < count; index++) store.insert(unsealed({ rootKeyId }).record);
    return { store, rootKeyId, left: async () => (await leftIn(store)).length };
  }

  /** Records the queries for lineages. */
  function asking(store: KeyStore) {
    const queries: { readonly limit: number }[] = [];
    const asked = wrap(store, (method, [query], call) => {
      if (method === 'listLineage') queries.push(query as { readonly limit: number });
      return call();
    });
    return { store: asked, queries };
  }

  // 500 rows is one part of the listing.
  it.each([498, 499, 500, 998, 1_200])('ends %d rotations in parts', async (count) => {
    const { store, rootKeyId } = await many(count);
    const asked = asking(store);
    const ended = await unpeppered(asked.store).revokeLineage(rootKeyId, EVE);
    expect(new Set(ended).size).toBe(count + 1);
    expect(ended).toHaveLength(count + 1);
    const rows = await store.listLineage({ rootKeyId, after: null, limit: 2_000 });
    expect(rows.filter(({ revokedAt }) => revokedAt === null)).toEqual([]);
    for (const { limit } of asked.queries) expect(limit).toBeLessThanOrEqual(1_000);
  });

  // On SQLite, 1,000 keys kept the whole process waiting for a quarter of a second.
  it('lets other work run while it ends many keys', async () => {
    const { store, rootKeyId } = await many(110);
    const { result, turns } = await countTurns(() =>
      unpeppered(store).revokeLineage(rootKeyId, EVE),
    );
    expect(result).toHaveLength(111);
    expect(turns).toBeGreaterThanOrEqual(4);
  });

  it('asks the store for several keys at a time, but not for all of them', async () => {
    const { store, rootKeyId } = await many(99);
    let running = 0;
    let most = 0;
    const slow = wrap(delayed(store), async (method, _args, call) => {
      if (method === 'mark') most = Math.max(most, ++running);
      const answer = await call();
      if (method === 'mark') running -= 1;
      return answer;
    });
    await unpeppered(slow).revokeLineage(rootKeyId, EVE);
    expect(most).toBeGreaterThan(1);
    expect(most).toBeLessThanOrEqual(20);
  });
});

describe('unusual rows in a lineage', () => {
  it.each([
    ['edited', { name: 'another' }],
    ['malformed', { scopes: ['*:*'] }],
    ['of a later format', { format: 2 }],
    ['without times', { createdAt: null, expiresAt: 'x' }],
    ['suspended', { suspendedAt: START }],
  ])('are ended if they are %s', async (_what, edit) => {
    for (const damaged of [0, 1, 2]) {
      const inner = memoryStore();
      const ids = await idsOfChain(setUp({ store: inner }).keyring, 3);
      const through = setUp({ store: editing(inner, ids[damaged] ?? '', edit) }).keyring;
      const from = ids[damaged === 0 ? 1 : 0] ?? '';
      expect([...(await through.revokeLineage(from, EVE))].sort()).toEqual([...ids].sort());
      expect(await leftIn(inner)).toEqual([]);
    }
  });

  it('stay if they have another entity or another prefix', async () => {
    const { keyring, store } = setUp();
    const [first = '', second = ''] = await idsOfChain(keyring, 2);
    const shared = { rootKeyId: first, rotatedFrom: first };
    const theirs = { ...shared, entityId: OTHER, accessibleEntities: [OTHER, OWN] };
    const foreign = injected(theirs);
    const elsewhere = injected({ ...shared, prefix: 'acme_eu' });
    const own = injected(shared);
    for (const row of [foreign, elsewhere, own]) await store.insert(row);
    const ended = await keyring.revokeLineage(first, EVE);
    expect([...ended].sort()).toEqual([first, second, own.keyId].sort());
    expect(await rowOf(store, foreign.keyId)).toEqual(foreign);
    expect(await rowOf(store, elsewhere.keyId)).toEqual(elsewhere);
  });

  it('do not matter if the first key of the chain is gone', async () => {
    const inner = memoryStore();
    const [first = '', second = ''] = await idsOfChain(setUp({ store: inner }).keyring, 2);
    const gone = wrap(inner, (method, [keyId], call) => {
      return method === 'findById' && keyId === first ? null : call();
    });
    const ended = await setUp({ store: gone }).keyring.revokeLineage(second, EVE);
    expect(ended).toContain(second);
    expect(await leftIn(inner)).toEqual([]);
  });
});
