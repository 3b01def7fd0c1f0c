import { createKeyring, definePolicy, generateKey, hasScopes, type KeyringEvent } from 'keyscope';
import { memoryStore } from 'keyscope/stores/memory';
import { describe, expect, it } from 'vitest';
import {
  AUTHORITY,
  catalog,
  delayed,
  denied,
  HOUR,
  issue,
  NOWHERE,
  OTHER,
  OWN,
  PLAIN,
  recording,
  START,
  setUp,
  storeError,
  thrown,
  typeError,
  untyped,
  wrap,
} from '../support/keyring.ts';

const policy = definePolicy(catalog, {
  whoami: [],
  list: ['threats:read'],
  remove: ['threats:delete'],
});

const bearer = (key: string) => `Bearer ${key}`;

/** Something with a `then` of the test's own: what a listener may return that is no promise. */
const thenable = (then: (resolve: unknown, reject: (error: Error) => void) => void): object => ({
  then,
});

describe('admit', () => {
  it.each([
    ['at once', (store: ReturnType<typeof memoryStore>) => store],
    ['by promise', delayed],
  ])(
    'yields principal and entity and says so, over a store that answers %s',
    async (_how, through) => {
      const { keyring, clock, events } = setUp({ store: through(memoryStore()) });
      const { key, info } = await keyring.issue(
        { name: 'n', scopes: ['threats:read'], expiresAt: 'never', accessibleEntities: [OTHER] },
        { entityUuid: OWN, entities: [OTHER] },
      );
      events.length = 0;
      clock.advance(HOUR);
      const admitted = await keyring.admit(bearer(key), {
        policy,
        operation: 'list',
        entityUuid: [OTHER],
      });
      expect(Object.keys(admitted)).toEqual(['principal', 'entityUuid']);
      expect(admitted.entityUuid).toBe(OTHER);
      expect(hasScopes(admitted.principal, 'threats:read')).toBe(true);
      expect((await keyring.admit(bearer(key), { policy, operation: 'whoami' })).entityUuid).toBe(
        OWN,
      );
      const granted = { type: 'access.granted', time: START + HOUR, keyId: info.keyId };
      expect(events).toEqual([
        { ...granted, entityUuid: OTHER, operation: 'list' },
        { ...granted, entityUuid: OWN, operation: 'whoami' },
      ]);
    },
  );

  it('tells every denial by code and reason, and the key where one was recognised', async () => {
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
      [bearer(key), 'list', [OWN, OTHER], 'invalid_request', 'malformed_entity', info.keyId],
      [bearer(key), 'list', 'no uuid\r\n\u001b', 'invalid_request', 'malformed_entity', info.keyId],
    ] as const;
    const told: KeyringEvent[] = [];
    const time = expect.any(Number) as unknown as number;
    for (const [request, operation, entityUuid, code, reason, keyId] of denials) {
      await denied(() => keyring.admit(request, { policy, operation, entityUuid }), code, reason);
      const entity = entityUuid === OWN || entityUuid === OTHER ? entityUuid : null;
      told.push({
        type: 'access.denied',
        time,
        keyId,
        entityUuid: entity,
        operation,
        code,
        reason,
      });
    }
    expect(events).toEqual(told);
  });

  // Adapters pass the list of values that a parameter had: with none of them, the entity of a
  // denial was missing.
  it("tells a denial without an entity on the key's own", async () => {
    const { keyring, events } = setUp();
    const { key } = await issue(keyring);
    for (const entityUuid of [undefined, null, [], [undefined]]) {
      events.length = 0;
      const act = () => keyring.admit(bearer(key), { policy, operation: 'remove', entityUuid });
      await denied(act, 'insufficient_scope', 'scope_missing');
      expect(events).toMatchObject([
        { type: 'access.denied', entityUuid: OWN, code: 'insufficient_scope' },
      ]);
    }
  });

  it('tells a broken store as one, without a key', async () => {
    const store = wrap(memoryStore(), () => {
      throw new Error('down');
    });
    const { keyring, events } = setUp({ store });
    const act = () =>
      keyring.admit(bearer(generateKey({ prefix: 'acme' })), {
        policy,
        operation: 'list',
        entityUuid: OWN,
      });
    await storeError(act);
    const what = { code: 'store_error', reason: 'store_error' } as const;
    expect(events).toEqual([
      {
        type: 'access.denied',
        time: expect.any(Number),
        keyId: null,
        entityUuid: OWN,
        operation: 'list',
        ...what,
      },
    ]);
  });

  it('decides the same whatever its listener does', async () => {
    const listeners: readonly (() => unknown)[] = [
      () => {
        throw new Error('sink');
      },
      () => Promise.reject(new Error('sink')),
      () =>
        thenable(() => {
          throw new Error('sink');
        }),
      () => thenable((_, reject) => reject(new Error('sink'))),
      () => new Promise(() => {}),
      async () => 7,
      () => null,
    ];
    for (const onEvent of listeners) {
      const { keyring } = setUp({ onEvent });
      const { key, info } = await issue(keyring);
      await keyring.admit(bearer(key), { policy, operation: 'list' });
      await denied(
        () => keyring.admit(bearer(key), { policy, operation: 'remove' }),
        'insufficient_scope',
        'scope_missing',
      );
      const next = await keyring.rotate(info.keyId, { overlapMs: 0 }, AUTHORITY);
      await keyring.revoke(next.info.keyId, AUTHORITY);
      await denied(
        () => keyring.admit(bearer(key), { policy, operation: 'list' }),
        'invalid_token',
        'retired',
      );
    }
    // An unhandled rejection would fail this run by itself; give it the turn it needs to show.
    await new Promise((resolve) => setImmediate(resolve));
  });

  it('hands the listener a frozen event: it cannot rewrite what the next one reads', async () => {
    const thrownBy: unknown[] = [];
    const onEvent = (event: KeyringEvent) => {
      try {
        Object.assign(event, { keyId: NOWHERE });
      } catch (error) {
        thrownBy.push(error);
      }
    };
    await issue(setUp({ onEvent }).keyring);
    expect(thrownBy).toEqual([expect.any(TypeError)]);
  });

  it.each([
    [undefined, /TypeError|admit/],
    [{ policy, operation: 'lists' }, /"lists" is not in the table/],
    [{ policy, operation: '__proto__' }, /not in the table/],
    [{ policy, operation: undefined }, /not in the table/],
    [{ policy }, /not in the table/],
    [{ policy, operation: 'list', entityuuid: OTHER }, /unknown field "entityuuid"/],
    [{ policy, operation: 'list', principal: {} }, /unknown field "principal"/],
  ])(
    'of bad input is a caller’s bug, case %#, before anybody is looked up, and no event',
    async (input, message) => {
      const { store, calls } = recording(memoryStore());
      const { keyring, events } = setUp({ store });
      const { key } = await issue(keyring);
      calls.length = events.length = 0;
      const error = await thrown(() =>
        keyring.admit(bearer(key), untyped<{ policy: typeof policy; operation: 'list' }>(input)),
      );
      expect(error).toBeInstanceOf(TypeError);
      expect(String(error)).toMatch(message);
      expect({ calls, events }).toEqual({ calls: [], events: [] });
    },
  );

  it('works off the object: no method needs `this`', async () => {
    const {
      issue: make,
      admit,
      verify,
      authenticate,
      flush,
      revoke,
      rotate,
      list,
      get,
    } = setUp().keyring;
    const { key, info } = await make(
      { name: 'n', scopes: ['threats:read'], expiresAt: 'never' },
      AUTHORITY,
    );
    await admit(bearer(key), { policy, operation: 'list' });
    await authenticate(bearer(key));
    await verify(key);
    await flush();
    await get(info.keyId, AUTHORITY);
    await list({}, AUTHORITY);
    const next = await rotate(info.keyId, { overlapMs: 0 }, AUTHORITY);
    await revoke(next.info.keyId, AUTHORITY);
  });
});

