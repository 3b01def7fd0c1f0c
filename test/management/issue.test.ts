import { createKeyring, defineScopes, digestKey, isKey } from 'keyscope';
import { memoryStore } from 'keyscope/stores/memory';
import { describe, expect, it } from 'vitest';
import { readExpiry } from '../../src/management/issue.js';
import { complaint } from '../support/complaint.ts';
import {
  ANSWERING,
  AUTHORITY,
  HOUR,
  inputError,
  NOWHERE,
  OTHER,
  OWN,
  PEPPER,
  PLAIN,
  type Ring,
  rowOf,
  START,
  setUp,
  THIRD,
  untyped,
  untypedInput,
} from '../support/keyring.ts';
import { refusedAsInput } from '../support/managing.ts';

/** Asserts that `issue` refuses the input of a request, and names the field. */
async function refused(field: string, over: object, message: RegExp): Promise<void> {
  await refusedAsInput((keyring) => keyring.issue(untypedInput(over), AUTHORITY), field, message);
}

describe('issue', () => {
  it.each(ANSWERING)(
    'stores exactly the requested key, in a store that answers %s',
    async (_how, through) => {
      const { keyring, store, events } = setUp({ store: through(memoryStore()) });
      const { key, info } = await keyring.issue(
        untypedInput({
          expiresAt: new Date(START + HOUR),
          accessibleEntities: [THIRD, OTHER],
          justification: 'nightly',
          metadata: { b: '2', a: '1' },
        }),
        {
          entityId: OWN,
          entities: [OTHER, THIRD],
          scopes: ['*:read'],
          actor: 'ada',
          reason: 'the nightly job',
        },
      );
      expect(isKey(key, { prefix: 'acme' })).toBe(true);
      const row = await rowOf(store, info.keyId);
      expect(row).toEqual({
        format: 1,
        keyId: info.keyId,
        prefix: 'acme',
        hint: key.slice(-4),
        name: 'ci',
        digest: digestKey(key, PEPPER),
        seal: expect.stringMatching(/^[0-9a-f]{64}$/) as unknown,
        entityId: OWN,
        accessibleEntities: [OWN, THIRD, OTHER],
        scopes: ['threats:read'],
        justification: 'nightly',
        metadata: { a: '1', b: '2' },
        createdAt: START,
        createdBy: 'ada',
        expiresAt: START + HOUR,
        rotatedFrom: null,
        rootKeyId: info.keyId,
        issuedUnder: null,
        trust: null,
        revokedAt: null,
        suspendedAt: null,
        retireAt: null,
        withdrawn: [],
        endedBy: null,
        endReason: null,
        changedAt: null,
        lastUsedAt: null,
        scopesUsed: {},
      });
      const { digest: _digest, seal: _seal, ...shown } = row;
      expect(info).toEqual({
        ...shown,
        state: 'live',
        tampered: false,
        createdAt: new Date(START),
        expiresAt: new Date(START + HOUR),
        issuedUnder: null,
        trust: null,
      });
      expect(events).toEqual([
        {
          type: 'key.issued',
          time: START,
          keyId: info.keyId,
          entityId: OWN,
          scopes: ['threats:read'],
          accessibleEntities: [OWN, THIRD, OTHER],
          expiresAt: START + HOUR,
          actor: 'ada',
          reason: 'the nightly job',
        },
      ]);
    },
  );

  it('accepts an empty list of scopes, for a key without rights', async () => {
    const { keyring } = setUp();
    const { key, info } = await keyring.issue(untypedInput({ scopes: [] }), AUTHORITY);
    expect(info.scopes).toEqual([]);
    expect((await keyring.verify(key)).scopes).toEqual([]);
  });
});

