import {
  AccessError,
  createKeyring,
  generateKey,
  hasScopes,
  type KeyringEvent,
  type Principal,
  StoreError,
} from 'keyscope';
import { memoryStore } from 'keyscope/stores/memory';
import { describe, expect, it, vi } from 'vitest';
import {
  ANSWERING,
  AUTHORITY,
  bearer,
  catalog,
  denied,
  HOUR,
  issue,
  NOWHERE,
  OTHER,
  OWN,
  PLAIN,
  policy,
  recording,
  START,
  setUp,
  storeError,
  thrown,
  typeError,
  untyped,
  wrap,
} from '../support/keyring.ts';

describe('admit', () => {
  it.each(ANSWERING)(
    'returns the principal and the entity, with an event, over a store that answers %s',
    async (_how, through) => {
      const { keyring, clock, events } = setUp({ store: through(memoryStore()) });
      const { key, info } = await keyring.issue(
        { name: 'n', scopes: ['threats:read'], expiresAt: 'never', accessibleEntities: [OTHER] },
        { ...AUTHORITY, entities: [OTHER] },
      );
      events.length = 0;
      clock.advance(HOUR);
      const admitted = await keyring.admit(bearer(key), { operation: 'list', entityId: [OTHER] });
      expect(Object.keys(admitted)).toEqual(['principal', 'entityId']);
      expect(admitted.entityId).toBe(OTHER);
      expect(hasScopes(admitted.principal, 'threats:read')).toBe(true);
      expect((await keyring.admit(bearer(key), { operation: 'whoami' })).entityId).toBe(OWN);
      const granted = { type: 'access.granted', time: START + HOUR, keyId: info.keyId };
      expect(events).toEqual([
        { ...granted, entityId: OTHER, operation: 'list' },
        { ...granted, entityId: OWN, operation: 'whoami' },
      ]);
    },
  );

  it('reports each denial with code, reason, and the key if one was recognised', async () => {
    const { keyring, clock, events } = setUp();
    const { key, info } = await issue(keyring);
    const gone = await issue(keyring);
    await keyring.revoke(gone.info.keyId, AUTHORITY);
    events.length = 0;
    clock.advance(1);
    const unknown = bearer(generateKey({ prefix: 'acme' }));
    const denials = [
      [undefined, 'list', undefined, 'missing_credentials', 'no_header', null],
      ['Basic x', 'list', undefined, 'missing_credentials', 'other_scheme', null],
      ['Bearer', 'list', OWN, 'invalid_request', 'malformed_header', null],
      ['Bearer x', 'list', OWN, 'invalid_token', 'malformed_key', null],
      [unknown, 'list', OTHER, 'invalid_token', 'unknown_key', null],
      [bearer(gone.key), 'list', undefined, 'invalid_token', 'revoked', gone.info.keyId],
      [bearer(key), 'remove', OTHER, 'insufficient_scope', 'scope_missing', info.keyId],
      [bearer(key), 'list', OTHER, 'entity_forbidden', 'entity_not_accessible', info.keyId],
      [bearer(key), 'list', [OWN, OTHER], 'invalid_request', 'repeated_entity', info.keyId],
      [bearer(key), 'list', 'no uuid\r\n\u001b', 'invalid_request', 'malformed_entity', info.keyId],
    ] as const;
    const reported: KeyringEvent[] = [];
    for (const [request, operation, entityId, code, reason, keyId] of denials) {
      await denied(() => keyring.admit(request, { operation, entityId }), code, reason);
      const entity = entityId === OWN || entityId === OTHER ? entityId : null;
      const what = { keyId, entityId: entity, operation, code, reason };
      reported.push({ type: 'access.denied', time: START + 1, ...what });
    }
    expect(events).toEqual(reported);
  });

  // Adapters pass the list of values of a parameter. When it was empty, the event of a denial had
  // no entity.
  it("reports the key's own entity in a denial that names none", async () => {
    const { keyring, events } = setUp();
    const { key } = await issue(keyring);
    for (const entityId of [undefined, null, [], [undefined]]) {
      events.length = 0;
      const act = () => keyring.admit(bearer(key), { operation: 'remove', entityId });
      await denied(act, 'insufficient_scope', 'scope_missing');
      expect(events).toMatchObject([
        { type: 'access.denied', entityId: OWN, code: 'insufficient_scope' },
      ]);
    }
  });

  it('reports a broken store as an outage, without a key', async () => {
    const store = wrap(memoryStore(), () => {
      throw new Error('down');
    });
    const { keyring, events } = setUp({ store });
    const act = () =>
      keyring.admit(bearer(generateKey({ prefix: 'acme' })), { operation: 'list', entityId: OWN });
    await storeError(act);
    const what = { keyId: null, entityId: OWN, operation: 'list' } as const;
    const why = { code: 'store_error', reason: 'store_error' } as const;
    expect(events).toEqual([{ type: 'access.denied', time: START, ...what, ...why }]);
  });

  it.each([
    [undefined, /admit: pass an object/],
    [{ operation: 'lists' }, /"lists" is not in the table/],
    [{ operation: '__proto__' }, /not in the table/],
    [{ operation: undefined }, /not in the table/],
    [{}, /not in the table/],
    [{ operation: 'list', entityuuid: OTHER }, /unknown field "entityuuid"/],
    [{ operation: 'list', principal: {} }, /unknown field "principal"/],
  ])('refuses bad input before any look-up, without an event: case %#', async (input, message) => {
    const { store, calls } = recording(memoryStore());
    const { keyring, events } = setUp({ store });
    const { key } = await issue(keyring);
    calls.length = 0;
    events.length = 0;
    const error = await thrown(() =>
      keyring.admit(bearer(key), untyped<{ operation: 'list' }>(input)),
    );
    expect(error).toBeInstanceOf(TypeError);
    expect(String(error)).toMatch(message);
    expect({ calls, events }).toEqual({ calls: [], events: [] });
  });

  it('gives a denial the time of the configured clock', async () => {
    const { keyring, events } = setUp();
    await keyring.admit(undefined, { operation: 'list' }).catch(() => {});
    expect(events).toMatchObject([{ time: START }]);
  });

  it('reports the requested entity of a list with one element', async () => {
    const { keyring, events } = setUp();
    const { key } = await issue(keyring);
    await keyring.admit(bearer(key), { operation: 'list', entityId: [OTHER] }).catch(() => {});
    expect(events.at(-1)).toMatchObject({ entityId: OTHER });
  });

  it('says what to pass to createKeyring if the keyring has a catalog alone', async () => {
    const { store, calls } = recording(memoryStore());
    const { keyring, events } = setUp({ store, catalog });
    const { key } = await issue(keyring);
    const principal = await keyring.verify(key);
    calls.length = 0;
    events.length = 0;
    const authenticator = vi.fn(() => principal);
    for (const request of [bearer(key), undefined, authenticator]) {
      const act = () => keyring.admit(request, { operation: 'list' });
      await typeError(act, /^admit: pass policy, not catalog, to createKeyring$/);
    }
    expect(authenticator).not.toHaveBeenCalled();
    await keyring.flush();
    expect({ calls, events }).toEqual({ calls: [], events: [] });
  });

  it('treats two values as repeated even if one is undefined', async () => {
    const { keyring } = setUp();
    const { key } = await issue(keyring);
    const act = () => keyring.admit(bearer(key), { operation: 'list', entityId: [OWN, undefined] });
    await denied(act, 'invalid_request', 'repeated_entity');
  });

  it("reports the key's own entity if the request names none", async () => {
    const { keyring, events } = setUp();
    const { key } = await keyring.issue({ ...PLAIN, scopes: [] }, AUTHORITY);
    await keyring.admit(bearer(key), { operation: 'list' }).catch(() => {});
    expect(events.at(-1)).toMatchObject({ type: 'access.denied', entityId: OWN });
  });

  it('emits no event for a bug, because it denies nobody', async () => {
    const bug = new TypeError('a verifier with a bug');
    const { keyring, events } = setUp({ tokens: { verify: () => Promise.reject(bug) } });
    const act = () => keyring.admit('Bearer a.b.c', { operation: 'whoami' });
    expect(await thrown(act)).toBe(bug);
    expect(events).toEqual([]);
  });

  it('also denies without a listener', async () => {
    const keyring = createKeyring({
      prefix: 'acme',
      policy,
      store: memoryStore(),
      peppers: 'none',
    });
    await denied(
      () => keyring.admit(undefined, { operation: 'list' }),
      'missing_credentials',
      'no_header',
    );
  });
});

