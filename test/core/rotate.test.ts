import fc from 'fast-check';
import {
  type AccessError,
  coversScopes,
  digestKey,
  type IssuedKey,
  isAccessError,
  type KeyRecord,
  type RotateInput,
} from 'keyscope';
import { memoryStore } from 'keyscope/stores/memory';
import { describe, expect, it } from 'vitest';
import {
  ANSWERING,
  AUTHORITY,
  catalog,
  delayed,
  denied,
  dump,
  HOUR,
  issue,
  NOWHERE,
  OTHER,
  OWN,
  PEPPER,
  PEPPER_2,
  PLAIN,
  type Ring,
  recording,
  rowOf,
  START,
  setUp,
  stoppedClock,
  storeError,
  THIRD,
  tampering,
  thrown,
  typeError,
  untyped,
  wrap,
} from '../support/keyring.ts';

/** A key with every field set, over several entities. */
const WIDE = { entityUuid: OWN, entities: [OTHER] } as const;
const issueWide = (
  keyring: Ring,
  expiresAt: Date | 'never' = new Date(START + 9 * HOUR),
): Promise<IssuedKey> =>
  keyring.issue(
    {
      name: 'wide',
      scopes: ['threats:read', 'users:delete'],
      expiresAt,
      accessibleEntities: [OTHER],
      justification: 'off-boarding',
      metadata: { team: 'a' },
    },
    WIDE,
  );

const rows = (store: Parameters<typeof dump>[0]) =>
  store.list({ entityUuid: OWN, after: null, limit: 99 });

describe('rotate', () => {
  it.each(ANSWERING)(
    'copies everything but the key, in a store that answers %s',
    async (_how, through) => {
      const { keyring, store, clock, events } = setUp({ store: through(memoryStore()) });
      const old = await issueWide(keyring);
      clock.advance(HOUR);
      const next = await keyring.rotate(old.info.keyId, { overlapMs: 2 * HOUR }, WIDE);
      const before = await rowOf(store, old.info.keyId);
      const after = await rowOf(store, next.info.keyId);
      expect(after).toEqual({
        ...before,
        keyId: next.info.keyId,
        digest: digestKey(next.key, PEPPER),
        seal: expect.stringMatching(/^[0-9a-f]{64}$/) as unknown,
        createdAt: START + HOUR,
        retireAt: null,
        rotatedFrom: old.info.keyId,
      });
      expect(next.info.keyId).not.toBe(old.info.keyId);
      expect(next.key).not.toBe(old.key);
      expect(after.seal).not.toBe(before.seal);
      expect(before.retireAt).toBe(START + 3 * HOUR);
      expect(events.slice(1)).toEqual([
        {
          type: 'key.rotated',
          time: START + HOUR,
          keyId: next.info.keyId,
          entityUuid: OWN,
          rotatedFrom: old.info.keyId,
          retireAt: START + 3 * HOUR,
        },
      ]);
      expect({ ...(await keyring.verify(next.key)) }).toEqual({
        ...(await keyring.verify(old.key)),
        keyId: next.info.keyId,
        expiresAt: before.expiresAt, // the old key's own principal ends with its overlap
      });
      expect((await keyring.verify(old.key)).expiresAt).toBe(START + 3 * HOUR);
    },
  );

  it.each([
    [0, 0, false],
    [0, -1, true],
    [1, 0, true],
    [1, 1, false],
    [HOUR, HOUR - 1, true],
    [HOUR, HOUR, false],
  ])(
    'ends the old key with the overlap: of %i ms, after %i ms it is still good: %s',
    async (overlapMs, later, good) => {
      const { keyring, clock } = setUp();
      const { key, info } = await issue(keyring);
      const next = await keyring.rotate(info.keyId, { overlapMs }, AUTHORITY);
      clock.advance(later);
      if (good) await keyring.verify(key);
      else await denied(() => keyring.verify(key), 'invalid_token', 'retired');
      await keyring.verify(next.key);
    },
  );

  it('never extends the expiry of the old key', async () => {
    const { keyring, clock } = setUp();
    const { key, info } = await issueWide(keyring, new Date(START + 1));
    const next = await keyring.rotate(info.keyId, { overlapMs: HOUR, expiresAt: 'never' }, WIDE);
    clock.advance(1);
    await denied(() => keyring.verify(key), 'invalid_token', 'expired');
    await keyring.verify(next.key);
  });

  it.each<readonly [string, Partial<RotateInput>, number | null]>([
    ['kept', {}, START + 9 * HOUR],
    ['kept where undefined', { expiresAt: undefined }, START + 9 * HOUR],
    ['shortened', { expiresAt: new Date(START + 1) }, START + 1],
    ['extended', { expiresAt: new Date(START + 99 * HOUR) }, START + 99 * HOUR],
    ['lifted', { expiresAt: 'never' }, null],
  ])('makes a successor with its expiry %s', async (_what, given, expected) => {
    const { keyring, store } = setUp();
    const { info } = await issueWide(keyring);
    const next = await keyring.rotate(info.keyId, { overlapMs: 0, ...given }, WIDE);
    expect((await rowOf(store, next.info.keyId)).expiresAt).toBe(expected);
    expect((await rowOf(store, info.keyId)).expiresAt).toBe(START + 9 * HOUR);
  });

  it('moves a key to the first pepper', async () => {
    const store = memoryStore();
    const old = await issue(setUp({ store }).keyring);
    const { keyring } = setUp({ store, peppers: [PEPPER_2, PEPPER] });
    const next = await keyring.rotate(old.info.keyId, { overlapMs: 0 }, AUTHORITY);
    expect((await rowOf(store, next.info.keyId)).digest).toBe(digestKey(next.key, PEPPER_2));
    await setUp({ store, peppers: [PEPPER_2] }).keyring.verify(next.key);
  });

  it('makes a chain if the successor is rotated: each names the one before', async () => {
    const { keyring, store } = setUp();
    const first = await issue(keyring);
    const second = await keyring.rotate(first.info.keyId, { overlapMs: 0 }, AUTHORITY);
    const third = await keyring.rotate(second.info.keyId, { overlapMs: 0 }, AUTHORITY);
    expect((await rowOf(store, third.info.keyId)).rotatedFrom).toBe(second.info.keyId);
    await keyring.verify(third.key);
  });
});

