import type { KeyState } from 'keyscope';
import { memoryStore } from 'keyscope/stores/memory';
import { describe, expect, it } from 'vitest';
import {
  ANSWERING,
  AUTHORITY,
  bearer,
  delayed,
  denied,
  HOUR,
  issue,
  OTHER,
  OWN,
  rowOf,
  START,
  setUp,
  storeError,
  untyped,
  wrap,
} from '../support/keyring.ts';
import { bring, EXPIRY, LIFE_NAMES, type LifeName, RETIREMENT } from '../support/lives.ts';
import { meanwhile } from '../support/managing.ts';
import { outcome } from '../support/outcome.ts';

const BOB = { ...AUTHORITY, actor: 'bob', reason: 'doubt' } as const;
const CYD = { ...AUTHORITY, actor: 'cyd', reason: 'all clear' } as const;

/** The result of a call, whether it wrote, and the state afterwards. */
type Effect = readonly [answer: string, wrote: boolean, state: KeyState];

const PASSED = 'passed';
const CONFLICT = 'conflict already_ended';

const SUSPENDED: Readonly<Record<LifeName, Effect>> = {
  live: [PASSED, true, 'suspended'],
  retiring: [PASSED, true, 'suspended'],
  suspended: [PASSED, false, 'suspended'],
  'suspended and past its retirement': [PASSED, false, 'suspended'],
  'suspended and past its expiry': [PASSED, false, 'suspended'],
  retired: [CONFLICT, false, 'retired'],
  expired: [CONFLICT, false, 'expired'],
  'retired and expired': [CONFLICT, false, 'retired'],
  revoked: [CONFLICT, false, 'revoked'],
  'suspended and revoked': [CONFLICT, false, 'revoked'],
  'retired and revoked': [CONFLICT, false, 'revoked'],
  'revoked and malformed': [CONFLICT, false, 'damaged'],
  'revoked and edited': [CONFLICT, false, 'damaged'],
  'revoked and of a later format': [CONFLICT, false, 'unknown_format'],
  'revoked and orphaned': [CONFLICT, false, 'orphaned'],
  // A key that authenticates nobody can also be suspended, because its row can be repaired.
  edited: [PASSED, true, 'damaged'],
  'edited and past its expiry': [PASSED, true, 'damaged'],
  malformed: [PASSED, true, 'damaged'],
  'malformed and suspended': [PASSED, false, 'damaged'],
  'of a later format': [PASSED, true, 'unknown_format'],
  orphaned: [PASSED, true, 'orphaned'],
};

const RESUMED: Readonly<Record<LifeName, Effect>> = {
  live: [PASSED, false, 'live'],
  retiring: [PASSED, false, 'live'],
  suspended: [PASSED, true, 'live'],
  // A deadline that passed in the meantime still counts.
  'suspended and past its retirement': [PASSED, true, 'retired'],
  'suspended and past its expiry': [PASSED, true, 'expired'],
  retired: [PASSED, false, 'retired'],
  expired: [PASSED, false, 'expired'],
  'retired and expired': [PASSED, false, 'retired'],
  revoked: [CONFLICT, false, 'revoked'],
  'suspended and revoked': [CONFLICT, false, 'revoked'],
  'retired and revoked': [CONFLICT, false, 'revoked'],
  'revoked and malformed': [CONFLICT, false, 'damaged'],
  'revoked and edited': [CONFLICT, false, 'damaged'],
  'revoked and of a later format': [CONFLICT, false, 'unknown_format'],
  'revoked and orphaned': [CONFLICT, false, 'orphaned'],
  edited: [PASSED, false, 'damaged'],
  'edited and past its expiry': [PASSED, false, 'damaged'],
  malformed: [PASSED, false, 'damaged'],
  'malformed and suspended': [PASSED, true, 'damaged'],
  'of a later format': [PASSED, false, 'unknown_format'],
  orphaned: [PASSED, false, 'orphaned'],
};

describe.each([
  ['suspend', SUSPENDED, 'key.suspended'],
  ['resume', RESUMED, 'key.resumed'],
] as const)('%s', (call, effects, type) => {
  it.each(LIFE_NAMES)('has one effect on a key that is %s', async (name) => {
    const { keyring, inner, events, clock, keyId } = await bring(name);
    const before = await rowOf(inner, keyId);
    const answer = await outcome(() => keyring[call](keyId, BOB));
    const after = await rowOf(inner, keyId);
    const info = await keyring.get(keyId, AUTHORITY);
    const wrote = JSON.stringify(after) !== JSON.stringify(before);
    expect([answer, wrote, info?.state]).toEqual(effects[name]);
    // The call that wrote emits the event of the act. A call that did not emits a refusal.
    const told = wrote ? [{ type, time: clock.now(), keyId, entityId: OWN, ...words }] : [];
    const refused = answer === CONFLICT ? [{ type: 'management.denied', action: call }] : [];
    expect(events).toMatchObject([...told, ...refused]);
  });

  const words = { actor: 'bob', reason: 'doubt' };
});