describe('the scopes of a new key', () => {
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
  ])('are expanded immediately, in catalog order: %j', async (scopes, stored) => {
    const { keyring, store } = setUp();
    const { info } = await keyring.issue(untypedInput({ scopes }), AUTHORITY);
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
    'are refused if a wildcard matches reserved ones, justified or not: %j',
    async (scopes, message) => {
      await refused('scopes', { scopes }, message);
      await refused('scopes', { scopes, justification: 'I insist' }, message);
    },
  );

  it('include reserved ones if each is named and justified', async () => {
    const scopes = ['users:delete', 'threats:*', 'threats:delete'];
    await refused(
      'justification',
      { scopes },
      /^justification: say why the key needs threats:delete users:delete$/,
    );
    const { keyring, store } = setUp();
    const { info } = await keyring.issue(
      untypedInput({ scopes, justification: 'off-boarding' }),
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
    ['a typo', ['threats:raed'], /scopes of the catalog, not "threats:raed"/],
    ['an unknown resource', ['reports:*'], /not "reports:\*"/],
    ['a prototype name', ['__proto__:read'], /write resource:action, .*not "__proto__:read"/],
    ['another prototype name', ['constructor:write'], /not "constructor:write"/],
    ['a scope and a space', ['threats:read '], /not "threats:read "/],
    ['an upper-case scope', ['Threats:read'], /not "Threats:read"/],
    ['a Kelvin sign', ['threats:\u212Aill'], /\\u212a/],
    ['257 scopes', Array.from({ length: 257 }, () => 'threats:read'), /at most 256/],
  ])('are refused if they are %s', async (_what, scopes, message) => {
    await refused('scopes', { scopes }, message);
  });

  it('may be 256 names', async () => {
    const { keyring } = setUp();
    const { info } = await keyring.issue(
      untypedInput({ scopes: Array.from({ length: 256 }, () => 'threats:read') }),
      AUTHORITY,
    );
    expect(info.scopes).toEqual(['threats:read']);
  });

  it('may be 256 through a wildcard, and no more', async () => {
    const input = { name: 'n', scopes: ['*:*'], expiresAt: 'never' } as const;
    function issueAll(count: number) {
      const actions = Array.from({ length: count }, (_, i) => [`a${i}`, 'One of many.']);
      const wide = defineScopes({ r: Object.fromEntries(actions) as Record<string, string> });
      const store = memoryStore();
      const keyring = createKeyring({ prefix: 'acme', catalog: wide, store, peppers: 'none' });
      return keyring.issue(input, AUTHORITY);
    }
    expect((await issueAll(256)).info.scopes).toHaveLength(256);
    await inputError(
      () => issueAll(257),
      'scopes',
      /^scopes: at most 256 after expanding wildcards$/,
    );
  });
});