describe('admit with a function instead of a request', () => {
  async function prepared() {
    const { keyring, events, clock } = setUp();
    const { key, info } = await issue(keyring);
    const principal = await keyring.verify(key);
    events.length = 0;
    clock.advance(HOUR);
    return { keyring, events, principal, keyId: info.keyId };
  }

  it.each<readonly [string, (principal: Principal) => Principal | PromiseLike<Principal>]>([
    ['returns it', (principal) => principal],
    ['returns a promise of it', async (principal) => principal],
  ])('calls it once and admits the principal, if it %s', async (_how, answer) => {
    const { keyring, events, principal, keyId } = await prepared();
    const authenticator = vi.fn(() => answer(principal));
    const admitted = await keyring.admit(authenticator, { operation: 'list' });
    expect(admitted).toEqual({ principal, entityId: OWN });
    expect(authenticator.mock.calls).toEqual([[]]);
    const granted = { keyId, entityId: OWN, operation: 'list' };
    expect(events).toEqual([{ type: 'access.granted', time: START + HOUR, ...granted }]);
    await keyring.flush();
    const lastUsedAt = new Date(START + HOUR);
    expect(await keyring.get(keyId, AUTHORITY)).toMatchObject({ lastUsedAt });
  });

  it('checks scopes and entity as it does for a request', async () => {
    const { keyring, principal } = await prepared();
    const admit = (input: { operation: 'list' | 'remove'; entityId?: unknown }) => () =>
      keyring.admit(() => principal, input);
    await denied(admit({ operation: 'remove' }), 'insufficient_scope', 'scope_missing');
    const elsewhere = admit({ operation: 'list', entityId: OTHER });
    await denied(elsewhere, 'entity_forbidden', 'entity_not_accessible');
  });

  const denial = new AccessError('invalid_token', 'revoked', { keyId: NOWHERE });
  const outage = new StoreError('the key set cannot be fetched');
  it.each<readonly [string, Error, object]>([
    ['a denial', denial, { code: 'invalid_token', reason: 'revoked', keyId: NOWHERE }],
    ['an outage', outage, { code: 'store_error', reason: 'store_error', keyId: null }],
  ])('rethrows %s unchanged, and reports it', async (_what, error, reported) => {
    const authenticators = [
      () => Promise.reject(error),
      () => {
        throw error;
      },
    ];
    for (const authenticator of authenticators) {
      const { keyring, events } = await prepared();
      const input = { operation: 'list', entityId: OTHER } as const;
      expect(await thrown(() => keyring.admit(authenticator, input))).toBe(error);
      const common = { type: 'access.denied', time: START + HOUR };
      const asked = { entityId: OTHER, operation: 'list' };
      expect(events).toEqual([{ ...common, ...asked, ...reported }]);
    }
  });

  it('rethrows any other error without an event', async () => {
    const { keyring, events } = await prepared();
    const bug = new RangeError('a bug in the authenticator');
    const input = { operation: 'list' } as const;
    expect(await thrown(() => keyring.admit(() => Promise.reject(bug), input))).toBe(bug);
    expect(events).toEqual([]);
  });

  it.each<readonly [string, (principal: Principal) => unknown]>([
    ['nothing', () => undefined],
    ['null', () => null],
    ['a key', () => 'acme_0A9zQ7mK2xWv5TbYc8LpRn3dHg17jpNY'],
    ['an object made by hand', () => ({ keyId: NOWHERE, entityId: OWN })],
    ['a copy of a principal', (principal) => ({ ...principal })],
    ['a promise of a copy', async (principal) => ({ ...principal })],
  ])(
    'throws a TypeError for %s instead of a principal, without an event',
    async (_what, answer) => {
      const { keyring, events, principal } = await prepared();
      for (const operation of ['whoami', 'list'] as const) {
        const authenticator = () => untyped<Principal>(answer(principal));
        const act = () => keyring.admit(authenticator, { operation });
        await typeError(act, /^principal: pass one that this copy of keyscope made/);
      }
      expect(events).toEqual([]);
      await keyring.flush();
      expect(await keyring.get(principal.keyId, AUTHORITY)).toMatchObject({ lastUsedAt: null });
    },
  );

  it('throws a TypeError for an unknown operation, without an event', async () => {
    const { keyring, events, principal } = await prepared();
    const input = { operation: untyped<'list'>('lists') };
    await typeError(() => keyring.admit(() => principal, input), /not in the table/);
    expect(events).toEqual([]);
    await keyring.flush();
    expect(await keyring.get(principal.keyId, AUTHORITY)).toMatchObject({ lastUsedAt: null });
  });

  // The gate for MCP reports calls of tools that no policy has.
  it('reports its denial of an operation that the policy lacks', async () => {
    const { keyring, events } = await prepared();
    const refuse = () => Promise.reject(denial);
    const input = { operation: untyped<'list'>('tools/call') };
    expect(await thrown(() => keyring.admit(refuse, input))).toBe(denial);
    expect(events).toMatchObject([{ operation: 'tools/call', code: 'invalid_token' }]);
  });

  it('reports a broken clock as an outage, and does not call it', async () => {
    const { principal } = await prepared();
    const { keyring, events } = setUp({ now: () => Number.NaN });
    const authenticator = vi.fn(() => principal);
    await storeError(() => keyring.admit(authenticator, { operation: 'list' }));
    expect(authenticator).not.toHaveBeenCalled();
    expect(events).toMatchObject([{ type: 'access.denied', code: 'store_error', keyId: null }]);
  });
});