it('gives a denial the time of the injected clock', async () => {
  const { keyring, events } = setUp();
  await keyring.admit(undefined, { policy, operation: 'list' }).catch(() => {});
  expect(events).toMatchObject([{ time: START }]);
});

it('names the entity that was asked for in a list of one', async () => {
  const { keyring, events } = setUp();
  const { key } = await issue(keyring);
  await keyring
    .admit(`Bearer ${key}`, { policy, operation: 'list', entityUuid: [OTHER] })
    .catch(() => {});
  expect(events.at(-1)).toMatchObject({ entityUuid: OTHER });
});

it('says what to pass when there is no input, or no policy', async () => {
  const { keyring } = setUp();
  await typeError(() => keyring.admit('x', untyped<never>(undefined)), /^admit: /);
  await typeError(() => keyring.admit('x', untyped<never>({ operation: 'list' })), /policy/);
});

it('treats two values of which one is undefined as repeated', async () => {
  const { keyring } = setUp();
  const { key } = await issue(keyring);
  const act = () =>
    keyring.admit(`Bearer ${key}`, { policy, operation: 'list', entityUuid: [OWN, undefined] });
  await denied(act, 'invalid_request', 'malformed_entity');
});

it("names the key's own entity when none was asked for", async () => {
  const { keyring, events } = setUp();
  const { key } = await keyring.issue({ ...PLAIN, scopes: [] }, AUTHORITY);
  await keyring.admit(`Bearer ${key}`, { policy, operation: 'list' }).catch(() => {});
  expect(events.at(-1)).toMatchObject({ type: 'access.denied', entityUuid: OWN });
});

it('emits no event for a bug: nobody was denied', async () => {
  const bug = new TypeError('a verifier with a bug');
  const { keyring, events } = setUp({ tokens: { verify: () => Promise.reject(bug) } });
  const policy = untyped<never>({ requires: () => [], authorize: () => OWN });
  expect(
    await thrown(() => keyring.admit('Bearer a.b.c', { policy, operation: 'x' as never })),
  ).toBe(bug);
  expect(events).toEqual([]);
});

it('denies when nobody listens, too', async () => {
  const keyring = createKeyring({ prefix: 'acme', catalog, store: memoryStore(), peppers: 'none' });
  const policy = definePolicy(catalog, { list: ['threats:read'] });
  await denied(
    () => keyring.admit(undefined, { policy, operation: 'list' }),
    'missing_credentials',
    'no_header',
  );
});
