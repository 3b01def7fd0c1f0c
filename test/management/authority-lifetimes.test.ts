/** The longest lifetime of a key: the lower of two limits, from now. */
import { describe, expect, it } from 'vitest';
import { toResponse } from '../../src/http/challenge.js';
import {
  AUTHORITY,
  denied,
  HOUR,
  OTHER,
  PLAIN,
  type Ring,
  rowOf,
  START,
  setUp,
  untypedInput,
} from '../support/keyring.ts';
import { authorityWith, EACH_CALL, refusedAsBug } from '../support/managing.ts';

/** `undefined` means unlimited, and `'never'` means without an expiry. */
type Case = readonly [
  ofAuthority: number | undefined,
  ofKeyring: number | undefined,
  life: number | 'never',
  isAllowed: boolean,
];

const LIVES: readonly Case[] = [
  [undefined, undefined, 'never', true],
  [undefined, undefined, 8.64e15 - START, true],
  [HOUR, undefined, HOUR, true],
  [HOUR, undefined, HOUR + 1, false],
  [HOUR, undefined, 'never', false],
  [undefined, HOUR, HOUR, true],
  [undefined, HOUR, HOUR + 1, false],
  [undefined, HOUR, 'never', false],
  // The lower limit counts, whichever it is.
  [HOUR, 2 * HOUR, HOUR, true],
  [HOUR, 2 * HOUR, HOUR + 1, false],
  [2 * HOUR, HOUR, HOUR, true],
  [2 * HOUR, HOUR, HOUR + 1, false],
  [HOUR, HOUR, HOUR, true],
  [HOUR, HOUR, HOUR + 1, false],
  [1, undefined, 1, true],
  [1, undefined, 2, false],
  [Number.MAX_SAFE_INTEGER, Number.MAX_SAFE_INTEGER, 8.64e15 - START, true],
  [Number.MAX_SAFE_INTEGER, undefined, 'never', false],
];

const expiryOf = (life: number | 'never', now = START) =>
  life === 'never' ? life : new Date(now + life);

describe('the longest lifetime of a key', () => {
  it.each(LIVES)(
    'with %s in the authority and %s in the keyring, allows a lifetime of %s: %s',
    async (ofAuthority, ofKeyring, life, isAllowed) => {
      const { keyring, clock } = setUp({ maxLifetimeMs: ofKeyring });
      const authority = { ...AUTHORITY, maxLifetimeMs: ofAuthority };
      const issue = () =>
        keyring.issue(untypedInput({ expiresAt: expiryOf(life, clock.now()) }), authority);
      await expectWhether(isAllowed, issue);

      // Also for a successor, from now and not from the creation of the key.
      const { info } = await setUpOld(keyring, ofKeyring);
      clock.advance(1);
      const rotate = () => {
        const expiresAt = expiryOf(life, clock.now());
        return keyring.rotate(info.keyId, { overlapMs: 0, expiresAt }, authority);
      };
      const isInRange = life === 'never' || clock.now() + life <= 8.64e15;
      if (isInRange) await expectWhether(isAllowed, rotate);
    },
  );

  async function setUpOld(keyring: Ring, limit: number | undefined) {
    return keyring.issue(untypedInput({ expiresAt: expiryOf(Math.min(limit ?? 9, 9)) }), AUTHORITY);
  }

  async function expectWhether(isAllowed: boolean, act: () => Promise<unknown>): Promise<void> {
    if (isAllowed) {
      await act();
      return;
    }
    const error = await denied(act, 'ceiling_exceeded', 'lifetime_beyond_authority');
    expect(error.excess).toEqual(['expiresAt']);
  }

  // Under an ordinary authority, a rotation made a 60-second key last forever.
  it('limits a rotation that keeps the expiry, by the time that is left', async () => {
    const { keyring, clock, store } = setUp();
    const expiresAt = new Date(START + 9 * HOUR);
    const { info } = await keyring.issue(untypedInput({ expiresAt }), AUTHORITY);
    const authority = { ...AUTHORITY, maxLifetimeMs: HOUR };
    const rotate = () => keyring.rotate(info.keyId, { overlapMs: 0 }, authority);
    clock.set(START + 8 * HOUR - 1);
    await denied(rotate, 'ceiling_exceeded', 'lifetime_beyond_authority');
    clock.advance(1);
    const next = await rotate();
    expect((await rowOf(store, next.info.keyId)).expiresAt).toBe(START + 9 * HOUR);
  });

  it('limits a rotation of a key without an expiry that is older than the limit', async () => {
    const { keyring, store } = setUp();
    const { info } = await keyring.issue(PLAIN, AUTHORITY);
    const limited = setUp({ store, maxLifetimeMs: HOUR }).keyring;
    const rotate = (more: object) =>
      limited.rotate(info.keyId, { overlapMs: 0, ...more }, AUTHORITY);
    for (const more of [{}, { expiresAt: undefined }, { expiresAt: 'never' }]) {
      await denied(() => rotate(more), 'ceiling_exceeded', 'lifetime_beyond_authority');
    }
    const next = await rotate({ expiresAt: new Date(START + HOUR) });
    expect(next.info.expiresAt).toEqual(new Date(START + HOUR));
  });

  // The error said only that nobody can grant more than they hold.
  it('is named in the error, as the latest expiry', async () => {
    const end = new Date(START + HOUR).toISOString();
    const said = async (ofAuthority: number | undefined, ofKeyring: number) => {
      const { keyring } = setUp({ maxLifetimeMs: ofKeyring });
      const authority = { ...AUTHORITY, maxLifetimeMs: ofAuthority };
      const issue = () => keyring.issue(untypedInput({ expiresAt: 'never' }), authority);
      const error = await denied(issue, 'ceiling_exceeded', 'lifetime_beyond_authority');
      const { body } = toResponse(error, { realm: 'acme' });
      expect(JSON.parse(body)).toMatchObject({ status: 403, detail: error.message });
      return error.message;
    };
    const latest = `expiresAt: pass at most ${end}.`;
    expect(await said(undefined, HOUR)).toBe(latest);
    expect(await said(HOUR, 2 * HOUR)).toBe(latest);
    expect(await said(undefined, Number.MAX_SAFE_INTEGER)).toContain('expiresAt');
  });

  it('is reported with the whole excess: scopes, then entities, then the expiry', async () => {
    const { keyring } = setUp({ maxLifetimeMs: HOUR });
    const wanted = untypedInput({
      scopes: ['threats:read', 'decoys:read'],
      accessibleEntities: [OTHER],
    });
    const scopes = ['threats:*'];
    const all = () => keyring.issue(wanted, { ...AUTHORITY, scopes });
    const error = await denied(all, 'ceiling_exceeded', 'scopes_beyond_authority');
    expect(error.excess).toEqual(['decoys:read', OTHER, 'expiresAt']);
    const two = () => keyring.issue(wanted, AUTHORITY);
    const lesser = await denied(two, 'ceiling_exceeded', 'entities_beyond_authority');
    expect(lesser.excess).toEqual([OTHER, 'expiresAt']);
  });

  it.each([0, -1, 1.5, '3600000', null, true, Number.NaN, Number.POSITIVE_INFINITY, 2 ** 53, [1]])(
    'causes a TypeError in every call if it is %s',
    async (maxLifetimeMs) => {
      const message = /^authority\.maxLifetimeMs: pass a whole number from 1 to 9007199254740991$/;
      for (const [, call] of EACH_CALL) {
        await refusedAsBug((keyring) => call(keyring, authorityWith({ maxLifetimeMs })), message);
      }
    },
  );
});

