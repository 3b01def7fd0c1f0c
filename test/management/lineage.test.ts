/** Revokes a leaked key, its predecessors and its successors. */
import type { KeyRecord, KeyState, KeyStore } from 'keyscope';
import { memoryStore } from 'keyscope/stores/memory';
import { describe, expect, it } from 'vitest';
import {
  ANSWERING,
  AUTHORITY,
  delayed,
  denied,
  HOUR,
  inputError,
  issue,
  NOWHERE,
  OTHER,
  OWN,
  PLAIN,
  type Ring,
  rowOf,
  START,
  setUp,
  storeError,
  untyped,
  wrap,
} from '../support/keyring.ts';
import { bring, editing, LIFE_NAMES, LIVES } from '../support/lives.ts';
import { keysOf, type Moment, meanwhile } from '../support/managing.ts';
import { outcome } from '../support/outcome.ts';
import { RECORD } from '../support/records.ts';
import { countTurns } from '../support/turns.ts';

const EVE = { ...AUTHORITY, actor: 'eve', reason: 'found on GitHub' } as const;

/** A chain of keys, each rotated from the previous one, all live in their overlaps. */
async function chain(keyring: Ring, length: number) {
  const keys = [await issue(keyring)];
  while (keys.length < length) {
    const { info } = keys.at(-1) as (typeof keys)[number];
    keys.push(await keyring.rotate(info.keyId, { overlapMs: HOUR }, AUTHORITY));
  }
  return keys.map(({ key, info }) => ({ key, keyId: info.keyId }));
}

const idsOf = (keys: readonly { readonly keyId: string }[]) => keys.map(({ keyId }) => keyId);

/** The ids of the keys of the entity that are not revoked. */
async function leftIn(store: KeyStore): Promise<readonly string[]> {
  const rows = await keysOf(store);
  return idsOf(rows.filter(({ revokedAt }) => revokedAt === null));
}

/** Inserts a row that no keyring made. */
async function inject(store: KeyStore, over: Partial<KeyRecord>): Promise<KeyRecord> {
  const keyId = crypto.randomUUID();
  const digest = `s1$${keyId.replaceAll('-', '').repeat(2)}`;
  const record = { ...RECORD, keyId, digest, seal: null, createdAt: START, ...over };
  await store.insert(record);
  return record;
}

/** The states in which the seal of a key vouches for its row. */
const VOUCHED_FOR: readonly KeyState[] = ['revoked', 'suspended', 'retired', 'expired', 'live'];