describe('rotate of a key that would not authenticate', () => {
  const faults: readonly (readonly [string, Partial<KeyRecord>])[] = [
    ['record_tampered', { scopes: ['threats:read', 'users:delete', 'users:write'] }],
    ['record_tampered', { seal: null }],
    ['record_tampered', { expiresAt: null, scopes: [] }],
    ['revoked', { revokedAt: START + HOUR }],
    ['retired', { retireAt: START }],
    ['unknown_key', { digest: `s1$${'0'.repeat(64)}`, seal: null }],
    ['unknown_key', { digest: `h1.gone$${'0'.repeat(64)}` }],
  ];

  it.each(faults)('is refused as %s, and writes nothing: %j', async (reason, edit) => {
    // Rotating first and asking later would seal a widened or injected row as genuine.
    const inner = memoryStore();
    const { info } = await issueWide(setUp({ store: inner }).keyring);
    const before = await dump(inner);
    const { store, calls } = recording(tampering(inner, (row) => ({ ...row, ...edit })));
    const { keyring, events } = setUp({ store });
    const error = await denied(
      () => keyring.rotate(info.keyId, { overlapMs: HOUR }, WIDE),
      'invalid_token',
      reason as 'revoked',
    );
    expect(error.keyId).toBe(info.keyId);
    expect({ calls, events }).toEqual({ calls: ['findById'], events: [] });
    expect(await dump(inner)).toBe(before);
  });

  it('is refused once it expired, to the millisecond, whatever expiry is asked for', async () => {
    const { keyring, clock, store } = setUp();
    const { info } = await issueWide(keyring);
    clock.set(START + 9 * HOUR);
    const before = await dump(store);
    const act = () => keyring.rotate(info.keyId, { overlapMs: 0, expiresAt: 'never' }, WIDE);
    await denied(act, 'invalid_token', 'expired');
    expect(await dump(store)).toBe(before);
    clock.advance(-1);
    await act();
  });

  it('is refused if the key has no pepper and the keyring has one', async () => {
    const store = memoryStore();
    const { info } = await issue(setUp({ store, peppers: 'none' }).keyring);
    const before = await dump(store);
    const { keyring } = setUp({ store });
    await denied(
      () => keyring.rotate(info.keyId, { overlapMs: 0 }, AUTHORITY),
      'invalid_token',
      'unknown_key',
    );
    expect(await dump(store)).toBe(before);
  });
});

