import { createKeyring, defineScopes, digestKey, type IssueInput, isKey } from 'keyscope';
import { memoryStore } from 'keyscope/stores/memory';
import { describe, expect, it } from 'vitest';
import {
  AUTHORITY,
  delayed,
  HOUR,
  NOWHERE,
  OTHER,
  OWN,
  PEPPER,
  PLAIN,
  recording,
  rowOf,
  START,
  setUp,
  THIRD,
  typeError,
  untyped,
} from '../support/keyring.ts';

/** What a request's body holds, types unchecked, laid over the least that `issue` takes. */
const input = (over: object): IssueInput<never> => untyped({ ...PLAIN, ...over });

/** Asserts that an input is refused with advice, and that the store was not even asked. */
async function refused(
  over: object,
  message: RegExp,
  under: { readonly authority?: unknown } = { authority: AUTHORITY },
): Promise<void> {
  const { store, calls } = recording(memoryStore());
  const { keyring, events } = setUp({ store });
  await typeError(() => keyring.issue(input(over), untyped(under.authority)), message);
  expect({ calls, events }).toEqual({ calls: [], events: [] });
}

describe('issue', () => {
  it.each([
    ['at once', (store: ReturnType<typeof memoryStore>) => store],
    ['by promise', delayed],
  ])(
    'stores what was asked for and nothing else, in a store that answers %s',
    async (_how, through) => {
      const { keyring, store, events } = setUp({ store: through(memoryStore()) });
      const { key, info } = await keyring.issue(
        input({
          expiresAt: new Date(START + HOUR),
          accessibleEntities: [THIRD, OTHER],
          justification: 'nightly',
          metadata: { b: '2', a: '1' },
        }),
        { entityUuid: OWN, entities: [OTHER, THIRD], scopes: ['*:read'] },
      );
      expect(isKey(key, { prefix: 'acme' })).toBe(true);
      const row = await rowOf(store, info.keyId);
      expect(row).toEqual({
        keyId: info.keyId,
        name: 'ci',
        digest: digestKey(key, PEPPER),
        seal: expect.stringMatching(/^[0-9a-f]{64}$/),
        entityUuid: OWN,
        accessibleEntities: [OWN, THIRD, OTHER],
        scopes: ['threats:read'],
        justification: 'nightly',
        metadata: { a: '1', b: '2' },
        createdAt: START,
        expiresAt: START + HOUR,
        revokedAt: null,
        retireAt: null,
        rotatedFrom: null,
        lastUsedAt: null,
        scopesUsed: {},
      });
      const { digest: _digest, seal: _seal, ...shown } = row;
      expect(info).toEqual({
        ...shown,
        createdAt: new Date(START),
        expiresAt: new Date(START + HOUR),
      });
      expect(events).toEqual([
        { type: 'key.issued', time: START, keyId: info.keyId, entityUuid: OWN },
      ]);
    },
  );

  it('takes a list of scopes that is empty: such a key opens nothing', async () => {
    const { keyring } = setUp();
    const { key, info } = await keyring.issue(input({ scopes: [] }), AUTHORITY);
    expect(info.scopes).toEqual([]);
    expect((await keyring.verify(key)).scopes).toEqual([]);
  });

});

