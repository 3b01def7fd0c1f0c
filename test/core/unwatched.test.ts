/**
 * What a change of the source could have done unnoticed: one test a mutant that survived all the
 * others.
 */
import { inspect } from 'node:util';
import {
  AccessError,
  createKeyring,
  definePolicy,
  defineScopes,
  formatScopes,
  isKey,
  parseKey,
  redactKeys,
  StoreError,
  toMe,
  toResponse,
} from 'keyscope';
import { memoryStore } from 'keyscope/stores/memory';
import { describe, expect, it } from 'vitest';
import {
  AUTHORITY,
  denied,
  HOUR,
  issue,
  OWN,
  setUp,
  storeError,
  thrown,
  untyped,
} from '../support/keyring.ts';

const catalog = defineScopes({ threats: { read: 'Read.' } });

describe('what is read', () => {
  it('of raw headers is a name where a name stands, whatever the values are', async () => {
    const { keyring } = setUp();
    const { key } = await issue(keyring);
    const rawHeaders = [
      'X-Wants',
      'authorization',
      `Bearer ${key}`,
      'x',
      'Authorization',
      'Basic eDp5',
    ];
    const error = await denied(
      () => keyring.authenticate({ rawHeaders }),
      'missing_credentials',
      'other_scheme',
    );
    expect(error.reason).toBe('other_scheme');
  });

  it('of a page that is exactly full is all there is', async () => {
    const { keyring } = setUp();
    for (let i = 0; i < 2; i++) await issue(keyring);
    expect((await keyring.list({ limit: 2 }, AUTHORITY)).next).toBeNull();
    expect((await keyring.list({ limit: 1 }, AUTHORITY)).next).not.toBeNull();
  });

  it('of a summary is every line of it', async () => {
    const lines = [
      { scheme: 's1', live: 1, lastUsedAt: null },
      { scheme: 's1', live: 'one', lastUsedAt: null },
    ];
    const store = { ...memoryStore(), summarize: () => untyped<[]>(lines) };
    await storeError(() => setUp({ store }).keyring.pepperReport());
  });
});

describe('what is said', () => {
  it('an error of another copy shows its scopes where all of them are scopes', () => {
    const requiredScopes = ['threats:read', 'a" b'];
    const error = new AccessError('insufficient_scope', 'scope_missing', { requiredScopes });
    expect(toResponse(error, { realm: 'r' }).headers['WWW-Authenticate']).toBe(
      'Bearer realm="r", error="insufficient_scope"',
    );
  });

  it('a StoreError inspects as what it is, and an issued key as its info', async () => {
    const error = new StoreError('store.insert failed: see cause', new Error('secret row'));
    expect(inspect(error, { getters: true })).toBe(error.stack);
    const { keyring } = setUp();
    const issued = await issue(keyring);
    expect(inspect(issued, { getters: true })).toContain(issued.info.keyId);
  });

  it('a rotation that comes second names the key', async () => {
    const { keyring } = setUp();
    const { info } = await issue(keyring);
    await keyring.rotate(info.keyId, { overlapMs: HOUR }, AUTHORITY);
    const again = () => keyring.rotate(info.keyId, { overlapMs: HOUR }, AUTHORITY);
    expect((await denied(again, 'conflict', 'already_ended')).keyId).toBe(info.keyId);
  });

  it('a bug is no event: nobody was denied', async () => {
    const bug = new TypeError('a verifier with a bug');
    const { keyring, events } = setUp({ tokens: { verify: () => Promise.reject(bug) } });
    const policy = untyped<never>({ requires: () => [], authorize: () => OWN });
    expect(
      await thrown(() => keyring.admit('Bearer a.b.c', { policy, operation: 'x' as never })),
    ).toBe(bug);
    expect(events).toEqual([]);
  });

  it('a denial is one where nobody listens, too', async () => {
    const keyring = createKeyring({
      prefix: 'acme',
      catalog,
      store: memoryStore(),
      peppers: 'none',
    });
    const policy = definePolicy(catalog, { list: ['threats:read'] });
    await denied(
      () => keyring.admit(undefined, { policy, operation: 'list' }),
      'missing_credentials',
      'no_header',
    );
  });

  it('names what is missing in our words, not in the engine’s', () => {
    const none = untyped<{ prefix: string }>(undefined);
    for (const call of [
      () => parseKey('x', none),
      () => isKey('x', none),
      () => redactKeys('x', none),
    ])
      expect(call).toThrow(/^prefix: .*, not undefined$/);
    expect(() => parseKey('x', untyped({ prefix: null }))).toThrow(/^prefix: .*, not null$/);
    expect(() => toMe(untyped(undefined))).toThrow(/^toMe: pass the principal/);
    const options = {
      prefix: 'acme',
      catalog,
      store: memoryStore(),
      peppers: 'none',
      tokens: null,
    };
    expect(() => createKeyring(options as never)).toThrow(/^tokens\.verify: pass a function/);
  });
});

describe('at a bound', () => {
  it('256 scopes of a wildcard are granted', async () => {
    const actions = Object.fromEntries(
      Array.from({ length: 256 }, (_, i) => [`a${i}`, 'One of many.']),
    );
    const wide = defineScopes({ r: actions });
    const keyring = createKeyring({
      prefix: 'acme',
      catalog: wide,
      store: memoryStore(),
      peppers: 'none',
    });
    const input = { name: 'n', scopes: ['*:*'], expiresAt: 'never' } as const;
    expect((await keyring.issue(input, { entityUuid: OWN })).info.scopes).toHaveLength(256);
  });

  it('a text of 4,096 characters is written, and none that is longer', () => {
    // 32 scopes of 127 characters with 31 spaces between them, and then one character more, and
    // two.
    const scopes = (more: number) =>
      Array.from(
        { length: 32 },
        (_, i) => `${'a'.repeat(60 + (i === 0 ? more : 0))}${i + 10}:${'b'.repeat(64)}`,
      );
    expect(formatScopes(scopes(1))).toHaveLength(4096);
    expect(() => formatScopes(scopes(2))).toThrow('longer than 4096 characters');
  });
});

describe('ids', () => {
  it('come from the platform, as version 4, whatever the source of the keys', async () => {
    const random = (length: number) => new Uint8Array(length).fill(0x5a);
    const made = [issue(setUp({ random }).keyring), issue(setUp({ random }).keyring)];
    const ids = (await Promise.all(made)).map(({ info }) => info.keyId);
    expect(new Set(ids).size).toBe(2);
    for (const id of ids)
      expect(id).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
  });
});

it('a verifier of tokens that names no scopes and no entities grants none', async () => {
  const store = memoryStore();
  const { keyring } = setUp({ store, peppers: 'none' });
  const { key } = await issue(keyring);
  const { scopes: _s, accessibleEntities: _a, ...claimed } = await keyring.verify(key);
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