describe('the authority over a rotation', () => {
  it('is never exceeded, whatever the key carries', async () => {
    const { keyring } = setUp();
    const pattern = fc.constantFrom(...catalog.all, 'threats:*', '*:delete', '*:*');
    const lists = { scopes: fc.uniqueArray(pattern), entities: fc.subarray([OWN, OTHER, THIRD]) };
    const key = fc.record({
      scopes: fc.subarray([...catalog.all]),
      accessibleEntities: fc.subarray([OTHER, THIRD]),
    });
    await fc.assert(
      fc.asyncProperty(key, fc.record(lists, { requiredKeys: [] }), async (carried, held) => {
        const input = { ...PLAIN, ...carried, justification: 'to test' };
        const { info } = await keyring.issue(input, { entityUuid: OWN, entities: [OTHER, THIRD] });
        const authority = { entityUuid: OWN, ...held };
        const next = await keyring
          .rotate(info.keyId, { overlapMs: 0 }, authority)
          .catch((error: unknown) => error);
        const reached = carried.accessibleEntities.every((entity) =>
          held.entities?.includes(entity),
        );
        const within = reached && coversScopes(held.scopes ?? ['*:*'], carried.scopes);
        const { scopes, accessibleEntities } = info;
        expect(next).toMatchObject(
          within ? { info: { scopes, accessibleEntities } } : { code: 'ceiling_exceeded' },
        );
      }),
    );
  });

  it('must cover the old key, since the successor is as strong', async () => {
    const { keyring, store, events } = setUp();
    const { key, info } = await issueWide(keyring);
    const before = await dump(store);
    const act = (authority: object) => () =>
      keyring.rotate(info.keyId, { overlapMs: 0 }, untyped(authority));
    const scopes = await denied(
      act({ ...WIDE, scopes: ['threats:*'] }),
      'ceiling_exceeded',
      'scopes_beyond_authority',
    );
    expect(scopes.excess).toEqual(['users:delete']);
    for (const authority of [AUTHORITY, { entityUuid: OWN, entities: [NOWHERE] }]) {
      const entities = await denied(
        act(authority),
        'ceiling_exceeded',
        'entities_beyond_authority',
      );
      expect(entities.excess).toEqual([OTHER]);
    }
    expect(await dump(store)).toBe(before);
    expect(events).toHaveLength(1);
    await keyring.verify(key);
    await act({ ...WIDE, scopes: ['threats:read', '*:delete'] })();
  });

  it('reaches no key of another entity, even of one that the key can address', async () => {
    const { keyring, store } = setUp();
    const { info } = await issueWide(keyring);
    const before = await dump(store);
    const errors: AccessError[] = [];
    for (const keyId of [info.keyId, NOWHERE, 'no id', '']) {
      const authority = { entityUuid: OTHER, entities: [OWN] };
      errors.push(
        await denied(
          () => keyring.rotate(keyId, { overlapMs: 0 }, authority),
          'not_found',
          'no_such_key',
        ),
      );
    }
    const seen = errors.map((error) =>
      JSON.stringify([error.message, error.keyId, Object.entries(error)]),
    );
    expect(new Set(seen).size).toBe(1);
    expect(await dump(store)).toBe(before);
  });
});

