/** The rights of a key that makes a call: which keys it may hand out or revive. */
import type { DenialReason, KeyStore } from 'keyscope';
import { memoryStore } from 'keyscope/stores/memory';
import { describe, expect, it } from 'vitest';
import {
  AUTHORITY,
  denied,
  HOUR,
  issue,
  NOWHERE,
  OTHER,
  OWN,
  PEPPER_2,
  PLAIN,
  type Ring,
  rowOf,
  START,
  setUp,
  tampering,
  typeError,
  untyped,
} from '../support/keyring.ts';
import { chain, idsOfChain, issueUnder, OVERLAP, rotated, under } from '../support/lineages.ts';
import { keysOf, refusalsIn } from '../support/managing.ts';

const EXPIRY = START + 9 * HOUR;
const EXPIRING = { ...PLAIN, expiresAt: new Date(EXPIRY) } as const;

type Setting = Awaited<ReturnType<typeof arrange>>;

/** A key that expires, a live key and a suspended key that it issued, and other keys. */
async function arrange() {
  const ring = setUp();
  const { keyring } = ring;
  const { info } = await keyring.issue(EXPIRING, AUTHORITY);
  const { keyId } = info;
  const child = await keyring.issue(EXPIRING, under(keyId));
  const suspended = await keyring.issue(EXPIRING, under(keyId));
  await keyring.suspend(suspended.info.keyId, AUTHORITY);
  return { ...ring, keyId, childId: child.info.keyId, suspendedId: suspended.info.keyId };
}

/** The calls that hand out or revive a key, as this key may make them. */
const CALLS: Readonly<Record<string, (given: Setting, keyring?: Ring) => Promise<unknown>>> = {
  issue: ({ keyId, keyring, clock }, through = keyring) => {
    const expiresAt = new Date(Math.max(EXPIRY, clock.now() + 1));
    return through.issue({ ...PLAIN, expiresAt }, under(keyId));
  },
  rotate: ({ keyId, keyring }, through = keyring) => through.rotate(keyId, OVERLAP, under(keyId)),
  resume: ({ keyId, keyring, suspendedId }, through = keyring) =>
    through.resume(suspendedId, under(keyId)),
};

/** Asserts that a call writes nothing, and that its refusal is the only event. */
async function refused(
  given: Pick<Setting, 'store' | 'events'>,
  act: () => Promise<unknown>,
  ...expected: Parameters<typeof denied> extends [unknown, ...infer Rest] ? Rest : never
) {
  const before = await keysOf(given.store);
  given.events.length = 0;
  const error = await denied(act, ...expected);
  expect(await keysOf(given.store)).toEqual(before);
  const [, denialReason] = expected;
  expect(refusalsIn(given.events)).toMatchObject([{ denialReason }]);
  expect(given.events).toHaveLength(1);
  return error;
}

describe.each(Object.entries(CALLS))('%s under a key', (_name, call) => {
  it('passes if the key is live', async () => {
    await call(await arrange());
  });

  it.each<readonly [DenialReason, (given: Setting) => unknown]>([
    ['revoked', ({ keyring, keyId }) => keyring.revoke(keyId, AUTHORITY)],
    ['suspended', ({ keyring, keyId }) => keyring.suspend(keyId, AUTHORITY)],
    ['expired', ({ clock }) => clock.set(EXPIRY)],
    ['retired', ({ keyring, keyId }) => keyring.rotate(keyId, { overlapMs: 0 }, AUTHORITY)],
  ])('is refused if the key is %s', async (reason, end) => {
    const given = await arrange();
    await end(given);
    await refused(given, () => call(given), 'invalid_token', reason);
  });

  it.each<readonly [DenialReason, string, object]>([
    ['record_tampered', 'edited', { name: 'other' }],
    ['record_tampered', 'without its seal', { seal: null }],
    ['unknown_format', 'of a later format', { format: 2 }],
    ['unknown_key', 'of another prefix', { prefix: 'other' }],
  ])('is refused with %s if the row of the key is %s', async (reason, _what, edit) => {
    const given = await arrange();
    const store = tampering(given.store, (row) =>
      row.keyId === given.keyId ? { ...row, ...edit } : row,
    );
    const through = setUp({ store, now: given.clock.now });
    const both = { store: given.store, events: through.events };
    await refused(both, () => call(given, through.keyring), 'invalid_token', reason);
  });

  it('is refused if the pepper of the key was removed', async () => {
    const given = await arrange();
    const { store, clock } = given;
    const later = setUp({ store, now: clock.now, peppers: [PEPPER_2] });
    await refused(later, () => call(given, later.keyring), 'invalid_token', 'orphaned');
  });

  it('is refused if there is no such key, or another entity has it', async () => {
    const given = await arrange();
    const unknown = { ...given, keyId: NOWHERE };
    await refused(given, () => call(unknown), 'invalid_token', 'unknown_key');
    const theirs = await given.keyring.issue(PLAIN, { ...AUTHORITY, entityId: OTHER });
    const foreign = { ...given, keyId: theirs.info.keyId };
    await refused(given, () => call(foreign), 'not_found', 'foreign_key');
  });

  // A chain whose first key was revoked could still be renewed from any other of its keys.
  it('is refused if the first key of its chain was revoked, but a person may call', async () => {
    const given = await arrange();
    const keyId = await rotated(given.keyring, given.keyId);
    await given.keyring.revoke(given.keyId, AUTHORITY);
    await refused(given, () => call({ ...given, keyId }), 'conflict', 'issuer_ended');
    await given.keyring.rotate(keyId, OVERLAP, AUTHORITY);
    await given.keyring.resume(given.suspendedId, AUTHORITY);
  });
});