describe('revokeLineage', () => {
  it.each(ANSWERING)(
    'ends a whole chain from any of its keys, in a store that answers %s',
    async (_how, through) => {
      for (const position of [0, 1, 2, 3]) {
        const { keyring, store, clock, events } = setUp({ store: through(memoryStore()) });
        const keys = await chain(keyring, 4);
        const bystander = await issue(keyring);
        clock.advance(5);
        events.length = 0;
        const { keyId } = keys[position] as (typeof keys)[number];
        const ended = await keyring.revokeLineage(keyId, EVE);
        expect([...ended].sort()).toEqual(idsOf(keys).sort());
        expect(ended[0]).toBe(keyId);
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
        const told = { type: 'key.revoked', time: START + 5, entityUuid: OWN, ...words };
        expect(events).toEqual(ended.map((id) => ({ ...told, keyId: id })));
        expect(await leftIn(store)).toEqual([bystander.info.keyId]);
      }
    },
  );

  it('ends branches from rotations that broke off before they retired the key', async () => {
    const inner = memoryStore();
    const { keyring } = setUp({ store: inner });
    const [root] = await chain(keyring, 1);
    const { keyId = '' } = root ?? {};
    const breaking = wrap(inner, (method, _args, call) => {
      if (method === 'mark') throw new Error('connection lost');
      return call();
    });
    const broken = setUp({ store: breaking }).keyring;
    for (const _attempt of [1, 2]) {
      await storeError(() => broken.rotate(keyId, { overlapMs: HOUR }, AUTHORITY));
    }
    const branch = (await keysOf(inner)).find(({ rotatedFrom }) => rotatedFrom === keyId);
    await keyring.rotate(branch?.keyId ?? '', { overlapMs: HOUR }, AUTHORITY);
    await keyring.rotate(keyId, { overlapMs: HOUR }, AUTHORITY);
    const all = await leftIn(inner);
    expect(all).toHaveLength(5);
    const ended = await keyring.revokeLineage(branch?.keyId ?? '', EVE);
    expect([...ended].sort()).toEqual([...all].sort());
    expect(await leftIn(inner)).toEqual([]);
  });

  it('returns only the keys that it ended, not those that were revoked before', async () => {
    const { keyring, store, clock } = setUp();
    const keys = await chain(keyring, 3);
    const [first = '', second = '', third = ''] = idsOf(keys);
    await keyring.revoke(second, { ...AUTHORITY, actor: 'ada' });
    clock.advance(1);
    expect([...(await keyring.revokeLineage(second, EVE))].sort()).toEqual([first, third].sort());
    expect((await rowOf(store, second)).endedBy).toBe('ada');
    expect(await keyring.revokeLineage(first, EVE)).toEqual([]);
    expect((await rowOf(store, first)).revokedAt).toBe(START + 1);
  });

  // On SQLite, 1,000 keys kept the whole process waiting for a quarter of a second.
  it('lets other work run while it ends many keys', async () => {
    const { keyring } = setUp();
    const keys = await chain(keyring, 110);
    const { keyId } = keys[0] as (typeof keys)[number];
    const { result, turns } = await countTurns(() => keyring.revokeLineage(keyId, EVE));
    expect(result).toHaveLength(110);
    expect(turns).toBeGreaterThanOrEqual(2);
  });

  it('is idempotent for concurrent callers: exactly one of them ends each key', async () => {
    const { keyring, events } = setUp({ store: delayed(memoryStore()) });
    const keys = await chain(keyring, 3);
    events.length = 0;
    const calls = keys.map(({ keyId }) => keyring.revokeLineage(keyId, EVE));
    const ended = (await Promise.all(calls)).flat();
    expect(ended.sort()).toEqual(idsOf(keys).sort());
    expect(events).toHaveLength(3);
  });

  it.each(LIFE_NAMES)('ends the lineage of a key that is %s', async (name) => {
    const { keyring, events, inner, keyId } = await bring(name);
    const before = await leftIn(inner);
    if (!VOUCHED_FOR.includes(LIVES[name].state)) {
      // Its row leads to other keys, but nothing vouches for it, so the result may be incomplete.
      const { message } = await storeError(() => keyring.revokeLineage(keyId, EVE));
      expect(message).toContain(`key ${keyId} is revoked, but its row is untrusted`);
      expect(await leftIn(inner)).toEqual([]);
      events.length = 0;
      await storeError(() => keyring.revokeLineage(keyId, EVE));
      expect(events.filter(({ type }) => type !== 'management.denied')).toEqual([]);
      return;
    }
    const ended = await keyring.revokeLineage(keyId, EVE);
    expect([...ended].sort()).toEqual([...before].sort());
    expect(ended.includes(keyId)).toBe(LIVES[name].state !== 'revoked');
    expect(await leftIn(inner)).toEqual([]);
  });

  it('denies another entity’s key, and ends nothing', async () => {
    const { keyring, store, events } = setUp();
    const [key] = await chain(keyring, 2);
    events.length = 0;
    const authority = { entityUuid: OTHER, entities: [OWN] };
    const act = () => keyring.revokeLineage(key?.keyId ?? '', authority);
    await denied(act, 'not_found', 'foreign_key');
    await denied(() => keyring.revokeLineage(NOWHERE, EVE), 'not_found', 'no_such_key');
    await inputError(
      () => keyring.revokeLineage(untyped(7), EVE),
      'keyId',
      /^keyId: pass a string/,
    );
    expect(events.map(({ type }) => type)).toEqual(Array(2).fill('management.denied'));
    expect(await leftIn(store)).toHaveLength(2);
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
      const { keyring } = setUp({ store: inner });
      const keys = await chain(keyring, 3);
      const ids = idsOf(keys);
      const through = setUp({ store: editing(inner, ids[damaged] ?? '', edit) }).keyring;
      const act = () => through.revokeLineage(ids[0] ?? '', EVE);
      // The seal does not cover a suspension.
      if (damaged === 0 && !('suspendedAt' in edit)) await storeError(act);
      else expect([...(await act())].sort()).toEqual([...ids].sort());
      expect(await leftIn(inner)).toEqual([]);
    }
  });

  it('do not keep the requested key alive, whatever the state of its root', async () => {
    for (const rootKeyId of [NOWHERE, 'none', null, 7, '']) {
      const inner = memoryStore();
      const { keyring } = setUp({ store: inner });
      const [root, second] = idsOf(await chain(keyring, 2));
      const through = (id = '') => setUp({ store: editing(inner, id, { rootKeyId }) }).keyring;
      await storeError(() => through(second).revokeLineage(second ?? '', EVE));
      await storeError(() => through(root).revokeLineage(root ?? '', EVE));
      expect(await leftIn(inner)).toEqual([]);
    }
  });

  it('stay if they have another entity or another prefix', async () => {
    const { keyring, store } = setUp();
    const [first, second] = idsOf(await chain(keyring, 2));
    const shared = { rootKeyId: first ?? '', rotatedFrom: first ?? '' };
    const foreign = await inject(store, {
      ...shared,
      entityUuid: OTHER,
      accessibleEntities: [OTHER, OWN],
    });
    const elsewhere = await inject(store, { ...shared, prefix: 'acme_eu' });
    const own = await inject(store, shared);
    const ended = await keyring.revokeLineage(first ?? '', EVE);
    expect([...ended].sort()).toEqual([first, second, own.keyId].sort());
    expect(await rowOf(store, foreign.keyId)).toEqual(foreign);
    expect(await rowOf(store, elsewhere.keyId)).toEqual(elsewhere);
  });
});

