import fc from 'fast-check';
import {
  AccessError,
  hasScopes,
  type KeyRecord,
  type Principal,
  type TokenVerifier,
  toResponse,
} from 'keyscope';
import { memoryStore } from 'keyscope/stores/memory';
import { describe, expect, it } from 'vitest';
import {
  AUTHORITY,
  bearer,
  catalog,
  denied,
  HOUR,
  issue,
  NOWHERE,
  OTHER,
  OWN,
  PEPPER,
  PLAIN,
  policy,
  recording,
  START,
  setUp,
  storeError,
  THIRD,
  tampering,
  thrown,
  untyped,
  wrap,
} from '../support/keyring.ts';
import { runs } from '../support/runs.ts';

describe('a token', () => {
  /**
   * A verifier of tokens that look like `a.<key>`. Its principal is the key's, edited by `claims`.
   * Peppers 'none', so that the keyring accepts the edited row, as it would accept a token's
   * claims.
   */
  async function door(claims: Partial<KeyRecord>, options: { checkParent?: boolean } = {}) {
    // A token does not know the state of its key.
    const unended = { revokedAt: null, suspendedAt: null, retireAt: null, withdrawn: [] };
    const store = memoryStore();
    const parent = setUp({ store, peppers: 'none' });
    const { key, info } = await parent.keyring.issue(
      {
        name: 'parent',
        scopes: ['threats:read', 'threats:write', 'decoys:read'],
        expiresAt: new Date(START + 9 * HOUR),
        accessibleEntities: [OTHER],
        metadata: { a: '1' },
      },
      { ...AUTHORITY, entities: [OTHER] },
    );
    const claimed = setUp({
      store: tampering(store, (row) => ({ ...row, ...unended, ...claims })),
      peppers: 'none',
    });
    const seen: string[] = [];
    const tokens: TokenVerifier = {
      verify: (token) => {
        seen.push(token);
        return claimed.keyring.verify(token.slice(token.indexOf('.') + 1));
      },
    };
    const { store: watched, calls } = recording(store);
    const front = setUp({
      store: watched,
      peppers: 'none',
      tokens,
      ...options,
      now: parent.clock.now,
    });
    return {
      ...front,
      parent: parent.keyring,
      clock: parent.clock,
      key,
      info,
      token: bearer(`a.${key}`),
      calls,
      seen,
    };
  }

  it('is not denied if its verifier has a bug, which is rethrown without an event', async () => {
    const tokens = { verify: () => Promise.reject(new RangeError('a bug in the verifier')) };
    const { keyring, events } = setUp({ tokens });
    const error = await thrown(() => keyring.admit('Bearer a.b', { operation: 'list' }));
    expect(error).toBeInstanceOf(RangeError);
    expect(events).toEqual([]);
  });

  // The request got no answer, because the time limit was only for the store.
  it('is an outage if its verifier never settles, and not a refusal', async () => {
    const tokens = { verify: () => new Promise<never>(() => {}) };
    const { keyring, events } = setUp({ tokens, storeTimeoutMs: 20 });
    const whoami = { operation: 'whoami' } as const;
    const error = await storeError(() => keyring.admit('Bearer a.b.c', whoami));
    expect(error.message).toBe('tokens.verify did not answer within 20 ms');
    expect(events).toMatchObject([{ type: 'access.denied', code: 'store_error', keyId: null }]);
    expect(toResponse(error, { realm: 'acme' }).status).toBe(503);
  });

  it('never expires if neither it nor its key does', async () => {
    const store = memoryStore();
    const { keyring } = setUp({ store, peppers: 'none' });
    const { key } = await keyring.issue({ name: 'n', scopes: [], expiresAt: 'never' }, AUTHORITY);
    const front = setUp({ store, peppers: 'none', tokens: { verify: () => keyring.verify(key) } });
    expect((await front.keyring.authenticate('Bearer a.b')).expiresAt).toBeNull();
  });

  it('is distinguished from a key by its shape alone', async () => {
    const { keyring, key, token, seen, info } = await door({});
    expect((await keyring.authenticate(bearer(key))).via).toBe('key');
    expect(seen).toEqual([]);
    const principal = await keyring.authenticate(token);
    expect(seen).toEqual([`a.${key}`]);
    expect({ ...principal }).toEqual({
      keyId: info.keyId,
      name: 'parent',
      entityId: OWN,
      accessibleEntities: [OWN, OTHER],
      scopes: ['threats:read', 'threats:write', 'decoys:read'],
      metadata: { a: '1' },
      expiresAt: START + 9 * HOUR,
      via: 'jwt',
    });
    expect(Object.isFrozen(principal.scopes) && Object.isFrozen(principal.accessibleEntities)).toBe(
      true,
    );
  });

  it('is a malformed key without a verifier', async () => {
    const { store, calls } = recording(memoryStore());
    const { keyring } = setUp({ store });
    const act = () => keyring.authenticate('Bearer eyJhbGciOiJub25lIn0.e30.');
    await denied(act, 'invalid_token', 'malformed_key');
    expect(calls).toEqual([]);
  });

  it('is accepted only in a header: verify accepts only keys', async () => {
    const { keyring, key, seen } = await door({});
    await denied(() => keyring.verify(`a.${key}`), 'invalid_token', 'malformed_key');
    expect(seen).toEqual([]);
  });

  it('grants only rights that both it and its parent have', async () => {
    const someScopes = fc.subarray([...catalog.all]);
    const someEntities = fc.subarray([OTHER, THIRD, NOWHERE]);
    await fc.assert(
      fc.asyncProperty(someScopes, someEntities, async (scopes, entities) => {
        const { keyring, parent, key, token } = await door({
          scopes,
          accessibleEntities: [OWN, ...entities],
        });
        const own = await parent.verify(key);
        const principal = await keyring.authenticate(token);
        expect(principal.scopes).toEqual(
          own.scopes.filter((scope) => scopes.includes(scope as 'threats:read')),
        );
        expect(principal.accessibleEntities).toEqual(
          entities.includes(OTHER) ? [OWN, OTHER] : [OWN],
        );
        for (const scope of catalog.all) {
          const isInBoth = hasScopes(own, scope) && scopes.includes(scope);
          expect(hasScopes(principal, scope)).toBe(isInBoth);
        }
        const { entityId } = await keyring.admit(token, { operation: 'whoami', entityId: OWN });
        expect(entityId).toBe(OWN);
      }),
      { numRuns: runs(100) },
    );
  });

  it('is refused if its parent would not authenticate', async () => {
    const revoked = await door({});
    await revoked.keyring.authenticate(revoked.token);
    await revoked.parent.revoke(revoked.info.keyId, AUTHORITY);
    const error = await denied(
      () => revoked.keyring.authenticate(revoked.token),
      'invalid_token',
      'revoked',
    );
    expect(error.keyId).toBe(revoked.info.keyId);

    const retired = await door({});
    await retired.parent.rotate(
      retired.info.keyId,
      { overlapMs: HOUR },
      { ...AUTHORITY, entities: [OTHER] },
    );
    await retired.keyring.authenticate(retired.token);
    retired.clock.advance(HOUR);
    await denied(() => retired.keyring.authenticate(retired.token), 'invalid_token', 'retired');

    const expired = await door({ expiresAt: null });
    expired.clock.set(START + 9 * HOUR);
    await denied(() => expired.keyring.authenticate(expired.token), 'invalid_token', 'expired');

    const suspended = await door({});
    await suspended.keyring.authenticate(suspended.token);
    await suspended.parent.suspend(suspended.info.keyId, AUTHORITY);
    const act = () => suspended.keyring.authenticate(suspended.token);
    await denied(act, 'invalid_token', 'suspended');
    await suspended.parent.resume(suspended.info.keyId, AUTHORITY);
    await suspended.keyring.authenticate(suspended.token);

    const unknown = await door({ keyId: NOWHERE });
    await denied(() => unknown.keyring.authenticate(unknown.token), 'invalid_token', 'unknown_key');

    const foreign = await door({ entityId: OTHER });
    await denied(() => foreign.keyring.authenticate(foreign.token), 'invalid_token', 'unknown_key');
  });

  // It belongs to the keyring with that prefix. Here, its id alone would admit it.
  it('is refused if the key behind it has another prefix and is otherwise valid', async () => {
    for (const peppers of ['none', [PEPPER]] as const) {
      const store = memoryStore();
      const other = setUp({ store, peppers, prefix: 'acmf' });
      const { key } = await issue(other.keyring);
      const principal = await other.keyring.verify(key);
      const tokens = { verify: async () => principal };
      const own = setUp({ store, peppers, prefix: 'acmf', tokens });
      await own.keyring.authenticate('Bearer a.b');
      const { keyring } = setUp({ store, peppers, tokens });
      const error = await denied(
        () => keyring.authenticate('Bearer a.b'),
        'invalid_token',
        'unknown_key',
      );
      expect(error.keyId).toBeUndefined();
    }
  });

  it('cannot address an entity that withdrew from its key, although it claims to', async () => {
    const { keyring, parent, token, info } = await door({});
    const before = await keyring.authenticate(token);
    expect(before.accessibleEntities).toEqual([OWN, OTHER]);
    await parent.withdraw(info.keyId, { entityId: OTHER });
    const after = await keyring.authenticate(token);
    expect(after.accessibleEntities).toEqual([OWN]);
    const elsewhere = { operation: 'list', entityId: OTHER } as const;
    const act = () => keyring.admit(token, elsewhere);
    await denied(act, 'entity_forbidden', 'entity_not_accessible');
  });

  it('can address no entity if it was narrowed to one that withdrew', async () => {
    const { keyring, store, clock } = setUp();
    const input = { ...PLAIN, accessibleEntities: [OTHER] };
    const { key, info } = await keyring.issue(input, { ...AUTHORITY, entities: [OTHER] });
    const claimed = { ...(await keyring.verify(key)), accessibleEntities: [OTHER] };
    const front = setUp({ store, now: clock.now, tokens: { verify: async () => claimed } });
    await front.keyring.admit('Bearer a.b', { operation: 'list', entityId: OTHER });
    await keyring.withdraw(info.keyId, { entityId: OTHER });
    for (const entityId of [OTHER, OWN, undefined]) {
      const act = () => front.keyring.admit('Bearer a.b', { operation: 'list', entityId });
      await denied(act, 'entity_forbidden', 'entity_not_accessible');
    }
  });

  it('has its parent looked up once, and not at all without checkParent', async () => {
    const checked = await door({ scopes: ['threats:read'] });
    await checked.keyring.authenticate(checked.token);
    expect(checked.calls).toEqual(['findById']);
    const trusting = await door({ scopes: ['threats:read'] }, { checkParent: false });
    const principal = await trusting.keyring.authenticate(trusting.token);
    expect(trusting.calls).toEqual([]);
    expect(principal.scopes).toEqual(['threats:read']);
    await trusting.parent.revoke(trusting.info.keyId, AUTHORITY);
    // The price of skipping the look-up, until the token expires.
    await trusting.keyring.authenticate(trusting.token);
  });

  it('is refused with its verifier’s error, and is an outage if the store is broken', async () => {
    const refusal = new AccessError('invalid_token', 'token_refused');
    for (const verify of [
      () => Promise.reject(refusal),
      () => {
        throw refusal;
      },
    ]) {
      const { keyring, events } = setUp({ tokens: { verify } });
      expect(await thrown(() => keyring.authenticate('Bearer a.b.c'))).toBe(refusal);
      await thrown(() => keyring.admit('Bearer a.b.c', { operation: 'whoami' }));
      expect(events).toMatchObject([{ code: 'invalid_token', reason: 'token_refused' }]);
    }
    const store = memoryStore();
    const { key } = await issue(setUp({ store }).keyring);
    const tokens = { verify: () => setUp({ store }).keyring.verify(key) };
    const down = wrap(store, () => Promise.reject(new Error('down')));
    await storeError(() => setUp({ store: down, tokens }).keyring.authenticate('Bearer a.b.c'));
  });

  const claims = {
    keyId: NOWHERE,
    name: 'n',
    entityId: OWN,
    accessibleEntities: [OWN],
    scopes: ['threats:read'],
    metadata: {},
    expiresAt: START + HOUR,
    via: 'jwt',
  };

  it('has its verifier’s claims without a check of the parent, with copied lists', async () => {
    const scopes = ['threats:read'];
    const tokens = { verify: async () => untyped<Principal>({ ...claims, scopes }) };
    const { keyring } = setUp({ tokens, checkParent: false });
    const { principal } = await keyring.admit('Bearer a.b', { operation: 'list' });
    scopes.push('threats:write');
    expect(principal).toMatchObject(claims);
    await denied(
      () => keyring.admit('Bearer a.b', { operation: 'remove' }),
      'insufficient_scope',
      'scope_missing',
    );
  });

  it.each([
    [{ ...claims, scopes: ['*:*'] }],
    [{ ...claims, scopes: ['threats:*'] }],
    [{ ...claims, scopes: [7] }],
    [{ ...claims, keyId: { $ne: 1 } }],
    [{ ...claims, entityId: 'x y' }],
    [{ ...claims, accessibleEntities: ['x/y'] }],
    [{}],
    [null],
    [undefined],
    [true],
  ])('is refused with malformed claims: %j', async (answer) => {
    for (const checkParent of [true, false]) {
      const { keyring } = setUp({
        tokens: { verify: async () => untyped<Principal>(answer) },
        checkParent,
      });
      await denied(() => keyring.authenticate('Bearer a.b'), 'invalid_token', 'token_refused');
    }
  });

  it('expires to the millisecond, although its key stays live', async () => {
    const { keyring, store, clock } = setUp();
    const { key } = await issue(keyring);
    const expiresAt = START + HOUR;
    const claimed = { ...(await keyring.verify(key)), expiresAt };
    const front = setUp({ store, now: clock.now, tokens: { verify: async () => claimed } });
    clock.set(expiresAt - 1);
    expect((await front.keyring.authenticate('Bearer a.b')).expiresAt).toBe(expiresAt);
    clock.set(expiresAt);
    await denied(() => front.keyring.authenticate('Bearer a.b'), 'invalid_token', 'expired');
  });

  // During a slow look-up, the token expired, and was admitted anyway.
  it('is refused if it expires while its key is looked up', async () => {
    const { keyring, store, clock } = setUp();
    const { key } = await issue(keyring);
    const claimed = { ...(await keyring.verify(key)), expiresAt: START + 1 };
    const slow = wrap(store, (method, _args, call) => {
      if (method === 'findById') clock.advance(1);
      return call();
    });
    const front = setUp({ store: slow, now: clock.now, tokens: { verify: async () => claimed } });
    await denied(() => front.keyring.authenticate('Bearer a.b'), 'invalid_token', 'expired');
  });

  it('expires with its key if it claims to outlive it', async () => {
    const store = memoryStore();
    const { keyring } = setUp({ store, peppers: 'none' });
    const { key } = await keyring.issue({ ...PLAIN, expiresAt: new Date(START + 5) }, AUTHORITY);
    const claimed = setUp({
      store: tampering(store, (row) => ({ ...row, expiresAt: null })),
      peppers: 'none',
    });
    const front = setUp({
      store,
      peppers: 'none',
      tokens: { verify: () => claimed.keyring.verify(key) },
    });
    expect((await front.keyring.authenticate('Bearer a.b')).expiresAt).toBe(START + 5);
  });

  it('keeps its operations if it was narrowed to another entity', async () => {
    const store = memoryStore();
    const { keyring } = setUp({ store, peppers: 'none' });
    const input = { ...PLAIN, accessibleEntities: [OTHER] };
    const { key } = await keyring.issue(input, { ...AUTHORITY, entities: [OTHER] });
    const claimed = { ...(await keyring.verify(key)), accessibleEntities: [OTHER] };
    const front = setUp({ store, peppers: 'none', tokens: { verify: async () => claimed } });
    const principal = await front.keyring.authenticate('Bearer a.b');
    expect(policy.allowed(principal)).toEqual(['whoami', 'list']);
  });

  it('grants nothing if its verifier names no scopes and no entities', async () => {
    const store = memoryStore();
    const { keyring } = setUp({ store, peppers: 'none' });
    const { key } = await issue(keyring);
    const {
      scopes: _scopes,
      accessibleEntities: _entities,
      ...claimed
    } = await keyring.verify(key);
    for (const checkParent of [true, false]) {
      const tokens = { verify: async (): Promise<never> => untyped(claimed) };
      const principal = await setUp({
        store,
        peppers: 'none',
        tokens,
        checkParent,
      }).keyring.authenticate('Bearer a.b');
      expect([principal.scopes, principal.accessibleEntities]).toEqual([[], []]);
    }
  });
});
