/** The fate of a leaked key, by the action of the source and the state of the key. */
import { createKeyring, type KeyState } from 'keyscope';
import type { LeakAction, LeakSource } from 'keyscope/leaks';
import { describe, expect, it } from 'vitest';
import { AUTHORITY, catalog, HOUR, issue, OWN, PEPPER, PLAIN, rowOf } from '../support/keyring.ts';
import {
  answerOf,
  fromGitLab,
  fromHolder,
  SECRET,
  setUpLeaks,
  TYPE,
} from '../support/leak-reports.ts';

const open = (holder: LeakSource = {}) => setUpLeaks({ holder });

/** Brings a key into each state. */
const MAKE: Readonly<
  Record<string, (at: ReturnType<typeof open>, keyId: string) => Promise<unknown>>
> = {
  live: async () => {},
  suspended: ({ keyring }, keyId) => keyring.suspend(keyId, AUTHORITY),
  retired: async ({ keyring }, keyId) => keyring.rotate(keyId, { overlapMs: 0 }, AUTHORITY),
  revoked: ({ keyring }, keyId) => keyring.revoke(keyId, AUTHORITY),
};

describe('a leaked key', () => {
  it.each<[LeakAction, string, KeyState, number]>([
    ['revoke', 'live', 'revoked', 1],
    ['revoke', 'suspended', 'revoked', 1],
    ['revoke', 'retired', 'retired', 0],
    ['revoke', 'revoked', 'revoked', 0],
    ['revokeLineage', 'live', 'revoked', 1],
    ['revokeLineage', 'suspended', 'revoked', 1],
    ['revokeLineage', 'retired', 'retired', 0],
    ['suspend', 'live', 'suspended', 1],
    ['suspend', 'suspended', 'suspended', 0],
    ['suspend', 'retired', 'retired', 0],
    ['suspend', 'revoked', 'revoked', 0],
    ['tell', 'live', 'live', 0],
    ['tell', 'revoked', 'revoked', 0],
  ])('with the action %s on a %s key, becomes %s', async (action, before, after, ended) => {
    const at = open({ action });
    const { key, info } = await issue(at.keyring);
    await MAKE[before]?.(at, info.keyId);
    const row = await rowOf(at.store, info.keyId);
    at.calls.length = 0;
    expect(await answerOf(at.leaks, fromHolder(key))).toMatchObject({ status: 200 });
    expect(await at.keyring.get(info.keyId, AUTHORITY)).toMatchObject({ state: after });
    expect(at.found).toMatchObject([{ state: before, keyId: info.keyId }]);
    expect(at.found[0]?.ended).toHaveLength(ended);
    if (ended > 0) return;
    expect(at.calls).not.toContain('mark');
    expect(await rowOf(at.store, info.keyId)).toEqual(row);
  });

  it('stays unchanged if it has expired', async () => {
    const at = open();
    const expiresAt = new Date(at.clock.now() + HOUR);
    const { key } = await at.keyring.issue({ ...PLAIN, expiresAt }, AUTHORITY);
    at.clock.advance(HOUR);
    await answerOf(at.leaks, fromHolder(key));
    expect(at.found).toMatchObject([{ state: 'expired', ended: [] }]);
  });

  // An old key in a public history must not end a new one.
  it('ends its successors only if it is live, or with evenIfEnded', async () => {
    for (const [evenIfEnded, expected] of [
      [false, 'live'],
      [true, 'revoked'],
    ] as const) {
      const at = open({ action: 'revokeLineage', evenIfEnded });
      const { key, info } = await issue(at.keyring);
      const next = await at.keyring.rotate(info.keyId, { overlapMs: 0 }, AUTHORITY);
      await answerOf(at.leaks, fromHolder(key));
      expect(await at.keyring.get(next.info.keyId, AUTHORITY)).toMatchObject({ state: expected });
    }
    const at = open({ action: 'revokeLineage' });
    const { key, info } = await issue(at.keyring);
    const next = await at.keyring.rotate(info.keyId, { overlapMs: HOUR }, AUTHORITY);
    await answerOf(at.leaks, fromHolder(key));
    expect(at.found[0]?.ended).toEqual(expect.arrayContaining([info.keyId, next.info.keyId]));
  });

  // Regression: onLeak received a dead key at every report, as often as a stranger sent one.
  it.each(['retired', 'revoked'])('reaches onLeak once if it is %s', async (state) => {
    const at = setUpLeaks({ gitlab: { secret: SECRET, types: [TYPE] }, holder: {} });
    const { key, info } = await issue(at.keyring);
    await MAKE[state]?.(at, info.keyId);
    for (const location of ['a', 'b']) {
      await answerOf(at.leaks, fromHolder(key));
      await answerOf(at.leaks, fromGitLab([{ type: TYPE, token: key, location }]));
    }
    expect(at.found).toMatchObject([{ state, keyId: info.keyId, ended: [] }]);
  });

  it('reaches onLeak again if its successor ends', async () => {
    const gitlab = { secret: SECRET, types: [TYPE] };
    const holder = { action: 'revokeLineage', evenIfEnded: true } as const;
    const at = setUpLeaks({ gitlab, holder });
    const { key, info } = await issue(at.keyring);
    const next = await at.keyring.rotate(info.keyId, { overlapMs: 0 }, AUTHORITY);
    await answerOf(at.leaks, fromGitLab([{ type: TYPE, token: key }]));
    for (let round = 0; round < 2; round += 1) await answerOf(at.leaks, fromHolder(key));
    expect(at.found).toMatchObject([
      { source: 'gitlab', ended: [] },
      { source: 'holder', ended: expect.arrayContaining([next.info.keyId]) as string[] },
    ]);
  });

  it('is revoked even if its row is damaged', async () => {
    const at = open();
    const { key, info } = await issue(at.keyring);
    const row = await rowOf(at.store, info.keyId);
    at.intercept((method, _args, call) => {
      return method === 'findByDigest' ? [{ ...row, seal: 'odd' }] : call();
    });
    await answerOf(at.leaks, fromHolder(key));
    expect(at.found).toMatchObject([{ state: 'damaged', ended: [info.keyId] }]);
  });

  // Regression: the owner never learned of it. A 503 made the reporter send it again in vain.
  it('is reported with what ended, and answered 200, if its lineage is unknown', async () => {
    const at = open({ action: 'revokeLineage', evenIfEnded: true });
    const { key, info } = await issue(at.keyring);
    at.intercept(async (_method, _args, call) => {
      const answer = await call();
      const edited = (row: unknown) =>
        typeof row === 'object' && row !== null ? { ...row, name: 'other' } : row;
      return Array.isArray(answer) ? answer.map(edited) : edited(answer);
    });
    expect(await answerOf(at.leaks, fromHolder(key))).toMatchObject({ status: 200 });
    expect((await rowOf(at.store, info.keyId)).revokedAt).not.toBeNull();
    const { keyId } = info;
    expect(at.found).toMatchObject([{ state: 'damaged', keyId, ended: [keyId] }]);
    expect(at.errors).toEqual([]);
  });

  it('is not reported, and answered 503, if the store fails while its lineage ends', async () => {
    const at = open({ action: 'revokeLineage' });
    const { key } = await issue(at.keyring);
    at.intercept((method, _args, call) => {
      return method === 'mark' ? Promise.reject(new Error('ECONNRESET')) : call();
    });
    expect(await answerOf(at.leaks, fromHolder(key))).toMatchObject({ status: 503 });
    expect(at.found).toEqual([]);
  });

  it('may end during its suspension without an error', async () => {
    const at = open({ action: 'suspend' });
    const { key, info } = await issue(at.keyring);
    at.intercept(async (method, _args, call) => {
      if (method !== 'findById') return call();
      at.intercept((_method, _others, next) => next());
      await at.keyring.revoke(info.keyId, AUTHORITY);
      return call();
    });
    expect(await answerOf(at.leaks, fromHolder(key))).toMatchObject({ status: 200 });
    expect(at.found).toMatchObject([{ state: 'live', ended: [] }]);
    expect(at.errors).toEqual([]);
  });

  // Regression: only the event of the revocation had the actor.
  it('has the actor of its source in every event', async () => {
    const at = open();
    const { key } = await issue(at.keyring);
    at.events.length = 0;
    await answerOf(at.leaks, fromHolder(key));
    expect(at.events).toMatchObject([
      { type: 'key.identified', actor: 'the holder of the key' },
      { type: 'key.revoked', actor: 'the holder of the key' },
    ]);
  });

  it('leads to 503 if the store cannot suspend it', async () => {
    const at = open({ action: 'suspend' });
    const { key } = await issue(at.keyring);
    at.intercept((method, _args, call) => {
      return method === 'mark' ? Promise.reject(new Error('ECONNRESET')) : call();
    });
    expect(await answerOf(at.leaks, fromHolder(key))).toMatchObject({ status: 503 });
    expect(at.errors).toHaveLength(1);
    expect(at.found).toEqual([]);
  });

  it('is looked up only in the keyring of its prefix', async () => {
    const live = open();
    const test = createKeyring({
      prefix: 'acme_test',
      catalog,
      store: live.store,
      peppers: [PEPPER],
      now: live.clock.now,
    });
    const { leaks } = setUpLeaks({ keyrings: { acme: live.keyring, acme_test: test }, holder: {} });
    const { key, info } = await test.issue(PLAIN, AUTHORITY);
    await answerOf(leaks, fromHolder(key));
    expect(await test.get(info.keyId, AUTHORITY)).toMatchObject({ state: 'revoked' });
  });
});

