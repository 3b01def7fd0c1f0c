import type { KeyStore, SchemeSummary } from 'keyscope';
import { memoryStore } from 'keyscope/stores/memory';
import { describe, expect, it } from 'vitest';
import {
  AUTHORITY,
  bearer,
  HOUR,
  issue,
  OTHER,
  PEPPER,
  PEPPER_2,
  PLAIN,
  policy,
  START,
  setUp,
  storeError,
  untyped,
  wrap,
} from '../support/keyring.ts';

describe('pepperReport', () => {
  const ring = (
    store: KeyStore,
    peppers: 'none' | (typeof PEPPER | typeof PEPPER_2)[],
    more = {},
  ) => setUp({ store, peppers, ...more });
  const none = { live: 0, lastUsedAt: null };

  it('counts the live keys under each pepper, and says when one was last used', async () => {
    const store = memoryStore();
    const first = ring(store, [PEPPER]);
    const used = await issue(first.keyring);
    await issue(first.keyring);
    const ended = await issue(first.keyring);
    await first.keyring.revoke(ended.info.keyId, AUTHORITY);
    await first.keyring.issue(PLAIN, { entityUuid: OTHER });
    const second = ring(store, [PEPPER_2, PEPPER]);
    second.clock.advance(5);
    await second.keyring.admit(bearer(used.key), { policy, operation: 'whoami' });
    const p1 = {
      scheme: 'h1.p1',
      pepper: 'p1',
      live: 3,
      lastUsedAt: new Date(START + 5),
      accepted: true,
    };
    const p2 = { scheme: 'h1.p2', pepper: 'p2', ...none, accepted: true };
    expect(await second.keyring.pepperReport()).toEqual([p1, p2]);
    await issue(second.keyring);
    expect(await second.keyring.pepperReport()).toEqual([p1, { ...p2, live: 1 }]);
    // Taken out: its keys are live in the store alone.
    const third = ring(store, [PEPPER_2]);
    expect(await third.keyring.pepperReport()).toEqual([
      { ...p1, accepted: false },
      { ...p2, live: 1 },
    ]);
  });

  it('tells keys without a pepper from those under a pepper called none', async () => {
    const store = memoryStore();
    await issue(ring(store, 'none').keyring);
    const plain = { scheme: 's1', pepper: null, live: 1, lastUsedAt: null };
    expect(await ring(store, 'none').keyring.pepperReport()).toEqual([
      { ...plain, accepted: true },
    ]);
    const called = ring(store, [untyped<typeof PEPPER>({ ...PEPPER, id: 'none' })]);
    const row = { scheme: 'h1.none', pepper: 'none', ...none, accepted: true };
    expect(await called.keyring.pepperReport()).toEqual([{ ...plain, accepted: false }, row]);
  });

  it('says whether keys without a pepper are accepted, to the millisecond', async () => {
    const store = memoryStore();
    await issue(ring(store, 'none').keyring);
    const { keyring, clock } = ring(store, [PEPPER], {
      insecureAcceptUnpeppered: { until: new Date(START + 1) },
    });
    const accepted = async () =>
      (await keyring.pepperReport()).map(({ scheme, accepted }) => [scheme, accepted]);
    expect(await accepted()).toEqual([
      ['s1', true],
      ['h1.p1', true],
    ]);
    clock.advance(1);
    expect(await accepted()).toEqual([
      ['s1', false],
      ['h1.p1', true],
    ]);
  });

  it.each([
    ['no list of rows', null],
    ['null for a row', [null]],
    ['a count as text', [{ scheme: 's1', live: '1', lastUsedAt: null }]],
    ['no scheme', [{ live: 1, lastUsedAt: null }]],
    ['a time as text', [{ scheme: 's1', live: 1, lastUsedAt: '2026-01-01' }]],
    ['no time for a time', [{ scheme: 's1', live: 1, lastUsedAt: Number.NaN }]],
  ])('treats a summary with %s as a broken store', async (_what, rows) => {
    const store = { ...memoryStore(), summarize: () => untyped<SchemeSummary[]>(rows) };
    await storeError(() => setUp({ store }).keyring.pepperReport());
  });

  it('asks the store for what is live by its own clock', async () => {
    const times: unknown[] = [];
    const store = wrap(memoryStore(), (method, args, call) => {
      if (method === 'summarize') times.push(...args);
      return call();
    });
    const { keyring, clock } = setUp({ store });
    clock.advance(7);
    await keyring.pepperReport();
    expect(times).toEqual([START + 7]);
  });

  it('counts usage that this process has noted and not written yet', async () => {
    const { keyring, clock } = setUp();
    const { key } = await issue(keyring);
    clock.advance(HOUR);
    await keyring.admit(bearer(key), { policy, operation: 'list' });
    expect(await keyring.pepperReport()).toMatchObject([{ lastUsedAt: new Date(START + HOUR) }]);
  });

  it('rejects while usage cannot be written', async () => {
    const down = wrap(memoryStore(), (method, _args, call) => {
      if (method === 'touch') throw new Error('down');
      return call();
    });
    const { keyring } = setUp({ store: down });
    const { key } = await issue(keyring);
    await keyring.admit(bearer(key), { policy, operation: 'list' });
    await storeError(() => keyring.pepperReport());
  });

  it('names the peppers in the store first, then the accepted ones without keys', async () => {
    const rows = [
      { scheme: 'h1.gone', live: 2, lastUsedAt: null },
      { scheme: 's1', live: 1, lastUsedAt: 0 },
    ];
    const store = { ...memoryStore(), summarize: () => rows };
    expect(await ring(store, [PEPPER_2, PEPPER]).keyring.pepperReport()).toEqual([
      { scheme: 'h1.gone', pepper: 'gone', live: 2, lastUsedAt: null, accepted: false },
      { scheme: 's1', pepper: null, live: 1, lastUsedAt: new Date(0), accepted: false },
      { scheme: 'h1.p2', pepper: 'p2', ...none, accepted: true },
      { scheme: 'h1.p1', pepper: 'p1', ...none, accepted: true },
    ]);
  });
});
