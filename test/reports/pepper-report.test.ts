/** The number of live keys under each pepper. */

import type { CallOptions, KeyStore, SchemeSummary } from 'keyscope';
import { causeOf } from 'keyscope';
import { pepperReport } from 'keyscope/reports';
import { memoryStore } from 'keyscope/stores/memory';
import { describe, expect, it } from 'vitest';
import {
  AUTHORITY,
  bearer,
  issue,
  OTHER,
  PEPPER,
  PEPPER_2,
  PLAIN,
  START,
  setUp,
  storeError,
  typeError,
  untyped,
} from '../support/keyring.ts';

/** A store that returns any value from `summarize`. */
function summing(summarize: (...args: readonly unknown[]) => unknown): KeyStore {
  return { ...memoryStore(), summarize: untyped<NonNullable<KeyStore['summarize']>>(summarize) };
}

describe('pepperReport', () => {
  it('counts the live keys under each pepper, and shows when one was last used', async () => {
    const store = memoryStore();
    const first = setUp({ store, peppers: [PEPPER] });
    const used = await issue(first.keyring);
    const suspended = await issue(first.keyring);
    await first.keyring.suspend(suspended.info.keyId, AUTHORITY);
    const ended = await issue(first.keyring);
    await first.keyring.revoke(ended.info.keyId, AUTHORITY);
    await first.keyring.issue(PLAIN, { entityId: OTHER, scopes: 'all' });
    const second = setUp({ store, peppers: [PEPPER_2, PEPPER] });
    second.clock.advance(5);
    await second.keyring.admit(bearer(used.key), { operation: 'whoami' });
    await second.keyring.flush();
    const { now } = second.clock;
    const p1 = { scheme: 'h1.p1', pepper: 'p1', live: 3, lastUsedAt: new Date(START + 5) };
    expect(await pepperReport(store, { now })).toEqual([p1]);
    await issue(second.keyring);
    await issue(setUp({ store, peppers: 'none' }).keyring);
    const p2 = { scheme: 'h1.p2', pepper: 'p2', live: 1, lastUsedAt: null };
    const none = { scheme: 's1', pepper: null, live: 1, lastUsedAt: null };
    expect(await pepperReport(store, { now })).toEqual([p1, p2, none]);
  });

  it('separates keys without a pepper from those under a pepper called s1 or none', async () => {
    const store = memoryStore();
    const schemes = ['none', [{ ...PEPPER, id: 'none' }], [{ ...PEPPER, id: 's1' }]] as const;
    for (const peppers of schemes) await issue(setUp({ store, peppers }).keyring);
    const rows = await pepperReport(store, { now: () => START });
    expect(rows.map(({ scheme, pepper }) => [scheme, pepper])).toEqual([
      ['s1', null],
      ['h1.none', 'none'],
      ['h1.s1', 's1'],
    ]);
  });

  it('counts the keys that are live at the time of the clock', async () => {
    const store = memoryStore();
    const { keyring } = setUp({ store });
    await keyring.issue({ ...PLAIN, expiresAt: new Date(START + 5) }, AUTHORITY);
    expect(await pepperReport(store, { now: () => START + 4 })).toHaveLength(1);
    expect(await pepperReport(store, { now: () => START + 5 })).toEqual([]);
    // By the clock of this machine, the key ended years ago.
    expect(await pepperReport(store)).toEqual([]);
  });

  it('bypasses the cache', async () => {
    const asked: unknown[][] = [];
    const store = summing((...args) => {
      asked.push([...args]);
      return [];
    });
    await pepperReport(store, { now: () => START });
    expect(asked).toEqual([[START, { signal: expect.any(AbortSignal) as unknown, fresh: true }]]);
  });

  // An edited digest can begin with anything, including part of another digest.
  it('shows keys with damaged digests as one row, without any part of the digests', async () => {
    const rows: SchemeSummary[] = [
      { scheme: 'abcdef0123456789', live: 1, lastUsedAt: 5 },
      { scheme: 'h1.p1', live: 2, lastUsedAt: 9 },
      { scheme: '', live: 1, lastUsedAt: null },
      { scheme: 'h1.', live: 1, lastUsedAt: 7 },
      { scheme: 'h1.p1$', live: 1, lastUsedAt: 6 },
    ];
    expect(await pepperReport(summing(() => rows))).toEqual([
      { scheme: 'unknown', pepper: null, live: 4, lastUsedAt: new Date(7) },
      { scheme: 'h1.p1', pepper: 'p1', live: 2, lastUsedAt: new Date(9) },
    ]);
  });

  const row = { scheme: 's1', live: 1, lastUsedAt: null };
  it.each([
    ['null instead of rows', null],
    ['nothing', undefined],
    ['null as a row', [null]],
    ['a hole', new Array(1)],
    ['a count as text', [{ ...row, live: '1' }]],
    ['a negative count', [{ ...row, live: -1 }]],
    ['a fraction as a count', [{ ...row, live: 0.5 }]],
    ['no scheme', [{ live: 1, lastUsedAt: null }]],
    ['a time as text', [{ ...row, lastUsedAt: '2026-01-01' }]],
    ['NaN as a time', [{ ...row, lastUsedAt: Number.NaN }]],
    ['a time beyond the range of a Date', [{ ...row, lastUsedAt: 9e15 }]],
  ])('treats a summary with %s as a broken store', async (_what, rows) => {
    for (const answer of [() => rows, async () => rows]) {
      const error = await storeError(() => pepperReport(summing(answer)));
      expect(error.message).toBe('store.summarize broke its contract; see KeyStore');
    }
  });

  it('treats an outage as a broken store, with the cause only in causeOf', async () => {
    const down = new Error('down: h1.p1$0123');
    const throwing = () => {
      throw down;
    };
    for (const summarize of [throwing, () => Promise.reject(down)]) {
      const error = await storeError(() => pepperReport(summing(summarize)));
      expect(error.message).toBe('store.summarize failed: see causeOf');
      expect(causeOf(error)).toBe(down);
    }
    await storeError(() => pepperReport(memoryStore(), { now: () => Number.NaN }));
  });

  it('ends at its own time limit, and aborts the query', async () => {
    let signal: AbortSignal | undefined;
    const store = summing((_now, options) => {
      signal = (options as CallOptions).signal;
      return new Promise(() => {});
    });
    const error = await storeError(() => pepperReport(store, { timeoutMs: 5 }));
    expect(error.message).toBe('pepperReport: the store did not answer within 5 ms');
    expect(signal?.aborted).toBe(true);
  });

  it('throws if the store lacks summarize', async () => {
    const { summarize: _summarize, ...without } = memoryStore();
    const message = /^pepperReport: this store lacks the optional method summarize/;
    for (const store of [without, { ...without, summarize: true }, {}, null, undefined]) {
      await typeError(() => pepperReport(untyped(store)), message);
    }
  });

  it.each([
    [{ now: START }, /^now: pass a function/],
    [{ timeoutMs: 0 }, /^timeoutMs: pass a whole number from 1 to 3600000/],
    [{ timeoutMs: 3_600_001 }, /^timeoutMs/],
    [{ timeoutMs: null }, /^timeoutMs/],
    [{ before: new Date() }, /unknown field "before"/],
    [null, /^pepperReport: pass an object/],
  ])('refuses %j with a TypeError', async (options, message) => {
    await typeError(() => pepperReport(memoryStore(), untyped(options)), message);
  });
});