describe('a concurrent rotation', () => {
  const moments: readonly Moment[] = [
    { when: 'before', method: 'findById' },
    { when: 'after', method: 'findById' },
    { when: 'before', method: 'mark' },
    { when: 'after', method: 'mark' },
    { when: 'before', method: 'listLineage' },
    { when: 'after', method: 'listLineage' },
    { when: 'before', method: 'mark', nth: 2 },
    { when: 'after', method: 'mark', nth: 2 },
    { when: 'before', method: 'listLineage', nth: 2 },
  ];

  it.each(moments)('leaves no live key if it rotates the newest key at %j', async (moment) => {
    const inner = memoryStore();
    const { keyring } = setUp({ store: inner });
    const keys = await chain(keyring, 2);
    const [first = '', newest = ''] = idsOf(keys);
    let made = 0;
    const rotate = async () => {
      const rotated = await outcome(() => keyring.rotate(newest, { overlapMs: HOUR }, AUTHORITY));
      if (rotated === 'passed') made += 1;
    };
    const { keyring: revoking } = setUp({ store: meanwhile(inner, moment, rotate) });
    const ended = await revoking.revokeLineage(first, EVE);
    expect(await leftIn(inner)).toEqual([]);
    expect(ended).toHaveLength(2 + made);
  });

  // The rotation has read the row, and writes only after the whole lineage has ended.
  it.each(['insert', 'mark'] as const)(
    'leaves no live key if it sleeps before its %s',
    async (method) => {
      const inner = memoryStore();
      const { keyring } = setUp({ store: inner });
      const [{ keyId } = { keyId: '' }] = await chain(keyring, 1);
      let ended: readonly string[] = [];
      const revoke = async () => {
        ended = await keyring.revokeLineage(keyId, EVE);
      };
      const { keyring: rotating } = setUp({
        store: meanwhile(inner, { when: 'before', method }, revoke),
      });
      const act = () => rotating.rotate(keyId, { overlapMs: HOUR }, AUTHORITY);
      await denied(act, 'conflict', 'already_ended');
      expect(await leftIn(inner)).toEqual([]);
      expect(ended).toHaveLength(method === 'insert' ? 1 : 2);
    },
  );

  it('leaves no live key if it continues for many passes', async () => {
    const inner = memoryStore();
    const { keyring } = setUp({ store: inner });
    const [{ keyId } = { keyId: '' }] = await chain(keyring, 1);
    let passes = 0;
    const busy = wrap(inner, async (method, _args, call) => {
      if (method !== 'listLineage' || passes >= 50) return call();
      passes += 1;
      await inject(inner, { rootKeyId: keyId, rotatedFrom: keyId });
      return call();
    });
    const ended = await setUp({ store: busy }).keyring.revokeLineage(keyId, EVE);
    expect(ended).toHaveLength(51);
    expect(await leftIn(inner)).toEqual([]);
  });
});