describe('suspend', () => {
  it.each(ANSWERING)(
    'blocks a key immediately, until it is resumed, in a store that answers %s',
    async (_how, through) => {
      const { keyring, store, clock } = setUp({ store: through(memoryStore()) });
      const { key, info } = await issue(keyring);
      const neighbour = await issue(keyring);
      const before = await rowOf(store, info.keyId);
      clock.advance(HOUR);
      await keyring.suspend(info.keyId, BOB);
      const uses = [
        () => keyring.verify(key),
        () => keyring.authenticate(bearer(key)),
        () => keyring.admit(bearer(key), { operation: 'whoami' }),
      ];
      for (const use of uses) await denied(use, 'invalid_token', 'suspended');
      const rotate = () => keyring.rotate(info.keyId, { overlapMs: 0 }, AUTHORITY);
      await denied(rotate, 'conflict', 'suspended');
      await keyring.verify(neighbour.key);
      const marks = { suspendedAt: START + HOUR, endedBy: 'bob', endReason: 'doubt' };
      const suspended = { ...before, ...marks, changedAt: START + HOUR };
      expect(await rowOf(store, info.keyId)).toEqual(suspended);
      expect(await keyring.get(info.keyId, AUTHORITY)).toMatchObject({
        state: 'suspended',
        tampered: false,
        suspendedAt: new Date(START + HOUR),
        endedBy: 'bob',
        endReason: 'doubt',
      });

      clock.advance(1);
      await keyring.resume(info.keyId, CYD);
      // Only the time of the change remains.
      expect(await rowOf(store, info.keyId)).toEqual({ ...before, changedAt: START + HOUR + 1 });
      for (const use of uses.slice(0, 3)) await use();
    },
  );

  it('is idempotent: the first actor stays, and there is one event', async () => {
    const { keyring, store, clock, events } = setUp({ store: delayed(memoryStore()) });
    const { info } = await issue(keyring);
    events.length = 0;
    const callers = ['first', 'second', 'third'].map((actor) =>
      keyring.suspend(info.keyId, { ...AUTHORITY, actor }),
    );
    await Promise.all(callers);
    clock.advance(HOUR);
    await keyring.suspend(info.keyId, CYD);
    expect(events).toMatchObject([{ type: 'key.suspended', actor: 'first', time: START }]);
    expect(await rowOf(store, info.keyId)).toMatchObject({
      suspendedAt: START,
      endedBy: 'first',
      changedAt: START,
    });
    events.length = 0;
    const resumed = ['first', 'second'].map((actor) =>
      keyring.resume(info.keyId, { ...AUTHORITY, actor }),
    );
    await Promise.all(resumed);
    await keyring.resume(info.keyId, CYD);
    expect(events).toMatchObject([{ type: 'key.resumed', actor: 'first', time: START + HOUR }]);
  });

  it('works again after resume', async () => {
    const { keyring, store } = setUp();
    const { key, info } = await issue(keyring);
    for (const actor of ['first', 'second']) {
      await keyring.suspend(info.keyId, { ...AUTHORITY, actor });
      expect((await rowOf(store, info.keyId)).endedBy).toBe(actor);
      await keyring.resume(info.keyId, AUTHORITY);
    }
    await keyring.verify(key);
  });

  it('does not stop a deadline from passing, so the key stays ended', async () => {
    for (const [name, end] of [
      ['retiring', RETIREMENT],
      ['live', EXPIRY],
    ] as const) {
      const { keyring, clock, key, keyId } = await bring(name);
      await keyring.suspend(keyId, BOB);
      clock.set(end - 1);
      await denied(() => keyring.verify(key), 'invalid_token', 'suspended');
      await keyring.resume(keyId, BOB);
      await keyring.verify(key);
      await keyring.suspend(keyId, BOB);
      clock.set(end);
      await keyring.resume(keyId, BOB);
      expect(await outcome(() => keyring.verify(key))).toMatch(/retired|expired/);
    }
  });
});

describe('who may suspend', () => {
  // Resuming needs the same authority as suspending: no more, and no less.
  it.each(['suspend', 'resume'] as const)('can %s, and nobody else can', async (call) => {
    const { keyring, inner, keyId } = await bring('suspended');
    const before = await rowOf(inner, keyId);
    for (const authority of [
      { entityId: OTHER },
      { entityId: OTHER, entities: [OWN], scopes: 'all' as const },
    ]) {
      await denied(() => keyring[call](keyId, authority), 'not_found', 'foreign_key');
    }
    expect(await rowOf(inner, keyId)).toEqual(before);
    // No scopes are required.
    await keyring[call](keyId, { entityId: OWN });
    await keyring[call](keyId, { entityId: OWN, scopes: [] });
  });
});