describe('the first argument of issue', () => {
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
    ['name', 'a\nb', /^name: no control, invisible or separator/],
    ['name', 'a\u0000b', /^name: no control, invisible or separator/],
    ['name', 'a\u009bb', /^name: no control, invisible or separator/],
    ['name', 'a\u001b[31m', /^name: no control, invisible or separator/],
    ['name', '\ud800', /name: .*surrogate/],
    ['name', 'a\u202eb', /^name: no control, invisible/],
    ['name', 'a\u200bb', /^name: no control, invisible/],
    ['name', 'a\u2028b', /^name: no control, invisible or separator/],
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
    ['expiresAt', new Date(START - 1), /expiresAt: pass/],
    ['accessibleEntities', OTHER, /accessibleEntities: pass a list/],
    ['accessibleEntities', [OTHER.toUpperCase()], /accessibleEntities: /],
    ['accessibleEntities', ['*'], /accessibleEntities: /],
    ['accessibleEntities', [`${OTHER} `], /accessibleEntities: /],
    ['accessibleEntities', [[OTHER]], /accessibleEntities: element 0/],
    ['accessibleEntities', many(1000), /accessibleEntities: at most 1000/],
    // Counted first: the elements of a long list are not read.
    ['accessibleEntities', Array(1001).fill('x'), /accessibleEntities: pass at most 1000/],
    ['justification', '', /justification: 1 to 500/],
    ['justification', null, /justification: pass a string/],
    ['justification', 'x'.repeat(501), /justification: 1 to 500/],
    ['justification', 'a\rb', /justification: no control/],
    ['justification', 'a\ufeffb', /^justification: no control, invisible/],
    ['justification', 'a\u2029b', /^justification: no control, invisible or separator/],
    ['metadata', 'a=1', /metadata: /],
    ['metadata', ['a'], /metadata: /],
    ['metadata', { a: 1 }, /metadata: /],
    ['metadata', { a: { b: 'c' } }, /metadata: /],
    ['metadata', { a: 'nul\u0000' }, /metadata: /],
    ['metadata', { '\udfff': 'a' }, /metadata/],
    ['metadata', { 'a"': 'b' }, /^metadata: .*no quotes, backslashes or control characters/],
    ['metadata', { 'a\\': 'b' }, /^metadata: .*no quotes, backslashes or control characters/],
    ['metadata', { 'a\n': 'b' }, /^metadata: .*no quotes, backslashes or control characters/],
    ['metadata', null, /^metadata: pass an object/],
    ['metadata', pairs(17), /metadata: /],
    ['metadata', { a: bytes(2048) }, /metadata: /],
  ])('is refused with a malformed %s: case %#', async (field, value, message) => {
    await refused(field, { [field]: value }, message);
  });

  it.each([undefined, null, 7, 'name', [PLAIN]])('is refused if it is %j', async (value) => {
    const act = (keyring: Ring) => keyring.issue(untyped(value), AUTHORITY);
    await refusedAsInput(act, 'input', /^issue: pass an object with name, scopes, expiresAt, /);
  });

  it('is not read from a prototype', async () => {
    const act = (keyring: Ring) => keyring.issue(untyped(Object.create(PLAIN)), AUTHORITY);
    await refusedAsInput(act, 'input', /^issue: write name as an own field/);
  });

  it('is accepted up to its limits', async () => {
    const { keyring } = setUp();
    const entities = many(999);
    const { info } = await keyring.issue(
      untypedInput({
        name: '\u{1f511}'.repeat(100),
        justification: 'x'.repeat(500),
        accessibleEntities: entities,
        metadata: { ...pairs(15), a: 'x'.repeat(2048 - 15 - 40 + 4) },
        expiresAt: new Date(START + 1),
      }),
      { ...AUTHORITY, entities },
    );
    expect(info.accessibleEntities).toHaveLength(1000);
    await refused(
      'accessibleEntities',
      { accessibleEntities: [...entities, NOWHERE] },
      /at most 1000 entities, your own included/,
    );
  });

  // The limit for keys also applied to authorities: an operator of 1,001 organizations could not
  // make any key.
  it('is accepted under an authority with more entities than a key may have', async () => {
    const { keyring } = setUp();
    const entities = many(5000);
    const { info } = await keyring.issue(untypedInput({ accessibleEntities: entities.slice(-1) }), {
      ...AUTHORITY,
      entities,
    });
    expect(info.accessibleEntities).toEqual([OWN, entities.at(-1)]);
  });

  it('has its name composed, so that names that look the same are the same', async () => {
    const { keyring } = setUp();
    const { info } = await keyring.issue(untypedInput({ name: 'Zu\u0308rich' }), AUTHORITY);
    expect(info.name).toBe('Z\u00fcrich');
    // Composing turns 200 characters into 100.
    await keyring.issue(untypedInput({ name: 'u\u0308'.repeat(100) }), AUTHORITY);
  });

  it('may use names of Object.prototype properties in metadata', async () => {
    const { keyring, store } = setUp();
    const metadata = JSON.parse('{"__proto__":"a","constructor":"b","toString":"c"}') as object;
    const { key, info } = await keyring.issue(untypedInput({ metadata }), AUTHORITY);
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

  it('is copied, so that later changes have no effect', async () => {
    const { keyring, store } = setUp();
    const asked = { scopes: ['threats:read'], accessibleEntities: [OWN], metadata: { a: '1' } };
    const expiresAt = new Date(START + HOUR);
    const { info } = await keyring.issue(untypedInput({ ...asked, expiresAt }), AUTHORITY);
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
    // The caller may change a returned `Date`.
    info.createdAt.setTime(0);
    const shown = await keyring.get(info.keyId, AUTHORITY);
    expect(shown).toMatchObject({ createdAt: new Date(START) });
  });

  it('is refused with metadata that is not a plain object, so that nothing gets lost', async () => {
    const metadata = untyped<Record<string, string>>(new Map([['team', 'a']]));
    await refused('metadata', { metadata }, /^metadata: pass an object/);
  });

  // In better-auth (CVE-2025-61928), a field of the body decided whose key was made.
  it('carries no authority, even if a request body is spread into it', async () => {
    const bodies = [
      { entityId: OTHER },
      { entities: [OTHER] },
      { keyId: NOWHERE },
      { rotatedFrom: NOWHERE },
      { digest: 's1$00', seal: null },
      { revokedAt: null },
      { createdAt: 0 },
      { createdBy: 'root' },
      { actor: 'root' },
      { reason: 'because' },
      { maxLifetimeMs: 1e15 },
      { rootKeyId: NOWHERE },
      { withdrawn: [] },
      JSON.parse('{"__proto__":{"entityId":"x"}}') as object,
      { constructor: 1 },
    ];
    for (const body of bodies) {
      const spread = Object.defineProperties({ ...PLAIN }, Object.getOwnPropertyDescriptors(body));
      await refused('input', { ...spread, ...body }, /^issue: unknown field "/);
    }
  });
});

describe('readExpiry', () => {
  it('reads never as null, and refuses times that are not after now', () => {
    expect(readExpiry('never', START)).toBeNull();
    expect(readExpiry(new Date(START + 1), START)).toBe(START + 1);
    for (const odd of [new Date(START), new Date(Number.NaN), START + 1, null, undefined, 'Never'])
      expect(complaint(() => readExpiry(odd, START))).toMatch(/^expiresAt: pass a valid Date/);
  });

  it('reads the time of a Date, whatever its methods return', async () => {
    class Odd extends Date {
      override getTime(): number {
        return Infinity;
      }
    }
    const { keyring } = setUp();
    const { info } = await keyring.issue({ ...PLAIN, expiresAt: new Odd(START + 1000) }, AUTHORITY);
    expect(info.expiresAt).toEqual(new Date(START + 1000));
  });
});