describe('a broken store', () => {
  it('causes an error instead of an endless loop if it never shows its own writes', async () => {
    const inner = memoryStore();
    const [{ keyId } = { keyId: '' }] = await chain(setUp({ store: inner }).keyring, 2);
    const stale = await inner.listLineage(keyId);
    let calls = 0;
    const behind = wrap(inner, (method, _args, call) => {
      calls += 1;
      if (method === 'listLineage') return stale;
      return method === 'mark' ? true : call();
    });
    const act = () => setUp({ store: behind }).keyring.revokeLineage(keyId, EVE);
    const { message } = await storeError(act);
    expect(message).toBe('store.listLineage does not see revocations; see KeyStore');
    expect(calls).toBeLessThan(500);
  });

  it('causes an error immediately if it wrote nothing', async () => {
    const inner = memoryStore();
    const [{ keyId } = { keyId: '' }] = await chain(setUp({ store: inner }).keyring, 2);
    const silent = wrap(inner, (method, _args, call) => (method === 'mark' ? false : call()));
    const { keyring, events } = setUp({ store: silent });
    const { message } = await storeError(() => keyring.revokeLineage(keyId, EVE));
    expect(message).toBe('store.mark broke its contract; see KeyStore');
    expect(events).toEqual([]);
  });

  it.each([null, undefined, {}, [null], [7], new Array(1)])(
    'causes an error if the lineage is %j',
    async (answer) => {
      const inner = memoryStore();
      const { keyring, info } = await withKey(inner, answer);
      await storeError(() => keyring.revokeLineage(info.keyId, EVE));
    },
  );

  async function withKey(inner: KeyStore, answer: unknown) {
    const { info } = await setUp({ store: inner }).keyring.issue(PLAIN, AUTHORITY);
    const odd = wrap(inner, (method, _args, call) =>
      method === 'listLineage' ? untyped(answer) : call(),
    );
    return { keyring: setUp({ store: odd }).keyring, info };
  }

  it('can be called again after it failed in the middle', async () => {
    const inner = memoryStore();
    const ids = idsOf(await chain(setUp({ store: inner }).keyring, 4));
    let marks = 0;
    const failing = wrap(inner, (method, _args, call) => {
      if (method === 'mark') marks += 1;
      if (marks === 3) throw new Error('connection lost');
      return call();
    });
    const act = () => setUp({ store: failing }).keyring.revokeLineage(ids[0] ?? '', EVE);
    await storeError(act);
    const left = await leftIn(inner);
    expect(left).toHaveLength(2);
    const again = await setUp({ store: inner }).keyring.revokeLineage(ids[0] ?? '', EVE);
    expect([...again].sort()).toEqual([...left].sort());
  });
});