describe('a repeated report', () => {
  const gitlab = { secret: SECRET, types: [TYPE], action: 'suspend' } as const;

  async function suspendedAt(location: string) {
    const at = setUpLeaks({ gitlab, holder: { action: 'suspend' } });
    const { key, info } = await issue(at.keyring);
    const report = (place: string): Request =>
      fromGitLab([{ type: TYPE, token: key, location: place }]);
    await answerOf(at.leaks, report(location));
    const stateOf = async (): Promise<unknown> =>
      (await at.keyring.get(info.keyId, AUTHORITY))?.state;
    expect(await stateOf()).toBe('suspended');
    await at.keyring.resume(info.keyId, AUTHORITY);
    return { ...at, key, report, stateOf };
  }

  // Regression: a report that the operator had already handled suspended the key again.
  it('does not suspend a resumed key again', async () => {
    const { leaks, report, stateOf, found, calls } = await suspendedAt('https://h/a');
    calls.length = 0;
    expect(await answerOf(leaks, report('https://h/a'))).toMatchObject({ status: 204 });
    expect(await stateOf()).toBe('live');
    expect(calls).not.toContain('mark');
    expect(found.map(({ ended }) => ended.length)).toEqual([1, 0]);
  });

  it('counts as new if it names another place, or comes from a holder', async () => {
    const long = 'https://h/'.padEnd(200, 'a/');
    const { leaks, keyring, found, key, report, stateOf } = await suspendedAt(long);
    await answerOf(leaks, report(`${long}b`));
    expect(await stateOf()).toBe('suspended');
    for (let round = 0; round < 2; round += 1) {
      await keyring.resume(String(found[0]?.keyId), AUTHORITY);
      await answerOf(leaks, fromHolder(key));
      expect(await stateOf()).toBe('suspended');
    }
  });

  it('suspends the key if the first report failed', async () => {
    const at = setUpLeaks({ gitlab });
    const { key, info } = await issue(at.keyring);
    const report = (): Request => fromGitLab([{ type: TYPE, token: key }]);
    at.intercept((method, _args, call) => {
      return method === 'mark' ? Promise.reject(new Error('ECONNRESET')) : call();
    });
    expect(await answerOf(at.leaks, report())).toMatchObject({ status: 503 });
    at.intercept((_method, _args, call) => call());
    await answerOf(at.leaks, report());
    expect(await at.keyring.get(info.keyId, AUTHORITY)).toMatchObject({ state: 'suspended' });
  });

  it('is recognised among the last 10,000 reports', async () => {
    const { leaks, keyring, found, report, stateOf, key } = await suspendedAt('first');
    await answerOf(leaks, report('second'));
    const keyId = String(found[0]?.keyId);
    for (let start = 2; start < 10_001; start += 1) await answerOf(leaks, report(`place ${start}`));
    await keyring.resume(keyId, AUTHORITY);
    await answerOf(leaks, report('second'));
    expect(await stateOf()).toBe('live');
    await answerOf(leaks, report('first'));
    expect(await stateOf()).toBe('suspended');
    expect(key).toBeTruthy();
  });
});