describe('the input of rotate', () => {
  it.each<readonly [object | null | undefined, RegExp]>([
    [undefined, /rotate: pass an object/],
    [null, /rotate: pass an object/],
    [{}, /overlapMs: pass a whole number/],
    [{ overlapMs: '0' }, /overlapMs/],
    [{ overlapMs: -1 }, /overlapMs/],
    [{ overlapMs: 0.5 }, /overlapMs/],
    [{ overlapMs: Number.NaN }, /overlapMs/],
    [{ overlapMs: Number.POSITIVE_INFINITY }, /overlapMs/],
    [{ overlapMs: 2 ** 53 }, /overlapMs/],
    [{ overlapMs: 365 * 24 * HOUR + 1 }, /overlapMs/],
    [{ overlapMs: 0, expiresAt: null }, /expiresAt: pass/],
    [{ overlapMs: 0, expiresAt: START + HOUR }, /expiresAt: pass/],
    [{ overlapMs: 0, expiresAt: new Date(START) }, /expiresAt: pass/],
    [{ overlapMs: 0, expiresAt: new Date(Number.NaN) }, /expiresAt: pass/],
    [{ overlapMs: 0, scopes: ['users:delete'] }, /unknown field "scopes"/],
    [{ overlapMs: 0, entityUuid: OTHER }, /unknown field "entityUuid"/],
    [{ overlapMs: 0, name: 'new' }, /unknown field "name"/],
  ])('is refused before the store is asked if it is odd: case %#', async (input, message) => {
    const { store, calls } = recording(memoryStore());
    const { keyring } = setUp({ store });
    const { info } = await issue(keyring);
    calls.length = 0;
    await typeError(() => keyring.rotate(info.keyId, untyped(input), AUTHORITY), message);
    expect(calls).toEqual([]);
  });

  it.each([undefined, null, 7, ['id']])('is refused with %j as the key id', async (keyId) => {
    await typeError(
      () => setUp().keyring.rotate(untyped(keyId), { overlapMs: 0 }, AUTHORITY),
      /keyId: pass a string/,
    );
  });
});

describe('two rotations at once', () => {
  it('have one winner: the successors of the others are revoked and never shown', async () => {
    const inner = memoryStore();
    const inserted: KeyRecord[] = [];
    const store = wrap(delayed(inner), (method, args, call) => {
      if (method === 'insert') inserted.push(args[0] as KeyRecord);
      return call();
    });
    const { keyring, events } = setUp({ store });
    const { key, info } = await issue(keyring);
    const results = await Promise.allSettled(
      [HOUR, 2 * HOUR, 0, 3 * HOUR].map((overlapMs) =>
        keyring.rotate(info.keyId, { overlapMs }, AUTHORITY),
      ),
    );
    const won = results.flatMap((result) => (result.status === 'fulfilled' ? [result.value] : []));
    const lost = results.flatMap((result) =>
      result.status === 'rejected' ? [result.reason as unknown] : [],
    );
    expect(won).toHaveLength(1);
    expect(
      lost.map((error) => isAccessError(error) && [error.code, error.reason, error.keyId]),
    ).toEqual(Array.from({ length: 3 }, () => ['conflict', 'already_ended', info.keyId]));
    const [winner] = won;
    const successors = (await rows(inner)).filter((row) => row.rotatedFrom === info.keyId);
    expect(successors).toHaveLength(4);
    expect(successors.filter((row) => row.revokedAt === null).map((row) => row.keyId)).toEqual([
      winner?.info.keyId,
    ]);
    // One event, and the mark of the winner's overlap is the one that stays.
    const rotated = events.filter((event) => event.type === 'key.rotated');
    expect(rotated.map((event) => event.keyId)).toEqual([winner?.info.keyId]);
    const { retireAt } = await rowOf(inner, info.keyId);
    expect(rotated.map((event) => event.retireAt)).toEqual([retireAt]);
    await keyring.verify(winner?.key ?? '');
    if (retireAt !== START) await keyring.verify(key);
    expect(inserted.filter((row) => row.rotatedFrom !== null)).toHaveLength(4);
  });

  it('conflict if the overlap lasts, which the second does not prolong', async () => {
    const { keyring, store, clock } = setUp();
    const { key, info } = await issue(keyring);
    await keyring.rotate(info.keyId, { overlapMs: HOUR }, AUTHORITY);
    await denied(
      () => keyring.rotate(info.keyId, { overlapMs: 9 * HOUR }, AUTHORITY),
      'conflict',
      'already_ended',
    );
    expect((await rowOf(store, info.keyId)).retireAt).toBe(START + HOUR);
    clock.set(START + HOUR);
    await denied(() => keyring.verify(key), 'invalid_token', 'retired');
  });

  it('lose to a revocation in between: the successor is revoked, too', async () => {
    const inner = memoryStore();
    const { keyring, clock } = setUp({ store: inner });
    const { info } = await issue(keyring);
    const store = wrap(inner, async (method, _args, call) => {
      if (method === 'insert') await keyring.revoke(info.keyId, AUTHORITY);
      return call();
    });
    const racing = setUp({ store, now: clock.now });
    await denied(
      () => racing.keyring.rotate(info.keyId, { overlapMs: HOUR }, AUTHORITY),
      'conflict',
      'already_ended',
    );
    expect((await rows(inner)).map((row) => row.revokedAt)).toEqual([START, START]);
  });

  it('write nothing the second time while the overlap lasts', async () => {
    const { keyring } = setUp();
    const { info } = await issue(keyring);
    await keyring.rotate(info.keyId, { overlapMs: 1000 }, AUTHORITY);
    await denied(
      () => keyring.rotate(info.keyId, { overlapMs: 1000 }, AUTHORITY),
      'conflict',
      'already_ended',
    );
    expect((await keyring.list({}, AUTHORITY)).keys).toHaveLength(2);
  });

  it('name the key in the conflict', async () => {
    const { keyring } = setUp();
    const { info } = await issue(keyring);
    await keyring.rotate(info.keyId, { overlapMs: HOUR }, AUTHORITY);
    const again = () => keyring.rotate(info.keyId, { overlapMs: HOUR }, AUTHORITY);
    expect((await denied(again, 'conflict', 'already_ended')).keyId).toBe(info.keyId);
  });
});

