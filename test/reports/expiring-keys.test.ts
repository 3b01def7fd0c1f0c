/** The keys of all entities that expire soon. */

import type { CallOptions, ExpiringQuery, KeyRecord, KeyStore, Slice } from 'keyscope';
import { causeOf } from 'keyscope';
import { expiringKeys } from 'keyscope/reports';
import { memoryStore } from 'keyscope/stores/memory';
import { describe, expect, it } from 'vitest';
import {
  AUTHORITY,
  bearer,
  HOUR,
  OTHER,
  PLAIN,
  START,
  setUp,
  storeError,
  THIRD,
  typeError,
  untyped,
} from '../support/keyring.ts';
import { numbered, RECORD } from '../support/records.ts';

const DAY = 24 * HOUR;
const BEFORE = new Date(START + 14 * DAY);
const now = () => START;
const OPTIONS = { before: BEFORE, now };

const numberedRecord = numbered(RECORD);

/** A record that expires this long after the start. */
function expiringIn(number: number, ms: number, given: Partial<KeyRecord> = {}): KeyRecord {
  return { ...numberedRecord(number), expiresAt: START + ms, ...given };
}

/** A store with these records. */
function storeOf(records: readonly KeyRecord[]) {
  const store = memoryStore();
  for (const record of records) store.insert(record);
  return store;
}

type List = (query: ExpiringQuery, options: CallOptions) => unknown;

/** More parts than any test has. A report that kept reading would hang. */
const MAX_PARTS = 1_000;

/** A store that returns any value from `listExpiring`. */
function listing(list: List): KeyStore {
  let parts = 0;
  const listExpiring: List = (...asked) => {
    parts += 1;
    if (parts > MAX_PARTS) throw new Error('asked without an end');
    return list(...asked);
  };
  return {
    ...memoryStore(),
    listExpiring: untyped<NonNullable<KeyStore['listExpiring']>>(listExpiring),
  };
}

const idsOf = (keys: readonly { readonly keyId: string }[]) => keys.map(({ keyId }) => keyId);