describe('scopes', () => {
  it.each([
    [
      ['threats:read', 'decoys:update'],
      ['threats:read', 'decoys:update'],
    ],
    [
      ['decoys:update', 'threats:read'],
      ['threats:read', 'decoys:update'],
    ],
    [
      ['decoys:*', 'threats:read', 'threats:read'],
      ['threats:read', 'decoys:read', 'decoys:update'],
    ],
    [['*:update'], ['decoys:update']],
    [['constructor:*'], ['constructor:read']],
  ])('%j are expanded now, in catalog order', async (scopes, stored) => {
    const { keyring, store } = setUp();
    const { info } = await keyring.issue(input({ scopes }), AUTHORITY);
    expect((await rowOf(store, info.keyId)).scopes).toEqual(stored);
  });

  it.each([
    [['*:*'], /threats:delete users:read users:write users:delete/],
    [['users:*'], /users:read users:write users:delete/],
    [['threats:*'], /threats:delete/],
    [['*:delete'], /threats:delete users:delete/],
    [['*:delete', 'threats:delete'], /name users:delete or/],
    [['*:read'], /name users:read or/],
  ])(
    '%j reach reserved scopes, which are refused by name, justified or not',
    async (scopes, message) => {
      await refused({ scopes }, message);
      await refused({ scopes, justification: 'I insist' }, message);
    },
  );

  it('reserved ones are granted where each is named and a justification is given, which is kept', async () => {
    const scopes = ['users:delete', 'threats:*', 'threats:delete'];
    await refused({ scopes }, /justification: .*threats:delete users:delete/);
    const { keyring, store } = setUp();
    const { info } = await keyring.issue(
      input({ scopes, justification: 'off-boarding' }),
      AUTHORITY,
    );
    const row = await rowOf(store, info.keyId);
    expect(row.scopes).toEqual(['threats:read', 'threats:write', 'threats:delete', 'users:delete']);
    expect(row.justification).toBe('off-boarding');
  });

  it.each([
    ['missing', undefined, /scopes: pass a list/],
    ['a text', 'threats:read', /scopes: pass a list/],
    ['a Set', new Set(['threats:read']), /scopes: pass a list/],
    ['an object', { 0: 'threats:read', length: 1 }, /scopes: pass a list/],
    ['a list with a number', ['threats:read', 7], /element 1/],
    ['a list with a hole', Object.assign([], { 1: 'threats:read' }), /element 0/],
    ['a nested list', [['threats:read']], /element 0/],
    ['a typo', ['threats:raed'], /scopes that the catalog has, not "threats:raed"/],
    ['an unknown resource', ['reports:*'], /not "reports:\*"/],
    ['a prototype name', ['__proto__:read'], /write resource:action, .*not "__proto__:read"/],
    ['another prototype name', ['constructor:write'], /not "constructor:write"/],
    ['a scope and a space', ['threats:read '], /not "threats:read "/],
    ['an upper-case scope', ['Threats:read'], /not "Threats:read"/],
    ['a Kelvin sign', ['threats:\u212Aill'], /\\u212a/],
    ['257 of them', new Array(257).fill('threats:read'), /at most 256/],
  ])('are refused when they are %s', async (_what, scopes, message) => {
    await refused({ scopes }, message);
  });

  it('are at most 256 of them, which all work', async () => {
    const { keyring } = setUp();
    const { info } = await keyring.issue(
      input({ scopes: new Array(256).fill('threats:read') }),
      AUTHORITY,
    );
    expect(info.scopes).toEqual(['threats:read']);
  });
});

