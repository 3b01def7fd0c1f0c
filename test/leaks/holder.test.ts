/** RFC 7009: anyone who holds a key can end it, and learns nothing by guessing. */
import { generateKey } from 'keyscope';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { eventually } from '../support/eventually.ts';
import { issue, OWN } from '../support/keyring.ts';
import {
  answerOf,
  fromGitLab,
  fromHolder,
  fromHolderAs,
  SECRET,
  setUpLeaks,
  TYPE,
} from '../support/leak-reports.ts';

const open = () => setUpLeaks({ holder: {} });

describe('the route for holders', () => {
  it('ends the key, and answers every other string the same way', async () => {
    const { leaks, keyring, found } = open();
    const { key, info } = await issue(keyring);
    const answer = await answerOf(leaks, fromHolder(key));
    expect(answer).toEqual({ status: 200, body: null, noStore: true });
    await expect(keyring.verify(key)).rejects.toMatchObject({ reason: 'revoked' });
    const others = [
      key,
      generateKey({ prefix: 'acme' }),
      generateKey({ prefix: 'x' }),
      '',
      'a.b.c',
    ];
    for (const token of others) {
      expect(await answerOf(leaks, fromHolder(token)), token).toEqual(answer);
    }
    const { keyId } = info;
    expect(found).toMatchObject([{ source: 'holder', where: null, keyId, ended: [keyId] }]);
    expect(await keyring.get(keyId, { entityId: OWN })).toMatchObject({
      endedBy: 'the holder of the key',
      endReason: 'reported as leaked',
    });
  });

  it('makes no look-up for strings that fail the format or checksum test', async () => {
    const { leaks, calls } = open();
    const key = generateKey({ prefix: 'acme' });
    const tokens = [
      key.slice(1),
      `${key}0`,
      key.toLowerCase(),
      generateKey({ prefix: 'other' }),
      '',
    ];
    for (const token of tokens) await answerOf(leaks, fromHolder(token));
    expect(calls).toEqual([]);
  });

  it.each([
    ['', 'application/x-www-form-urlencoded', 400],
    ['key=x', 'application/x-www-form-urlencoded', 400],
    ['token=x&token=y', 'application/x-www-form-urlencoded', 400],
    ['token=x', 'application/x-www-form-urlencoded; charset=utf-8', 200],
    ['token=x&token_type_hint=unknown', 'APPLICATION/X-WWW-FORM-URLENCODED', 200],
    ['{"token":"x"}', 'application/json', 400],
    ['token=x', 'text/plain', 400],
    ['token=x', 'text/plain; application/x-www-form-urlencoded', 400],
    [`token=${'x'.repeat(8 * 1024)}`, 'application/x-www-form-urlencoded', 413],
  ])('accepts exactly one token in a form: %s as %s', async (body, type, status) => {
    const { leaks } = open();
    const answer = await answerOf(leaks, fromHolderAs(body, type));
    expect(answer).toMatchObject({ status, noStore: true });
    if (status === 400) expect(answer.body).toMatchObject({ error: 'invalid_request' });
  });

  it('answers 503 in an outage, because the key may still be live', async () => {
    const { leaks, errors, intercept } = open();
    intercept(() => Promise.reject(new Error('ECONNRESET')));
    const token = generateKey({ prefix: 'acme' });
    expect(await answerOf(leaks, fromHolder(token))).toMatchObject({ status: 503, noStore: true });
    expect(errors).toHaveLength(1);
  });
});