describe('a concurrent call', () => {
  it.each(['suspend', 'resume'] as const)('cannot make %s change a revoked key', async (call) => {
    const { keyring, inner, clock, key, keyId } = await bring(
      call === 'suspend' ? 'live' : 'suspended',
    );
    const moment = { when: 'before', method: 'mark' } as const;
    const revoke = () => keyring.revoke(keyId, { ...AUTHORITY, actor: 'eve', reason: 'leaked' });
    const racing = setUp({ store: meanwhile(inner, moment, revoke), now: clock.now });
    await denied(() => racing.keyring[call](keyId, BOB), 'conflict', 'already_ended');
    expect(racing.events.map(({ type }) => type)).toEqual(['management.denied']);
    expect(await keyring.get(keyId, AUTHORITY)).toMatchObject({
      state: 'revoked',
      tampered: false,
      endedBy: 'eve',
      endReason: 'leaked',
    });
    const revoked = await rowOf(inner, keyId);
    await denied(() => keyring[call](keyId, BOB), 'conflict', 'already_ended');
    expect(await rowOf(inner, keyId)).toEqual(revoked);
    await denied(() => keyring.verify(key), 'invalid_token', 'revoked');
  });

  it.each(['suspend', 'resume'] as const)(
    'of another caller that is faster lets %s succeed, without an event',
    async (call) => {
      const { keyring, inner, clock, keyId } = await bring(
        call === 'suspend' ? 'live' : 'suspended',
      );
      const moment = { when: 'before', method: 'mark' } as const;
      const store = meanwhile(inner, moment, () => keyring[call](keyId, CYD));
      const racing = setUp({ store, now: clock.now });
      await racing.keyring[call](keyId, BOB);
      expect(racing.events).toEqual([]);
      const { endedBy } = await rowOf(inner, keyId);
      expect(endedBy).toBe(call === 'suspend' ? 'cyd' : null);
    },
  );
});

describe('a concurrent call that undoes it', () => {
  // The store was treated as broken: the write that it had refused was possible a moment later.
  it.each([
    ['suspend', 'suspended', 'resume', 'suspended'],
    ['resume', 'live', 'suspend', 'live'],
  ] as const)('lets %s succeed', async (call, before, other, after) => {
    const { keyring, inner, clock, keyId } = await bring(before);
    const moment = { when: 'after', method: 'mark' } as const;
    const store = meanwhile(inner, moment, () => keyring[other](keyId, CYD));
    const racing = setUp({ store, now: clock.now });
    await racing.keyring[call](keyId, BOB);
    expect(await keyring.get(keyId, AUTHORITY)).toMatchObject({ state: after });
    expect(racing.events).toMatchObject([{ keyId, actor: BOB.actor }]);
  });
});

describe('several concurrent calls that do and undo it', () => {
  // After two tries, the store was treated as broken, although three people disagreed.
  it.each([
    ['suspend', 'suspended', 'resume'],
    ['resume', 'live', 'suspend'],
  ] as const)('let %s succeed in the end', async (call, before, other) => {
    const { keyring, inner, clock, keyId } = await bring(before);
    let undone = 0;
    const store = wrap(inner, async (method, _args, act) => {
      if (method !== 'mark' || undone === 3) return act();
      if (undone > 0) await keyring[call](keyId, CYD);
      undone += 1;
      const answer = await act();
      await keyring[other](keyId, CYD);
      return answer;
    });
    const racing = setUp({ store, now: clock.now });
    await racing.keyring[call](keyId, BOB);
    expect(undone).toBe(3);
    expect(racing.events).toMatchObject([{ keyId, actor: BOB.actor }]);
  });
});

describe('a store that lies', () => {
  it.each(['suspend', 'resume'] as const)(
    'is broken if it wrote nothing and the key is unchanged: %s',
    async (call) => {
      const lying = (store: Parameters<typeof wrap>[0]) =>
        wrap(store, (method, _args, act) => (method === 'mark' ? false : act()));
      const { keyring, events, keyId } = await bring(
        call === 'suspend' ? 'live' : 'suspended',
        lying,
      );
      const { message } = await storeError(() => keyring[call](keyId, BOB));
      expect(message).toBe('store.mark broke its contract; see KeyStore');
      expect(events).toEqual([]);
    },
  );

  it.each([undefined, null, 1, 'true', {}])('is broken if it answers %j', async (answer) => {
    const lying = (store: Parameters<typeof wrap>[0]) =>
      wrap(store, (method, _args, act) => (method === 'mark' ? untyped(answer) : act()));
    const { keyring, keyId } = await bring('live', lying);
    await storeError(() => keyring.suspend(keyId, BOB));
    await storeError(() => keyring.resume(keyId, BOB));
  });

  it.each(['suspend', 'revoke'] as const)(
    'is broken if it loses the key during %s',
    async (call) => {
      let looks = 0;
      const lying = (store: Parameters<typeof wrap>[0]) =>
        wrap(store, (method, _args, act) => {
          if (method === 'mark') return false;
          if (method === 'findById') looks += 1;
          return looks > 1 ? null : act();
        });
      const { keyring, keyId } = await bring('live', lying);
      await storeError(() => keyring[call](keyId, BOB));
    },
  );
});