describe('the first argument', () => {
  const bytes = (count: number) => 'ü'.repeat(count / 2);
  const many = (count: number) =>
    Array.from(
      { length: count },
      (_, i) => `${String(i).padStart(8, '0')}-0000-4000-8000-000000000000`,
    );
  const pairs = (count: number) =>
    Object.fromEntries(Array.from({ length: count }, (_, i) => [`k${i}`, 'v']));

  it.each([
    ['name', undefined, /name: pass a string/],
    ['name', 7, /name: pass a string/],
    ['name', '', /name: 1 to 100 characters, not 0/],
    ['name', 'x'.repeat(101), /name: 1 to 100 characters, not 101/],
    ['name', 'x'.repeat(1_000_000), /name: at most 100/],
    ['name', 'a\nb', /name: no control characters/],
    ['name', 'a\u0000b', /name: no control characters/],
    ['name', 'a\u009bb', /name: no control characters/],
    ['name', 'a\u001b[31m', /name: no control characters/],
    ['name', '\ud800', /name: .*surrogate/],
    ['expiresAt', undefined, /expiresAt: pass/],
    ['expiresAt', null, /expiresAt/],
    ['expiresAt', START + HOUR, /expiresAt: pass/],
    ['expiresAt', Number.POSITIVE_INFINITY, /expiresAt: pass/],
    ['expiresAt', '2999-01-01T00:00:00Z', /expiresAt: pass/],
    ['expiresAt', 'Never', /expiresAt: pass/],
    ['expiresAt', new Date(Number.NaN), /expiresAt: pass/],
    ['expiresAt', { getTime: () => START + HOUR }, /expiresAt: pass/],
    ['expiresAt', new Date(START), /expiresAt: pass/],
    ['expiresAt', new Date(START - 1), /expiresAt: pass/],
    ['accessibleEntities', OTHER, /accessibleEntities: pass a list/],
    ['accessibleEntities', [OTHER.toUpperCase()], /accessibleEntities: /],
    ['accessibleEntities', ['*'], /accessibleEntities: /],
    ['accessibleEntities', [`${OTHER} `], /accessibleEntities: /],
    ['accessibleEntities', [[OTHER]], /accessibleEntities: element 0/],
    ['accessibleEntities', many(1000), /accessibleEntities: at most 1000/],
    ['justification', '', /justification: 1 to 500/],
    ['justification', null, /justification: pass a string/],
    ['justification', 'x'.repeat(501), /justification: 1 to 500/],
    ['justification', 'a\rb', /justification: no control/],
    ['metadata', 'a=1', /metadata: /],
    ['metadata', ['a'], /metadata: /],
    ['metadata', { a: 1 }, /metadata: /],
    ['metadata', { a: { b: 'c' } }, /metadata: /],
    ['metadata', { a: 'nul\u0000' }, /metadata: /],
    ['metadata', { '\udfff': 'a' }, /metadata/],
    ['metadata', pairs(17), /metadata: /],
    ['metadata', { a: bytes(2048) }, /metadata: /],
  ])('%s is refused: case %#', async (field, value, message) => {
    await refused({ [field]: value }, message);
  });

  it.each([undefined, null, 7, 'name', [PLAIN]])('%j is no input', async (value) => {
    const { keyring } = setUp();
    await typeError(() => keyring.issue(untyped(value), AUTHORITY), /issue: pass an object/);
  });

  it('is not taken from a prototype', async () => {
    const { keyring } = setUp();
    await typeError(
      () => keyring.issue(untyped(Object.create(PLAIN)), AUTHORITY),
      /issue: write name as an own field/,
    );
  });

  it('goes up to its limits', async () => {
    const { keyring } = setUp();
    const entities = many(999);
    const { info } = await keyring.issue(
      input({
        name: '\u{1f511}'.repeat(100),
        justification: 'x'.repeat(500),
        accessibleEntities: entities,
        metadata: { ...pairs(15), a: 'x'.repeat(2048 - 15 - 40 + 4) },
        expiresAt: new Date(START + 1),
      }),
      { entityUuid: OWN, entities },
    );
    expect(info.accessibleEntities).toHaveLength(1000);
    await refused(
      { accessibleEntities: [...entities, NOWHERE] },
      /at most 1000 entities, your own included/,
    );
  });

  // The bound of a key was one of its maker too: an operator of 1,001 organizations could make no
  // key at all.
  it('an authority may hold more entities than a key', async () => {
    const { keyring } = setUp();
    const entities = many(5000);
    const { info } = await keyring.issue(input({ accessibleEntities: entities.slice(-1) }), {
      entityUuid: OWN,
      entities,
    });
    expect(info.accessibleEntities).toEqual([OWN, entities.at(-1)]);
  });

  it('has its name composed: what looks the same is the same', async () => {
    const { keyring } = setUp();
    const { info } = await keyring.issue(input({ name: 'Zu\u0308rich' }), AUTHORITY);
    expect(info.name).toBe('Z\u00fcrich');
    // 100 characters that composing makes of 200.
    await keyring.issue(input({ name: 'u\u0308'.repeat(100) }), AUTHORITY);
  });

  it('names properties of Object.prototype in metadata without reaching it', async () => {
    const { keyring, store } = setUp();
    const metadata = JSON.parse('{"__proto__":"a","constructor":"b","toString":"c"}') as object;
    const { key, info } = await keyring.issue(input({ metadata }), AUTHORITY);
    const principal = await keyring.verify(key);
    for (const shown of [
      principal.metadata,
      info.metadata,
      (await rowOf(store, info.keyId)).metadata,
    ]) {
      expect(JSON.stringify(shown)).toBe('{"__proto__":"a","constructor":"b","toString":"c"}');
    }
    expect(({} as { a?: unknown }).a).toBeUndefined();
  });

  it('is copied: what the caller changes later changes nothing', async () => {
    const { keyring, store } = setUp();
    const asked = { scopes: ['threats:read'], accessibleEntities: [OWN], metadata: { a: '1' } };
    const expiresAt = new Date(START + HOUR);
    const { info } = await keyring.issue(input({ ...asked, expiresAt }), AUTHORITY);
    asked.scopes.push('users:delete');
    asked.accessibleEntities.push(OTHER);
    asked.metadata.a = '2';
    expiresAt.setTime(START + 99 * HOUR);
    const row = await rowOf(store, info.keyId);
    expect(row).toMatchObject({
      scopes: ['threats:read'],
      accessibleEntities: [OWN],
      metadata: { a: '1' },
    });
    expect(row.expiresAt).toBe(START + HOUR);
    // A `Date` handed out is the receiver's own.
    info.createdAt.setTime(0);
    expect((await keyring.get(info.keyId, AUTHORITY))?.createdAt).toEqual(new Date(START));
  });
});

it('refuses metadata that is not a plain object, and drops nothing', async () => {
  const metadata = untyped<Record<string, string>>(new Map([['team', 'a']]));
  await typeError(() => setUp().keyring.issue({ ...PLAIN, metadata }, AUTHORITY), /metadata/);
});

it('grants 256 scopes of a wildcard', async () => {
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
