import { inspect } from 'node:util';
import type { IssuedKey, KeyRecord } from 'keyscope';
import { describe, expect, it } from 'vitest';
import { toKeyInfo } from '../../src/management/info.js';
import { issue, OTHER, START, setUp, untyped } from '../support/keyring.ts';
import { RECORD } from '../support/records.ts';

describe('toKeyInfo', () => {
  const ended = {
    ...RECORD,
    expiresAt: START + 1,
    revokedAt: START + 2,
    suspendedAt: START + 3,
    retireAt: START + 4,
    changedAt: START + 5,
    lastUsedAt: START + 6,
    scopesUsed: { 'threats:read': START + 7 },
    withdrawn: [OTHER],
    endedBy: 'eve',
    endReason: 'leaked',
  };
  const shownOf = (record: KeyRecord) => toKeyInfo(record, 'revoked', false);

  it('shows every field except digest and seal, with each time as a Date', () => {
    const { digest: _digest, seal: _seal, ...shown } = ended;
    expect(toKeyInfo(ended, 'revoked', true)).toStrictEqual({
      ...shown,
      state: 'revoked',
      tampered: true,
      createdAt: new Date(1),
      expiresAt: new Date(START + 1),
      revokedAt: new Date(START + 2),
      suspendedAt: new Date(START + 3),
      retireAt: new Date(START + 4),
      changedAt: new Date(START + 5),
      lastUsedAt: new Date(START + 6),
      scopesUsed: { 'threats:read': new Date(START + 7) },
      issuedUnder: null,
      trust: null,
    });
  });

  it('shows a trust as a deep-frozen object', () => {
    const trust = { claims: { repository: 'acme/api' }, subject: 'ci' };
    const shown = shownOf({ ...ended, hint: '', trust: JSON.stringify(trust) });
    expect(shown.trust).toEqual(trust);
    const members: readonly unknown[] = Object.values(shown.trust ?? {});
    expect([shown.trust, ...members].map(Object.isFrozen)).toEqual([true, true, true]);
  });

  const TIMES = [
    'expiresAt',
    'revokedAt',
    'suspendedAt',
    'retireAt',
    'changedAt',
    'lastUsedAt',
  ] as const;

  it('shows null for a missing time, and the epoch for 0', () => {
    const all = (value: unknown) => Object.fromEntries(TIMES.map((name) => [name, value]));
    expect(shownOf(RECORD)).toMatchObject({ ...all(null), scopesUsed: {} });
    expect(shownOf({ ...RECORD, ...all(0) })).toMatchObject(all(new Date(0)));
  });

  it('returns Dates that the caller may change', () => {
    const first = shownOf(ended);
    for (const date of [first.createdAt, first.scopesUsed['threats:read']]) date?.setTime(0);
    expect(shownOf(ended)).toMatchObject({
      createdAt: new Date(1),
      scopesUsed: { 'threats:read': new Date(START + 7) },
    });
  });

  it('shows a scope with the name of a prototype property', () => {
    const scopesUsed = JSON.parse('{"__proto__":5}') as Record<string, number>;
    const shown = shownOf({ ...RECORD, scopesUsed });
    expect(Object.entries(shown.scopesUsed)).toEqual([['__proto__', new Date(5)]]);
    expect(Object.getPrototypeOf(shown.scopesUsed)).toBe(Object.prototype);
  });
});

describe('the plaintext of an issued key', () => {
  const shows: readonly (readonly [string, (issued: IssuedKey) => string])[] = [
    ['String()', (issued) => String(issued)],
    ['a template', (issued) => `${untyped<string>(issued)}`],
    ['JSON', (issued) => JSON.stringify(issued)],
    ['JSON of a copy', (issued) => JSON.stringify({ ...issued })],
    [
      'a structured clone',
      (issued) => inspect(structuredClone(issued), { depth: 9, showHidden: true }),
    ],
    ['entries', (issued) => JSON.stringify([Object.entries(issued), Reflect.ownKeys(issued)])],
    [
      'a for-in loop',
      (issued) => {
        const shown: string[] = [];
        for (const name in issued) shown.push(inspect(Reflect.get(issued, name)));
        return shown.join();
      },
    ],
    ['inspect', (issued) => inspect(issued)],
    [
      'inspect with hidden properties',
      (issued) => inspect(issued, { showHidden: true, depth: Infinity }),
    ],
    ['inspect with getters', (issued) => inspect(issued, { getters: true, depth: Infinity })],
    [
      'inspect with getters and hidden properties',
      (issued) => inspect(issued, { showHidden: true, getters: true, depth: Infinity }),
    ],
    ['inspect of a list', (issued) => inspect([{ issued }], { showHidden: true, depth: Infinity })],
    ['Object.assign', (issued) => inspect(Object.assign({}, issued), { getters: true })],
    [
      'an error about it',
      (issued) => inspect(new Error('failed', { cause: issued }), { depth: Infinity }),
    ],
  ];

  it.each(shows)('is not shown by %s', async (_how, show) => {
    const { keyring } = setUp();
    const issued = await issue(keyring);
    const text = show(issued);
    expect(text).not.toContain(issued.key.slice(5));
    expect(issued.key).toHaveLength(37);
  });

  it('is left out by inspect, which shows only the info', async () => {
    const issued = await issue(setUp().keyring);
    expect(inspect(issued, { getters: true })).toContain(issued.info.keyId);
  });

  it('cannot be replaced on the result', async () => {
    const { keyring } = setUp();
    const issued = await issue(keyring);
    expect(() => Object.assign(issued, { key: 'acme_x' })).toThrow(TypeError);
    expect(() => Object.assign(issued, { info: null })).toThrow(TypeError);
  });
});