describe('authority.keyId', () => {
  it('is read past a cache, with the first rows of its chain and of its issuer', async () => {
    const { keyring, store } = setUp();
    const [first = '', second = ''] = await idsOfChain(keyring, 2);
    const child = await issueUnder(keyring, second);
    const renewed = await rotated(keyring, child);
    const read: string[] = [];
    const findById: KeyStore['findById'] = (keyId, options) => {
      if (options?.fresh === true) read.push(keyId);
      return store.findById(keyId, options);
    };
    const through = setUp({ store: { ...store, findById } }).keyring;
    await through.rotate(renewed, OVERLAP, under(renewed));
    expect(read).toEqual([renewed, child, first, renewed, renewed, child, first]);
  });

  it.each([7, '', 'x', OWN.toUpperCase(), {}])('causes a TypeError if it is %j', async (keyId) => {
    const act = () => setUp().keyring.issue(PLAIN, untyped({ ...AUTHORITY, keyId }));
    await typeError(act, /^authority\.keyId: pass a UUID in lower case/);
  });

  it('does not matter to calls that end, show or withdraw', async () => {
    const { keyring, store } = setUp();
    const [keyId = ''] = await idsOfChain(keyring, 1);
    const authority = under(NOWHERE);
    await keyring.suspend(keyId, authority);
    await keyring.revoke(keyId, authority);
    await keyring.revokeLineage(keyId, authority);
    expect(await keyring.get(keyId, authority)).toMatchObject({ state: 'revoked' });
    expect((await keyring.list({}, authority)).keys).toHaveLength(1);
    const wide = { ...AUTHORITY, entities: [OTHER] };
    const { info } = await keyring.issue({ ...PLAIN, accessibleEntities: [OTHER] }, wide);
    await keyring.withdraw(info.keyId, { ...authority, entityId: OTHER });
    expect((await rowOf(store, info.keyId)).withdrawn).toEqual([OTHER]);
  });
});

describe('a key that another key issued', () => {
  it('issues nothing, also after a rotation by a person', async () => {
    const given = await arrange();
    const { keyring, childId } = given;
    const ids = [childId, await rotated(keyring, childId)];
    for (const keyId of ids) {
      const act = () => keyring.issue(EXPIRING, under(keyId));
      const error = await refused(given, act, 'ceiling_exceeded', 'issued_by_key');
      expect(error.message).toBe('A key that another key issued cannot issue keys.');
      expect(error.keyId).toBe(keyId);
    }
  });

  it('renews itself, and suspends and ends keys', async () => {
    const { keyring, childId, suspendedId } = await arrange();
    const next = await keyring.rotate(childId, OVERLAP, under(childId));
    await keyring.suspend(next.info.keyId, under(next.info.keyId));
    await keyring.revoke(suspendedId, under(childId));
    await keyring.revokeLineage(childId, under(childId));
  });
});

describe('rotate under a key', () => {
  it('takes every key of its own chain', async () => {
    const { keyring } = setUp();
    const [first = '', second = ''] = await idsOfChain(keyring, 2);
    const input = { ...OVERLAP, expiresAt: new Date(START + HOUR) };
    const third = await keyring.rotate(second, input, under(first));
    await keyring.rotate(third.info.keyId, OVERLAP, under(third.info.keyId));
  });

  // Renewing a key of others gave its text, and so other rights, to a key that only manages keys.
  it('takes no key of another chain, not even one that it issued', async () => {
    const given = await arrange();
    const { keyring, keyId, childId } = given;
    const stranger = await issue(keyring);
    const pairs = [
      [childId, keyId],
      [stranger.info.keyId, keyId],
      [keyId, childId],
    ] as const;
    for (const [other, acting] of pairs) {
      const act = () => keyring.rotate(other, OVERLAP, under(acting));
      const error = await refused(given, act, 'ceiling_exceeded', 'foreign_chain');
      expect(error.message).toMatch(/^A key can rotate only its own chain/);
      expect(error.keyId).toBe(other);
    }
  });
});