describe('expiringKeys', () => {
  it('lists keys of all entities that expire before a time, the next one first', async () => {
    const { keyring, store, clock } = setUp();
    const until = (ms: number) => ({ ...PLAIN, expiresAt: new Date(START + ms) });
    const late = await keyring.issue(until(13 * DAY), { ...AUTHORITY, actor: 'ada' });
    const soon = await keyring.issue(until(DAY), { entityId: OTHER, scopes: 'all' });
    await keyring.issue(PLAIN, AUTHORITY);
    const revoked = await keyring.issue(until(DAY), AUTHORITY);
    await keyring.revoke(revoked.info.keyId, AUTHORITY);
    const suspended = await keyring.issue(until(2 * DAY), { entityId: THIRD, scopes: 'all' });
    await keyring.suspend(suspended.info.keyId, { entityId: THIRD });
    clock.advance(5);
    await keyring.admit(bearer(late.key), { operation: 'whoami' });
    await keyring.flush();
    const keys = await expiringKeys(store, OPTIONS);
    expect(idsOf(keys)).toEqual(idsOf([soon.info, suspended.info, late.info]));
    const { keyId, hint } = late.info;
    expect(keys.at(-1)).toEqual({
      keyId,
      prefix: 'acme',
      hint,
      name: 'ci',
      entityId: AUTHORITY.entityId,
      createdBy: 'ada',
      expiresAt: new Date(START + 13 * DAY),
      retireAt: null,
      lastUsedAt: new Date(START + 5),
    });
    expect(keys[0]).toMatchObject({ createdBy: null, lastUsedAt: null });
  });

  it('excludes both ends of the span, to the millisecond', async () => {
    const span = BEFORE.getTime() - START;
    const store = storeOf([-1, 0, 1, span - 1, span, span + 1].map((ms, n) => expiringIn(n, ms)));
    const found = await expiringKeys(store, OPTIONS);
    const times = found.map((key) => 'expiresAt' in key && key.expiresAt.getTime() - START);
    expect(times).toEqual([1, span - 1]);
  });

  it('omits keys that a rotation has ended, and shows when other rotated keys end', async () => {
    const { keyring, store, clock } = setUp();
    const until = { ...PLAIN, expiresAt: new Date(START + 13 * DAY) };
    const first = await keyring.issue(until, AUTHORITY);
    const forever = { overlapMs: DAY, expiresAt: 'never' } as const;
    await keyring.rotate(first.info.keyId, forever, AUTHORITY);
    const { before } = OPTIONS;
    const asked = () => expiringKeys(store, { before, now: clock.now });
    clock.advance(DAY - 1);
    expect(await asked()).toMatchObject([
      { keyId: first.info.keyId, retireAt: new Date(START + DAY) },
    ]);
    clock.advance(1);
    expect(await asked()).toEqual([]);
  });

  // The report read every key that had ever expired, a thousand at a time, and showed none of them.
  it.each([undefined, new Date(0)])(
    'does not read keys that expired before now: %s',
    async (from) => {
      const past = Array.from({ length: 2_345 }, (_, n) => expiringIn(n, -1 - n));
      const inner = storeOf([...past, expiringIn(5_000, 1)]);
      const read: KeyRecord[] = [];
      const store = listing((query, options) => {
        const slice = inner.listExpiring(query, options) as Slice<KeyRecord>;
        read.push(...slice.items);
        return slice;
      });
      expect(await expiringKeys(store, { ...OPTIONS, from })).toHaveLength(1);
      expect(read).toHaveLength(1);
    },
  );

  it.each([false, true])('begins at `from`, even if the store does not: %s', async (isSlow) => {
    const inner = storeOf([0, 1, DAY, 2 * DAY - 1, 2 * DAY].map((ms, n) => expiringIn(n, ms)));
    const slow = listing(({ from: _from, ...query }) => inner.listExpiring(query));
    const store = isSlow ? slow : inner;
    const within = async (from: number, before: number) => {
      const span = { from: new Date(START + from), before: new Date(START + before) };
      return idsOf(await expiringKeys(store, { ...span, now }));
    };
    const ids = (...numbers: number[]) => numbers.map((n) => numberedRecord(n).keyId);
    // Adjacent spans have each key once.
    expect(await within(DAY, 2 * DAY)).toEqual(ids(2, 3));
    expect(await within(2 * DAY, 3 * DAY)).toEqual(ids(4));
    // Now at the earliest: expired keys need no warning.
    expect(await within(-DAY, DAY)).toEqual(ids(1));
  });

  it.each([false, true])('pages through any number of keys (by promise: %s)', async (isLater) => {
    const records = Array.from({ length: 2_345 }, (_, n) => expiringIn(n, 1 + Math.floor(n / 10)));
    const inner = storeOf(records);
    const asked: (string | null)[] = [];
    const store = listing((query, options) => {
      asked.push(query.after);
      const slice = inner.listExpiring(query, options);
      return isLater ? Promise.resolve(slice) : slice;
    });
    expect(idsOf(await expiringKeys(store, OPTIONS))).toEqual(idsOf(records));
    expect(asked).toHaveLength(3);
    expect(new Set(asked).size).toBe(3);
  });

  // One damaged row hid all keys of its entity from management.
  it('lists unreadable keys among the others, with their state', async () => {
    const damaged = expiringIn(2, 2, { name: untyped<string>(5) });
    const later = expiringIn(3, 3, { format: 2, scopes: untyped<string[]>('a later idea') });
    const store = storeOf([expiringIn(1, 1), damaged, later, expiringIn(4, 4)]);
    const { entityId } = RECORD;
    const keys = await expiringKeys(store, OPTIONS);
    expect(idsOf(keys)).toEqual([1, 2, 3, 4].map((n) => numberedRecord(n).keyId));
    expect(keys[1]).toEqual({ keyId: damaged.keyId, entityId, state: 'damaged' });
    expect(keys[2]).toEqual({ keyId: later.keyId, entityId, state: 'unknown_format' });
  });

  it('lists unreadable keys, unless their deadlines show that they have ended', async () => {
    const broken = { name: untyped<string>(5) };
    const rows = [
      expiringIn(1, 1, { expiresAt: untyped<number>('soon') }),
      expiringIn(2, -1, broken),
      expiringIn(3, 0, broken),
      expiringIn(4, 1, broken),
      expiringIn(5, 1, { ...broken, retireAt: START }),
      expiringIn(6, 1, { ...broken, retireAt: START + 1 }),
      expiringIn(7, 1, { retireAt: untyped<number>('soon') }),
    ];
    const store = listing(() => ({ items: rows, next: null }));
    const expected = [1, 4, 6, 7].map((n) => numberedRecord(n).keyId);
    expect(idsOf(await expiringKeys(store, OPTIONS))).toEqual(expected);
  });

  it('shows only the hint of a key', async () => {
    const store = storeOf([expiringIn(1, 1), expiringIn(2, 2, { name: untyped<string>(5) })]);
    const shown = JSON.stringify(await expiringKeys(store, OPTIONS));
    for (const secret of [RECORD.digest.slice(3), String(RECORD.seal)]) {
      expect(shown).not.toContain(secret);
    }
    expect(shown).not.toContain(numberedRecord(1).digest);
  });

  it('bypasses the cache', async () => {
    const asked: unknown[][] = [];
    const store = listing((...args) => {
      asked.push(args);
      return { items: [], next: null };
    });
    expect(await expiringKeys(store, OPTIONS)).toEqual([]);
    const query = { from: START, before: BEFORE.getTime(), after: null, limit: 1000 };
    expect(asked).toEqual([[query, { signal: expect.any(AbortSignal) as unknown, fresh: true }]]);
  });

  it('uses Date.now by default', async () => {
    const store = storeOf([
      { ...numberedRecord(1), expiresAt: Date.now() - 1 },
      { ...numberedRecord(2), expiresAt: Date.now() + HOUR },
    ]);
    const keys = await expiringKeys(store, { before: new Date(Date.now() + 2 * HOUR) });
    expect(idsOf(keys)).toEqual([numberedRecord(2).keyId]);
  });
});