describe('the record and events of a leaked key', () => {
  const gitlab = { secret: SECRET, types: [TYPE] };

  async function reportedAt(location: string) {
    const at = setUpLeaks({ gitlab });
    const { key, info } = await issue(at.keyring);
    const place = location.replace('KEY', key);
    await answerOf(at.leaks, fromGitLab([{ type: TYPE, token: key, location: place }]));
    const shown = await at.keyring.get(info.keyId, AUTHORITY);
    return { ...at, key, keyId: info.keyId, shown, where: at.found[0]?.where };
  }

  it('name the actor, the place and the owner', async () => {
    const { events, keyId, shown } = await reportedAt('https://gitlab.example/a');
    expect(shown).toMatchObject({
      endedBy: 'GitLab secret detection',
      endReason: 'found at https://gitlab.example/a',
    });
    expect(events.find(({ type }) => type === 'key.revoked')).toMatchObject({
      keyId,
      entityId: OWN,
      actor: 'GitLab secret detection',
      reason: 'found at https://gitlab.example/a',
    });
  });

  it.each([
    ['https://h/?q=KEY', 'https://h/?q=acme_[redacted]'],
    ['KEY'.padStart(700, 'x/'), null],
    [`https://h/${'\u202e'}gpj.env`, 'https://h/\ufffdgpj.env'],
    ['line\nbreak\u0000', 'line\ufffdbreak\ufffd'],
    ['\ud800half', '\ufffdhalf'],
    [`https://h/${'long/'.repeat(1_000)}`, null],
    ['e\u0301', '\u00e9'],
    ['\u{1f511}'.repeat(300), null],
    // Regression: this place, once cut, looked like a key. The keyring rejects such a reason, so
    // the key stayed alive.
    [`https://h/${'x/'.repeat(65)}/aaa_${'0A9zQ7mK'.repeat(4)}QQQQ`, null],
    [`https://x:ghp_${'a1B2c3D4'.repeat(4)}e5F6@h/`, 'https://x:ghp_[redacted]@h/'],
    // Adjacent keys of another keyring, and a part of a key.
    [
      `acme_test_${'0A9zQ7mK'.repeat(4)}acme_test_${'0A9zQ7mK'.repeat(4)}`,
      'acme_test_[redacted]_test_[redacted]',
    ],
    [`other_${'0A9zQ7mK'.repeat(4).slice(1)}`, 'other_[redacted]'],
  ])('contain no key and no control characters: %j', async (location, expected) => {
    const { where, shown, events, key, errors } = await reportedAt(location);
    expect(errors).toEqual([]);
    if (expected !== null) expect(where).toBe(expected);
    expect(where?.length).toBeLessThanOrEqual(180);
    expect(shown).toMatchObject({ endReason: `found at ${where}`, state: 'revoked' });
    expect(JSON.stringify([where, shown, events])).not.toContain(key.slice(5, 25));
  });

  const hexOf = (one: string): string => one.charCodeAt(0).toString(16).padStart(2, '0');
  const SPELLINGS: readonly (readonly [string, (key: string) => string])[] = [
    ['percent-encoded', (key) => key.replaceAll(/./gs, (one) => `%${hexOf(one)}`)],
    ['partly percent-encoded', (key) => key.replace('_', '%5F')],
    ['percent-encoded twice', (key) => key.replaceAll(/./gs, (one) => `%25${hexOf(one)}`)],
    ['escaped as in JSON', (key) => key.replaceAll(/./gs, (one) => `\\u00${hexOf(one)}`)],
    ['escaped as in HTML', (key) => key.replaceAll(/./gs, (one) => `&#x${hexOf(one)};`)],
    ['written with an HTML entity', (key) => key.replace('_', '&lowbar;')],
    ['split by zero-width characters', (key) => [...key].join('\u200b')],
    ['split by soft hyphens', (key) => [...key].join('%C2%AD')],
    ['in lower case', (key) => key.toLowerCase()],
    ['without its prefix', (key) => key.slice(5)],
    [
      'without its prefix, percent-encoded',
      (key) => key.slice(5).replaceAll(/./gs, (one) => `%${hexOf(one)}`),
    ],
    ['without its beginning', (key) => key.slice(12)],
    ['incomplete', (key) => `${key.slice(9, 15)}!${key.slice(20, 27)}`],
    ['partly escaped', (key) => `${key.slice(0, 14)}%${hexOf(key.charAt(14))}${key.slice(15)}`],
    ['at the cut', (key) => `${'long/'.repeat(34)}${key}`],
    ['at the first cut', (key) => `${'long/'.repeat(143)}${key}`],
    ['after many invisible characters', (key) => `${'\u200b'.repeat(715)}${key}`],
  ];

  const UUID = /[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}/g;

  /**
   * Returns the parts of a key that a place still contains, also after decoding. Only parts with a
   * digit, and none of an id: letters alone may also be part of a word by chance.
   */
  function leftOf(key: string, said: unknown): readonly string[] {
    const text = JSON.stringify(said);
    const plain = text
      .replaceAll(UUID, '')
      .replaceAll(/[^ -~]/g, '')
      .toLowerCase();
    const decoded = plain.replaceAll(
      /%(?:25)?([\da-f]{2})|\\+u00([\da-f]{2})|&#x([\da-f]{2});/g,
      (_, ...codes) =>
        String.fromCharCode(Number(`0x${codes.find((code) => typeof code === 'string')}`)),
    );
    const parts = Array.from({ length: 28 }, (_, start) => key.slice(5 + start, 10 + start));
    return parts.filter((part) => /\d/.test(part) && decoded.includes(part.toLowerCase()));
  }

  // Regression: places with such spellings leaked the key into records and events.
  it.each(SPELLINGS)('contain no key that is %s', async (_, write) => {
    const at = setUpLeaks({ gitlab });
    const { key, info } = await issue(at.keyring);
    const other = await issue(at.keyring);
    const tokens = [key, other.key].map((token) => ({
      type: TYPE,
      token,
      location: `https://h/${write(key)}/${write(other.key)}`,
    }));
    await answerOf(at.leaks, fromGitLab(tokens));
    const shown = await at.keyring.get(info.keyId, AUTHORITY);
    expect(at.errors).toEqual([]);
    expect(at.found).toHaveLength(2);
    expect(at.found[0]?.where).toMatch(/^https:\/\/h\//);
    const said = [at.found.map(({ where }) => where), shown, at.events];
    expect(leftOf(key, said)).toEqual([]);
    expect(leftOf(other.key, said)).toEqual([]);
  });

  it('do not depend on onLeak, whose errors go to onError', async () => {
    for (const onLeak of [() => Promise.reject(new Error('mail')), () => thrown()]) {
      const at = setUpLeaks({ holder: {}, onLeak });
      const { key } = await issue(at.keyring);
      expect(await answerOf(at.leaks, fromHolder(key))).toMatchObject({ status: 200 });
      await new Promise((resolve) => setImmediate(resolve));
      expect(at.errors).toEqual([new Error('mail')]);
    }
    function thrown(): never {
      throw new Error('mail');
    }
  });

  it('reach onLeak frozen and without any part of the key', async () => {
    const at = open();
    const { key, info } = await issue(at.keyring);
    await answerOf(at.leaks, fromHolder(key));
    expect(Object.isFrozen(at.found[0])).toBe(true);
    expect(JSON.stringify(at.found)).not.toContain(info.hint);
  });
});
