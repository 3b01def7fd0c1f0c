import { type AccessError, digestKey, type KeyRecord, type RotateInput } from 'keyscope';
import { memoryStore } from 'keyscope/stores/memory';
import { describe, expect, it } from 'vitest';
import {
  ANSWERING,
  AUTHORITY,
  denied,
  dump,
  HOUR,
  inputError,
  issue,
  NOWHERE,
  OTHER,
  OWN,
  PEPPER,
  PEPPER_2,
  recording,
  rowOf,
  START,
  setUp,
  stoppedClock,
  storeError,
  tampering,
  thrown,
  untyped,
  wrap,
} from '../support/keyring.ts';
import { keysOf, successorsOf } from '../support/managing.ts';
import { issueWide, WIDE } from '../support/wide.ts';

describe('rotate', () => {
  it.each(ANSWERING)(
    'copies everything except the key, in a store that answers %s',
    async (_how, through) => {
      const { keyring, store, clock, events } = setUp({ store: through(memoryStore()) });
      const old = await issueWide(keyring);
      clock.advance(HOUR);
      const authority = { ...WIDE, actor: 'bob', reason: 'yearly' };
      const next = await keyring.rotate(old.info.keyId, { overlapMs: 2 * HOUR }, authority);
      const before = await rowOf(store, old.info.keyId);
      const after = await rowOf(store, next.info.keyId);
      expect(after).toEqual({
        ...before,
        keyId: next.info.keyId,
        hint: next.key.slice(-4),
        digest: digestKey(next.key, PEPPER),
        seal: expect.stringMatching(/^[0-9a-f]{64}$/) as unknown,
        createdAt: START + HOUR,
        createdBy: 'bob',
        rotatedFrom: old.info.keyId,
        rootKeyId: old.info.keyId,
        retireAt: null,
        endedBy: null,
        endReason: null,
        changedAt: null,
      });
      expect(next.info.keyId).not.toBe(old.info.keyId);
      expect(next.key).not.toBe(old.key);
      expect(after.seal).not.toBe(before.seal);
      expect(before).toMatchObject({
        retireAt: START + 3 * HOUR,
        endedBy: 'bob',
        endReason: 'yearly',
        changedAt: START + HOUR,
        revokedAt: null,
      });
      expect(events.slice(1)).toEqual([
        {
          type: 'key.rotated',
          time: START + HOUR,
          keyId: next.info.keyId,
          entityId: OWN,
          rotatedFrom: old.info.keyId,
          retireAt: START + 3 * HOUR,
          scopes: ['threats:read', 'users:delete'],
          accessibleEntities: [OWN, OTHER],
          expiresAt: START + 9 * HOUR,
          actor: 'bob',
          reason: 'yearly',
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
    'ends the old key after an overlap of %i ms: after %i ms, it works: %s',
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
    ['kept if undefined', { expiresAt: undefined }, START + 9 * HOUR],
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

  it('makes a chain in which each key names its predecessor and the first key', async () => {
    const { keyring, store } = setUp();
    const first = await issue(keyring);
    const second = await keyring.rotate(first.info.keyId, { overlapMs: 0 }, AUTHORITY);
    const third = await keyring.rotate(second.info.keyId, { overlapMs: 0 }, AUTHORITY);
    const rootKeyId = first.info.keyId;
    expect(await rowOf(store, rootKeyId)).toMatchObject({ rotatedFrom: null, rootKeyId });
    expect(await rowOf(store, second.info.keyId)).toMatchObject({
      rotatedFrom: rootKeyId,
      rootKeyId,
    });
    expect(await rowOf(store, third.info.keyId)).toMatchObject({
      rotatedFrom: second.info.keyId,
      rootKeyId,
    });
    await keyring.verify(third.key);
  });
});

describe('rotate of a key that would not authenticate', () => {
  // Without the check first, rotating would seal a widened or injected row as genuine.
  const faults: readonly (readonly [string, object])[] = [
    ['record_tampered', { scopes: ['threats:read', 'users:delete', 'users:write'] }],
    ['record_tampered', { accessibleEntities: [OWN, OTHER, NOWHERE] }],
    ['record_tampered', { seal: null }],
    ['record_tampered', { expiresAt: null, scopes: [] }],
    ['record_tampered', { rootKeyId: NOWHERE }],
    ['record_tampered', { createdBy: 'root' }],
    ['record_tampered', { trust: '{}' }],
    ['record_tampered', { issuedUnder: NOWHERE }],
    // Values that a sealed row never has, but an edited one may have.
    ['record_tampered', { scopes: ['*:*'] }],
    ['record_tampered', { format: 0 }],
    ['record_tampered', { withdrawn: [OWN] }],
    ['unknown_format', { format: 2 }],
    ['unknown_format', { format: 2, scopes: 'in another way' }],
    ['revoked', { revokedAt: START + HOUR }],
    ['suspended', { suspendedAt: START }],
    ['suspended', { suspendedAt: START, retireAt: START }],
    ['retired', { retireAt: START }],
    ['orphaned', { digest: `s1$${'0'.repeat(64)}`, seal: null }],
    ['orphaned', { digest: `h1.gone$${'0'.repeat(64)}` }],
  ];

  it.each(faults)('is refused as %s, and writes nothing: %j', async (reason, edit) => {
    const inner = memoryStore();
    const { info } = await issueWide(setUp({ store: inner }).keyring);
    const before = await dump(inner);
    const { store, calls } = recording(tampering(inner, (row) => ({ ...row, ...edit })));
    const { keyring, events } = setUp({ store });
    const error = await denied(
      () => keyring.rotate(info.keyId, { overlapMs: HOUR }, WIDE),
      'conflict',
      reason as 'revoked',
    );
    expect(error.keyId).toBe(info.keyId);
    expect(calls).toEqual(['findById']);
    expect(events.map(({ type }) => type)).toEqual(['management.denied']);
    expect(await dump(inner)).toBe(before);
  });

  it('is refused after expiry, to the millisecond, whatever the new expiry', async () => {
    const { keyring, clock, store } = setUp();
    const { info } = await issueWide(keyring);
    clock.set(START + 9 * HOUR);
    const before = await dump(store);
    const act = () => keyring.rotate(info.keyId, { overlapMs: 0, expiresAt: 'never' }, WIDE);
    await denied(act, 'conflict', 'expired');
    expect(await dump(store)).toBe(before);
    clock.advance(-1);
    await act();
  });

  it('is refused if the key was made without a pepper and the keyring has one', async () => {
    const store = memoryStore();
    const { info } = await issue(setUp({ store, peppers: 'none' }).keyring);
    const before = await dump(store);
    const { keyring } = setUp({ store });
    await denied(
      () => keyring.rotate(info.keyId, { overlapMs: 0 }, AUTHORITY),
      'conflict',
      'orphaned',
    );
    expect(await dump(store)).toBe(before);
  });

  it('is possible again once the key is resumed', async () => {
    const { keyring } = setUp();
    const { info } = await issue(keyring);
    await keyring.suspend(info.keyId, AUTHORITY);
    const act = () => keyring.rotate(info.keyId, { overlapMs: 0 }, AUTHORITY);
    await denied(act, 'conflict', 'suspended');
    await keyring.resume(info.keyId, AUTHORITY);
    await keyring.verify((await act()).key);
  });

  it('passes on the error of a clock that breaks meanwhile, which is no conflict', async () => {
    const inner = memoryStore();
    const { info } = await issue(setUp({ store: inner }).keyring);
    let time = START;
    const store = wrap(inner, (_method, _args, call) => {
      time = Number.NaN;
      return call();
    });
    const { keyring } = setUp({ store, now: () => time });
    const act = () => keyring.rotate(info.keyId, { overlapMs: 0 }, AUTHORITY);
    expect((await storeError(act)).message).toBe('the clock failed: see causeOf');
  });
});

describe('the authority over a rotation', () => {
  it('must cover the rights of the successor', async () => {
    const { keyring, store } = setUp();
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
    for (const authority of [AUTHORITY, { ...AUTHORITY, entities: [NOWHERE] }]) {
      const entities = await denied(
        act(authority),
        'ceiling_exceeded',
        'entities_beyond_authority',
      );
      expect(entities.excess).toEqual([OTHER]);
    }
    expect(await dump(store)).toBe(before);
    await keyring.verify(key);
    await act({ ...WIDE, scopes: ['threats:read', '*:delete'] })();
  });

  it('cannot rotate a key of another entity, even one that the key can address', async () => {
    const { keyring, store } = setUp();
    const { info } = await issueWide(keyring);
    const before = await dump(store);
    const errors: AccessError[] = [];
    for (const keyId of [info.keyId, NOWHERE, 'no id', '']) {
      const authority = { entityId: OTHER, entities: [OWN], scopes: 'all' } as const;
      const reason = keyId === info.keyId ? 'foreign_key' : 'no_such_key';
      const act = () => keyring.rotate(keyId, { overlapMs: 0 }, authority);
      errors.push(await denied(act, 'not_found', reason));
    }
    const seen = errors.map((error) =>
      JSON.stringify([error.message, error.keyId, Object.entries(error)]),
    );
    expect(new Set(seen).size).toBe(1);
    expect(await dump(store)).toBe(before);
  });
});

describe('the input of rotate', () => {
  // Valid for the old key, but the successor would be dead on arrival.
  it.each([1, HOUR - 1, HOUR])(
    'is refused with an expiry that is past, %i ms after the old key was made',
    async (afterMs) => {
      const { store, calls } = recording(memoryStore());
      const { keyring, clock, events } = setUp({ store });
      const { info } = await issueWide(keyring);
      clock.advance(HOUR);
      const before = await dump(store);
      calls.length = 0;
      events.length = 0;
      const input = { overlapMs: HOUR, expiresAt: new Date(START + afterMs) };
      const act = () => keyring.rotate(info.keyId, input, WIDE);
      await inputError(act, 'expiresAt', /^expiresAt: pass/);
      expect(calls.filter((name) => name !== 'findById')).toEqual([]);
      expect(await dump(store)).toBe(before);
      expect(events).toEqual([]);
    },
  );

  it.each<readonly [string, object | null | undefined, RegExp]>([
    ['input', undefined, /^rotate: pass an object with overlapMs, expiresAt, name, scopes, /],
    ['input', null, /^rotate: pass an object/],
    ['input', [], /^rotate: pass an object/],
    [
      'input',
      Object.create({ overlapMs: 0 }) as object,
      /^rotate: write overlapMs as an own field/,
    ],
    ['input', { overlapMs: 0, entityId: OTHER }, /^rotate: unknown field "entityId"/],
    ['input', { overlapMs: 0, metadata: {} }, /^rotate: unknown field "metadata"/],
    ['input', { overlapMs: 0, actor: 'root' }, /^rotate: unknown field "actor"/],
    ['input', { overlapMs: 0, entities: [OTHER] }, /^rotate: unknown field "entities"/],
    ['input', { overlapMs: 0, maxLifetimeMs: 1e15 }, /^rotate: unknown field "maxLifetimeMs"/],
    ['overlapMs', {}, /^overlapMs: pass a whole number from 0 to 31536000000$/],
    ['overlapMs', { overlapMs: '0' }, /^overlapMs/],
    ['overlapMs', { overlapMs: null }, /^overlapMs/],
    ['overlapMs', { overlapMs: -1 }, /^overlapMs/],
    ['overlapMs', { overlapMs: 0.5 }, /^overlapMs/],
    ['overlapMs', { overlapMs: Number.NaN }, /^overlapMs/],
    ['overlapMs', { overlapMs: Number.POSITIVE_INFINITY }, /^overlapMs/],
    ['overlapMs', { overlapMs: 2 ** 53 }, /^overlapMs/],
    ['overlapMs', { overlapMs: 365 * 24 * HOUR + 1 }, /^overlapMs/],
    ['expiresAt', { overlapMs: 0, expiresAt: null }, /^expiresAt: pass a valid Date/],
    ['expiresAt', { overlapMs: 0, expiresAt: START + HOUR }, /^expiresAt: pass/],
    ['expiresAt', { overlapMs: 0, expiresAt: new Date(START) }, /^expiresAt: pass/],
    ['expiresAt', { overlapMs: 0, expiresAt: new Date(START - 1) }, /^expiresAt: pass/],
    ['expiresAt', { overlapMs: 0, expiresAt: new Date(0) }, /^expiresAt: pass/],
    ['expiresAt', { overlapMs: 0, expiresAt: new Date(Number.NaN) }, /^expiresAt: pass/],
    ['name', { overlapMs: 0, name: null }, /^name: pass a string/],
    ['name', { overlapMs: 0, name: '' }, /^name: 1 to 100 characters/],
    ['name', { overlapMs: 0, name: 'x'.repeat(101) }, /^name: 1 to 100 characters/],
    ['name', { overlapMs: 0, name: 'a\u202eb' }, /^name: no control, invisible/],
    ['scopes', { overlapMs: 0, scopes: null }, /^scopes: pass a list of strings, not null/],
    ['scopes', { overlapMs: 0, scopes: 'threats:read' }, /^scopes: pass a list of strings/],
    ['scopes', { overlapMs: 0, scopes: 'all' }, /^scopes: pass a list of strings/],
    ['scopes', { overlapMs: 0, scopes: [7] }, /^scopes: element 0: name concrete scopes/],
    ['scopes', { overlapMs: 0, scopes: new Array(1) }, /^scopes: element 0: name concrete/],
    ['scopes', { overlapMs: 0, scopes: ['threats:raed'] }, /scopes of the catalog/],
    // A wildcard would mean less than it says now, and more later.
    ['scopes', { overlapMs: 0, scopes: ['threats:*'] }, /element 0: name concrete scopes/],
    ['scopes', { overlapMs: 0, scopes: ['*:read'] }, /element 0: name concrete scopes/],
    ['scopes', { overlapMs: 0, scopes: ['*:*'] }, /element 0: name concrete scopes/],
    ['scopes', { overlapMs: 0, scopes: ['threats:read', 'all'] }, /element 1: name concrete/],
    ['accessibleEntities', { overlapMs: 0, accessibleEntities: null }, /: pass a list/],
    ['accessibleEntities', { overlapMs: 0, accessibleEntities: OTHER }, /: pass a list/],
    ['accessibleEntities', { overlapMs: 0, accessibleEntities: ['*'] }, /element 0: pass a UUID/],
    ['justification', { overlapMs: 0, justification: null }, /^justification: pass a string/],
    ['justification', { overlapMs: 0, justification: '' }, /^justification: 1 to 500/],
    ['justification', { overlapMs: 0, justification: 'a\nb' }, /^justification: no control/],
  ])(
    'is refused with a malformed %s, and nothing is written: case %#',
    async (field, input, message) => {
      const { store, calls } = recording(memoryStore());
      const { keyring, events } = setUp({ store });
      const { key, info } = await issueWide(keyring);
      calls.length = 0;
      events.length = 0;
      await inputError(() => keyring.rotate(info.keyId, untyped(input), WIDE), field, message);
      expect(calls.filter((name) => name !== 'findById')).toEqual([]);
      expect(events).toEqual([]);
      await keyring.verify(key);
    },
  );

  it.each([undefined, null, 7, ['id'], {}])('is refused with %j as the key id', async (keyId) => {
    const { store, calls } = recording(memoryStore());
    const { keyring } = setUp({ store });
    const act = () => keyring.rotate(untyped(keyId), { overlapMs: 0 }, AUTHORITY);
    await inputError(act, 'keyId', /^keyId: pass a string/);
    expect(calls).toEqual([]);
  });
});

describe('a store that fails during a rotation', () => {
  // The calls of a rotation: findById, insert, mark.
  it.each([
    [1, 'before'],
    [1, 'after'],
    [2, 'before'],
    [2, 'after'],
    [3, 'before'],
    [3, 'after'],
  ])(
    'leaves only keys that can be ended: at call %i, %s it took effect',
    async (position, when) => {
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
      // The documented remedy works: revoke any successor and issue a new key. So does ending all
      // keys.
      for (const row of await successorsOf(inner, info.keyId)) {
        await keyring.revoke(row.keyId, AUTHORITY);
      }
      await keyring.verify(key);
      const fresh = await issue(keyring);
      await keyring.revokeLineage(info.keyId, AUTHORITY);
      await keyring.verify(fresh.key);
      const live = (await keysOf(inner)).filter(({ revokedAt }: KeyRecord) => revokedAt === null);
      expect(live.map(({ keyId }) => keyId)).toEqual([fresh.info.keyId]);
    },
  );

  it('is reported if the successor of a loser cannot be revoked', async () => {
    const inner = memoryStore();
    const clock = stoppedClock();
    const { info } = await issue(setUp({ store: inner, now: clock.now }).keyring);
    let marks = 0;
    const store = wrap(inner, (method, _args, call) => {
      if (method !== 'mark') return call();
      marks += 1;
      if (marks === 2) throw new Error('connection lost');
      return false; // Another caller was faster.
    });
    const error = await thrown(() =>
      setUp({ store }).keyring.rotate(info.keyId, { overlapMs: 0 }, AUTHORITY),
    );
    expect(String(error)).toBe('StoreError: store.mark failed: see causeOf');
    expect(marks).toBe(2);
  });
});