describe('the route for holders, in a flood', () => {
  afterEach(() => {
    vi.useRealTimers();
  });

  // Anybody can make strings with a valid checksum, and each of them costs a look-up.
  it('looks up four keys at once, lets 1,000 wait, and answers 503 to the others', async () => {
    const { leaks, errors, intercept } = open();
    let inFlight = 0;
    let most = 0;
    const answers: (() => void)[] = [];
    intercept(async () => {
      inFlight += 1;
      most = Math.max(most, inFlight);
      await new Promise<void>((resolve) => answers.push(resolve));
      inFlight -= 1;
      return [];
    });
    const sent = Array.from({ length: 1_100 }, () => {
      return answerOf(leaks, fromHolder(generateKey({ prefix: 'acme' })));
    });
    const ended = Promise.all(sent);
    let isOver = false;
    void ended.then(() => {
      isOver = true;
    });
    while (!isOver) {
      answers.splice(0).forEach((answer) => {
        answer();
      });
      await new Promise((resolve) => setImmediate(resolve));
    }
    const statuses = (await ended).map(({ status }) => status);
    expect(most).toBe(4);
    expect(statuses.filter((status) => status === 200)).toHaveLength(1_004);
    expect(statuses.filter((status) => status === 503)).toHaveLength(96);
    expect(errors).toEqual([]);
    const later = answerOf(leaks, fromHolder('x'));
    expect(await later).toMatchObject({ status: 200 });
  });

  // Regression: all shared one queue, so signed reports and known keys took up to 68 times as long.
  it('does not delay signed reports or known keys', async () => {
    const gitlab = { secret: SECRET, types: [TYPE] };
    const { leaks, keyring, intercept } = setUpLeaks({ holder: {}, gitlab });
    const reported = await issue(keyring);
    const held = await issue(keyring);
    // All look-ups hang for now; those of unknown keys keep hanging.
    const known: (() => void)[] = [];
    const unknown: (() => void)[] = [];
    intercept(async (method, _args, call) => {
      const answer = await call();
      const list = Array.isArray(answer) && answer.length === 0 ? unknown : known;
      if (method === 'findByDigest') await new Promise<void>((resolve) => list.push(resolve));
      return answer;
    });
    // Fake timers, so that no store times out however long this takes.
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    const strangers = Array.from({ length: 30 }, () => generateKey({ prefix: 'acme' }));
    const sentBefore = [...strangers.slice(0, 3), held.key].map((key) => fromHolder(key));
    const before = sentBefore.map((request) => answerOf(leaks, request));
    await eventually(async () => unknown.length === 3 && known.length === 1, 'all slots are taken');
    const sentAfter = strangers.slice(3).map((key) => fromHolder(key));
    const after = sentAfter.map((request) => answerOf(leaks, request));
    await eventually(async () => sentAfter.every(({ bodyUsed }) => bodyUsed), 'all have arrived');
    const token = { type: TYPE, token: reported.key };
    const report = answerOf(leaks, fromGitLab([token]));
    await eventually(async () => known.length === 2, 'the report does not wait for strangers');
    for (const answer of known) answer();
    expect(await report).toMatchObject({ status: 204 });
    expect(await before[3]).toMatchObject({ status: 200 });
    intercept((_method, _args, call) => call());
    for (const { key } of [reported, held]) {
      await expect(keyring.verify(key)).rejects.toMatchObject({ reason: 'revoked' });
    }
    for (const answer of unknown) answer();
    await Promise.all([...before, ...after]);
  });

  it.each(['holders', 'signed reports'])(
    'ends keys for others while four keys of %s are being ended',
    async (those) => {
      const gitlab = { secret: SECRET, types: [TYPE] };
      const { leaks, keyring, intercept } = setUpLeaks({ holder: {}, gitlab });
      const senders = [
        (key: string) => fromHolder(key),
        (key: string) => fromGitLab([{ type: TYPE, token: key }]),
      ] as const;
      const [busy, other] = those === 'holders' ? senders : ([senders[1], senders[0]] as const);
      const slow: (() => void)[] = [];
      intercept(async (method, _args, call) => {
        if (method === 'mark') await new Promise<void>((resolve) => slow.push(resolve));
        return call();
      });
      vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
      const keys = await Promise.all(Array.from({ length: 5 }, () => issue(keyring)));
      const [last, ...first] = keys.map(({ key }) => key);
      const before = first.map((key) => answerOf(leaks, busy(key)));
      await eventually(async () => slow.length === 4, 'all slots are taken');
      const after = answerOf(leaks, other(last ?? ''));
      await eventually(async () => slow.length === 5, 'the other does not wait');
      for (const answer of slow) answer();
      const statuses = (await Promise.all([...before, after])).map(({ status }) => status);
      expect(statuses.filter((status) => status >= 400)).toEqual([]);
    },
  );
});