describe('a store that fails during a rotation', () => {
  // The calls of a rotation: findById, insert, markEnded; and of one that loses: a second
  // markEnded.
  it.each([
    [1, 'before'],
    [1, 'after'],
    [2, 'before'],
    [2, 'after'],
    [3, 'before'],
    [3, 'after'],
  ])('leaves no key that nobody can end: at call %i, %s it took effect', async (position, when) => {
    const inner = memoryStore();
    const { key, info } = await issue(setUp({ store: inner }).keyring);
    let calls = 0;
    const store = wrap(inner, (_method, _args, call) => {
      calls += 1;
      if (calls !== position) return call();
      if (when === 'after') call();
      throw new Error('connection lost');
    });
    const { keyring, events } = setUp({ store });
    await storeError(() => keyring.rotate(info.keyId, { overlapMs: HOUR }, AUTHORITY));
    expect(events).toEqual([]);
    await keyring.verify(key);
    // The remedy that the documentation names works: revoke whatever successor there is, issue
    // anew.
    for (const row of await rows(inner))
      if (row.rotatedFrom !== null) await keyring.revoke(row.keyId, AUTHORITY);
    const fresh = await keyring.issue(PLAIN, AUTHORITY);
    await keyring.verify(fresh.key);
  });

  it('is reported if the successor of a loser cannot be revoked', async () => {
    const inner = memoryStore();
    const clock = stoppedClock();
    const { info } = await issue(setUp({ store: inner, now: clock.now }).keyring);
    let marks = 0;
    const store = wrap(inner, (method, _args, call) => {
      if (method !== 'markEnded') return call();
      marks += 1;
      if (marks === 2) throw new Error('connection lost');
      return false; // somebody else was faster
    });
    const error = await thrown(() =>
      setUp({ store }).keyring.rotate(info.keyId, { overlapMs: 0 }, AUTHORITY),
    );
    expect(String(error)).toBe('StoreError: store.markEnded failed: see cause');
    expect(marks).toBe(2);
  });
});