describe('authority.notAfter', () => {
  const END = START + HOUR;
  const authority = { ...AUTHORITY, notAfter: new Date(END) } as const;
  const at = (time: number) => ({ expiresAt: new Date(time) });

  it('is the latest expiry of a new key', async () => {
    const { keyring, clock } = setUp();
    const made = await keyring.issue(untypedInput(at(END)), authority);
    expect(made.info.expiresAt).toEqual(new Date(END));
    for (const input of [at(END + 1), { expiresAt: 'never' }]) {
      const act = () => keyring.issue(untypedInput(input), authority);
      const error = await denied(act, 'ceiling_exceeded', 'lifetime_beyond_authority');
      expect(error.excess).toEqual(['expiresAt']);
      expect(error.message).toBe(`expiresAt: pass at most ${new Date(END).toISOString()}.`);
    }
    // Unlike a lifetime, it does not move with the clock.
    clock.advance(HOUR / 2);
    const later = () => keyring.issue(untypedInput(at(END + 1)), authority);
    await denied(later, 'ceiling_exceeded', 'lifetime_beyond_authority');
    clock.set(END);
    await denied(later, 'ceiling_exceeded', 'lifetime_beyond_authority');
  });

  it('is the latest expiry of a successor, also of one that keeps the expiry', async () => {
    const { keyring } = setUp();
    const { info } = await keyring.issue(PLAIN, AUTHORITY);
    const rotate = (more: object) =>
      keyring.rotate(info.keyId, { overlapMs: 0, ...more }, authority);
    for (const more of [{}, at(END + 1), { expiresAt: 'never' }]) {
      await denied(() => rotate(more), 'ceiling_exceeded', 'lifetime_beyond_authority');
    }
    expect((await rotate(at(END))).info.expiresAt).toEqual(new Date(END));
  });

  it.each([
    [HOUR, undefined, HOUR],
    [2 * HOUR, undefined, HOUR],
    [HOUR / 2, undefined, HOUR / 2],
    [undefined, HOUR / 2, HOUR / 2],
    [undefined, 2 * HOUR, HOUR],
  ])(
    'counts if it is the lowest limit: with %s in the authority and %s in the keyring, %s',
    async (maxLifetimeMs, ofKeyring, limit) => {
      const { keyring } = setUp({ maxLifetimeMs: ofKeyring });
      const both = { ...authority, maxLifetimeMs };
      await keyring.issue(untypedInput(at(START + limit)), both);
      const act = () => keyring.issue(untypedInput(at(START + limit + 1)), both);
      await denied(act, 'ceiling_exceeded', 'lifetime_beyond_authority');
    },
  );

  it('is copied, so that later changes have no effect', async () => {
    const notAfter = new Date(END);
    const { keyring } = setUp();
    const act = keyring.issue(untypedInput(at(END + 1)), { ...AUTHORITY, notAfter });
    notAfter.setTime(END + HOUR);
    await denied(() => act, 'ceiling_exceeded', 'lifetime_beyond_authority');
  });

  it.each([
    new Date(Number.NaN),
    END,
    new Date(END).toISOString(),
    'never',
    null,
    Number.POSITIVE_INFINITY,
    {},
    { getTime: () => END },
  ])('causes a TypeError in every call if it is %j', async (notAfter) => {
    for (const [, call] of EACH_CALL) {
      const act = (keyring: Parameters<typeof call>[0]) =>
        call(keyring, authorityWith({ notAfter }));
      await refusedAsBug(act, /^authority\.notAfter: pass a valid Date/);
    }
  });
});