describe('resume under a key', () => {
  it('takes what its chain issued, also after rotations of either', async () => {
    const { keyring, keyId, suspendedId, childId } = await arrange();
    const next = await rotated(keyring, keyId);
    await keyring.resume(suspendedId, under(next));
    const later = await rotated(keyring, childId);
    await keyring.suspend(later, AUTHORITY);
    await keyring.resume(later, under(next));
    expect(await keyring.get(later, AUTHORITY)).toMatchObject({ state: 'live' });
  });

  // A leaked key took back into use what was suspended in doubt, among them its own successor.
  it('takes neither its own chain nor what it did not issue', async () => {
    const given = await arrange();
    const { keyring, keyId, childId, suspendedId } = given;
    const { info } = await issue(keyring);
    const next = await rotated(keyring, keyId);
    for (const id of [info.keyId, next]) await keyring.suspend(id, AUTHORITY);
    const pairs = [
      [info.keyId, keyId],
      [next, keyId],
      [suspendedId, childId],
    ] as const;
    for (const [other, acting] of pairs) {
      const act = () => keyring.resume(other, under(acting));
      const error = await refused(given, act, 'ceiling_exceeded', 'foreign_chain');
      expect(error.keyId).toBe(other);
    }
  });
});

describe('the row of the key that makes the call', () => {
  const lateBy = (ms: number) => ({ ...PLAIN, expiresAt: new Date(EXPIRY + ms) });

  it('is the latest end of what it issues, also where the authority says more', async () => {
    const given = await arrange();
    const { keyring, keyId } = given;
    const authority = { ...under(keyId), notAfter: new Date(EXPIRY + HOUR), maxLifetimeMs: 1e14 };
    await keyring.issue(lateBy(0), authority);
    for (const input of [lateBy(1), PLAIN]) {
      const act = () => keyring.issue(input, authority);
      const error = await refused(given, act, 'ceiling_exceeded', 'lifetime_beyond_authority');
      expect(error.excess).toEqual(['expiresAt']);
      expect(error.message).toContain(new Date(EXPIRY).toISOString());
    }
    const less = { ...authority, notAfter: new Date(EXPIRY - 1) };
    const act = () => keyring.issue(lateBy(0), less);
    await refused(given, act, 'ceiling_exceeded', 'lifetime_beyond_authority');
  });

  it('ends what it issues or rotates no later than the end of its overlap', async () => {
    const given = setUp();
    const { keyring } = given;
    const [first, second] = await chain(keyring, 2);
    const authority = under(first?.keyId ?? '');
    const at = (ms: number) => ({ expiresAt: new Date(START + HOUR + ms) });
    const refusal = ['ceiling_exceeded', 'lifetime_beyond_authority'] as const;
    await keyring.issue({ ...PLAIN, ...at(0) }, authority);
    await refused(given, () => keyring.issue({ ...PLAIN, ...at(1) }, authority), ...refusal);
    const rotate = (more: object) =>
      keyring.rotate(second?.keyId ?? '', { ...OVERLAP, ...more }, authority);
    for (const more of [{}, at(1)]) await refused(given, () => rotate(more), ...refusal);
    await rotate(at(0));
  });

  it('gives no access to an entity that has withdrawn from it', async () => {
    const given = setUp();
    const { keyring } = given;
    const input = { ...PLAIN, accessibleEntities: [OTHER] };
    const { info } = await keyring.issue(input, { ...AUTHORITY, entities: [OTHER] });
    await keyring.issue(input, under(info.keyId));
    await keyring.withdraw(info.keyId, { entityId: OTHER });
    const act = () => keyring.issue(input, under(info.keyId));
    const error = await refused(given, act, 'ceiling_exceeded', 'entities_beyond_authority');
    expect(error.excess).toEqual([OTHER]);
  });

  it('is read past a cache', async () => {
    const inner = memoryStore();
    const { info } = await issue(setUp({ store: inner }).keyring);
    const asked: unknown[] = [];
    const store = {
      ...inner,
      findById: (...[keyId, options]: Parameters<KeyStore['findById']>) => {
        asked.push(options?.fresh);
        return inner.findById(keyId);
      },
    };
    await issueUnder(setUp({ store }).keyring, info.keyId);
    expect(new Set(asked)).toEqual(new Set([true]));
  });
});