describe('a store that answers expiringKeys with', () => {
  const item = expiringIn(1, 1);
  const part = (items: unknown, next: unknown = null) => ({ items, next });

  it.each<[string, unknown]>([
    ['nothing', undefined],
    ['null', null],
    ['a list', [item]],
    ['something else instead of a list of items', part({ length: 0 })],
    ['null as an item', part([item, null])],
    ['a hole', part(new Array(1))],
    ['no next', { items: [item] }],
    ['a number as next', part([item], 5)],
    ['more items than the limit', part(Array.from({ length: 1001 }, () => item))],
    ['a key that is revoked', part([{ ...item, revokedAt: 1 }])],
    ['a key that never expires', part([{ ...item, expiresAt: null }])],
    ['a key that expires later', part([{ ...item, expiresAt: BEFORE.getTime() }])],
    ['a row without its key id', part([{ ...item, keyId: 'x' }])],
    ['a row without its entity', part([{ ...item, entityId: null }])],
  ])('%s is broken', async (_what, answer) => {
    for (const list of [() => answer, async () => answer]) {
      const error = await storeError(() => expiringKeys(listing(list), OPTIONS));
      expect(error.message).toMatch(
        /broke its contract|more than it was asked for|without its key/,
      );
    }
  });

  // Two parts that led to each other were read until the time limit, a thousand keys at a time.
  it.each<[string, (after: string | null) => unknown, string]>([
    ['the same part again', () => part([], 'x'), 'the same part again'],
    ['parts in a circle', (after) => part([], after === 'a' ? 'b' : 'a'), 'the same part again'],
  ])('%s is broken', async (_what, answer, said) => {
    for (const list of [answer, async (after: string | null) => answer(after)]) {
      const store = listing(({ after }) => list(after));
      const error = await storeError(() => expiringKeys(store, OPTIONS));
      expect(error.message).toBe(`store.listExpiring returned ${said}`);
    }
  });

  it('an error is broken, with the cause only in causeOf', async () => {
    const down = new Error('down: h1.p1$0123');
    let parts = 0;
    const store = listing(() => {
      parts += 1;
      if (parts === 2) throw down;
      return part([], String(parts));
    });
    const error = await storeError(() => expiringKeys(store, OPTIONS));
    expect(error.message).toBe('store.listExpiring failed: see causeOf');
    expect(causeOf(error)).toBe(down);
  });
});

describe('the time limit of expiringKeys', () => {
  it('ends a call that is not answered', async () => {
    let signal: AbortSignal | undefined;
    const store = listing((_query, options) => {
      signal = options.signal;
      return new Promise(() => {});
    });
    const error = await storeError(() => expiringKeys(store, { ...OPTIONS, timeoutMs: 5 }));
    expect(error.message).toBe('expiringKeys: the store did not answer within 5 ms');
    expect(signal?.aborted).toBe(true);
  });

  it('is for all parts together, and no part is read afterwards', async () => {
    let parts = 0;
    const slices: Slice<KeyRecord>[] = [];
    const store = listing(async () => {
      parts += 1;
      const slice = { items: [], next: String(parts) };
      slices.push(slice);
      await new Promise((resolve) => setTimeout(resolve, 1));
      return slice;
    });
    const error = await storeError(() => expiringKeys(store, { ...OPTIONS, timeoutMs: 20 }));
    expect(error.message).toBe('expiringKeys: the store did not answer within 20 ms');
    const asked = slices.length;
    expect(asked).toBeGreaterThan(1);
    await new Promise((resolve) => setTimeout(resolve, 20));
    expect(slices).toHaveLength(asked);
  });
});

describe('the arguments of expiringKeys', () => {
  it('include a store with listExpiring', async () => {
    const { listExpiring: _listExpiring, ...without } = memoryStore();
    const message = /^expiringKeys: this store lacks the optional method listExpiring/;
    for (const store of [without, {}, null]) {
      await typeError(() => expiringKeys(untyped(store), OPTIONS), message);
    }
  });

  it.each([
    [undefined, /^expiringKeys: pass an object/],
    [{}, /^before: pass a valid Date in the future/],
    [{ before: BEFORE.getTime(), now }, /^before/],
    [{ before: new Date(Number.NaN), now }, /^before/],
    [{ before: new Date(START), now }, /^before/],
    [{ ...OPTIONS, from: START }, /^from: pass a valid Date earlier than `before`/],
    [{ ...OPTIONS, from: null }, /^from/],
    [{ ...OPTIONS, from: new Date(Number.NaN) }, /^from/],
    [{ ...OPTIONS, from: BEFORE }, /^from/],
    [{ ...OPTIONS, now: START }, /^now: pass a function/],
    [{ ...OPTIONS, timeoutMs: 1.5 }, /^timeoutMs: pass a whole number/],
    [{ ...OPTIONS, entityId: OTHER }, /unknown field "entityId"/],
  ])('cannot be %j', async (options, message) => {
    await typeError(() => expiringKeys(memoryStore(), untyped(options)), message);
  });
});
