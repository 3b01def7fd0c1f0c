/**
 * The catalog: order, expansion, difference, reserved scopes, and names of prototype properties.
 */
import fc from 'fast-check';
import type { ScopeDefinition } from 'keyscope';
import {
  coversScopes,
  createKeyring,
  definePolicy,
  defineScopes,
  generateKey,
  hasScopes,
  intersectScopes,
  normalizeScopes,
  requireScopes,
  unionScopes,
} from 'keyscope';
import { memoryStore } from 'keyscope/stores/memory';
import { describe, expect, it } from 'vitest';
import { complaint } from '../support/complaint.ts';
import { uuid } from '../support/vectors.ts';

const catalog = defineScopes(
  {
    threats: { read: 'Read threats.', write: 'Write threats.' },
    decoys: { read: 'Read decoys.', delete: 'Delete decoys.' },
    users: { read: 'Read users.', delete: 'Delete users.' },
  },
  { reserved: ['users:*', '*:delete'] },
);

describe('a catalog', () => {
  it('lists all scopes in the order of the definition', () => {
    const written = [
      'threats:read',
      'threats:write',
      'decoys:read',
      'decoys:delete',
      'users:read',
      'users:delete',
    ];
    expect(catalog.all).toEqual(written);
    expect([catalog, catalog.all].every(Object.isFrozen)).toBe(true);
  });

  it('describes a scope with its sentence, in NFC', () => {
    expect(catalog.describe('threats:write')).toBe('Write threats.');
    expect(defineScopes({ a: { b: 'Cafe\u0301.' } }).describe('a:b')).toBe('Caf\u00e9.');
    for (const odd of ['threats:delete', 'threats:*', '*:*', '', 'constructor', 'Threats:read']) {
      expect(complaint(() => catalog.describe(odd))).toMatch(
        /^scopes: pass a scope of the catalog, not /,
      );
    }
  });

  it.each<[readonly string[], readonly string[]]>([
    [[], []],
    [
      ['users:read', 'threats:read'],
      ['threats:read', 'users:read'],
    ],
    [['*:read'], ['threats:read', 'decoys:read', 'users:read']],
    [['users:*'], ['users:read', 'users:delete']],
    [
      ['*:delete', 'threats:*'],
      ['threats:read', 'threats:write', 'decoys:delete', 'users:delete'],
    ],
    [['*:*'], catalog.all],
    [
      ['threats:read', 'threats:read', 'threats:*'],
      ['threats:read', 'threats:write'],
    ],
  ])('expands %j', (patterns, scopes) => {
    expect(catalog.expand(patterns)).toEqual(scopes);
    expect(Object.isFrozen(catalog.expand(patterns))).toBe(true);
  });

  it.each<[readonly string[], readonly string[], readonly string[]]>([
    [['*:*'], ['*:read'], ['threats:write', 'decoys:delete', 'users:delete']],
    [['users:*'], ['users:*'], []],
    [['users:*'], ['users:read'], ['users:delete']],
    [['users:read'], ['*:*'], []],
    [['threats:read'], [], ['threats:read']],
    [[], ['*:*'], []],
  ])('returns the scopes of %j that are not in %j', (a, b, rest) => {
    expect(catalog.difference(a, b)).toEqual(rest);
    expect(Object.isFrozen(catalog.difference(a, b))).toBe(true);
  });

  it('cannot be made from a list, and the error says what to pass', () => {
    for (const odd of [
      ['threats:read'],
      { threats: ['read'] },
      'threats:read',
      { threats: 'read' },
      null,
      new Map(),
    ])
      expect(complaint(() => defineScopes(odd as never))).toBe(
        'defineScopes: pass { resource: { action: sentence } }, with no empty object',
      );
  });

  it('refuses to expand or subtract unknown scopes, anywhere in a list', () => {
    for (const odd of [
      'threats:raed',
      'threats:delete',
      'canaries:*',
      '*:update',
      'threats',
      'Threats:read',
      '',
    ]) {
      for (const list of [[odd], ['threats:read', odd], [odd, '*:*']]) {
        expect(complaint(() => catalog.expand(list))).toMatch(/^scopes: /);
        expect(complaint(() => catalog.difference(list, []))).toMatch(/^scopes: /);
        expect(complaint(() => catalog.difference(['*:*'], list))).toMatch(/^scopes: /);
      }
    }
  });

  it('reserves exactly the scopes that reserved patterns match', () => {
    expect(catalog.all.filter(catalog.isReserved)).toEqual([
      'decoys:delete',
      'users:read',
      'users:delete',
    ]);
    for (const odd of [
      'users:*',
      '*:delete',
      '*:*',
      'users',
      'threats:delete',
      '',
      'constructor',
      'Users:read',
    ]) {
      expect(catalog.isReserved(odd)).toBe(false);
    }
    for (const odd of [undefined, null, 1, {}, ['users:read']])
      expect(catalog.isReserved(odd as string)).toBe(false);
    expect(
      defineScopes({ a: { b: 'A sentence.' } }).all.some(
        defineScopes({ a: { b: 'A.' } }).isReserved,
      ),
    ).toBe(false);
  });
});

describe('the laws of a catalog', () => {
  const known = fc.constantFrom(
    ...catalog.all,
    'threats:*',
    'users:*',
    '*:read',
    '*:delete',
    '*:*',
  );
  const sets = fc.array(known, { maxLength: 5 });

  it('let a pattern expand to exactly the scopes that the algebra covers', () => {
    fc.assert(
      fc.property(sets, (set) => {
        const expanded = catalog.expand(set);
        expect(expanded).toEqual(catalog.all.filter((scope) => coversScopes(set, [scope])));
        expect(catalog.expand(expanded)).toEqual(expanded);
        expect(catalog.expand(normalizeScopes(set))).toEqual(expanded);
        expect(coversScopes(set, expanded)).toBe(true);
      }),
    );
  });

  it('let difference and intersection divide a set', () => {
    fc.assert(
      fc.property(sets, sets, (a, b) => {
        const rest = catalog.difference(a, b);
        const common = catalog.all.filter((scope) => coversScopes(intersectScopes(a, b), [scope]));
        expect(catalog.expand(unionScopes(rest, common))).toEqual(catalog.expand(a));
        expect(rest.filter((scope) => common.includes(scope))).toEqual([]);
        expect(rest.some((scope) => coversScopes(b, [scope]))).toBe(false);
      }),
    );
  });
});

describe('names of prototype properties', () => {
  const names = [Object, Map, Array, Function].flatMap(({ prototype }) =>
    Object.getOwnPropertyNames(prototype),
  );
  const legal = [...new Set(names.map((name) => name.toLowerCase()))].filter((name) =>
    /^[a-z][a-z0-9_-]*$/.test(name),
  );
  const illegal = [...new Set(names)].filter((name) => !/^[a-z][a-z0-9_-]*$/.test(name));

  it('include legal and illegal ones', () => {
    expect(legal).toEqual(
      expect.arrayContaining(['constructor', 'has', 'get', 'set', 'keys', 'valueof']),
    );
    expect(illegal).toEqual(
      expect.arrayContaining(['__proto__', 'hasOwnProperty', '__defineGetter__', 'toString']),
    );
  });

  it('are ordinary names if they are legal, in every operation', async () => {
    for (const name of legal) {
      // The pattern is granted and the name is in the catalog. Neither grants another scope.
      const named = defineScopes({
        [name]: { read: 'A sentence.', [name]: 'Another.' },
        other: { read: 'Other.' },
      });
      const own = [...new Set([`${name}:read`, `${name}:${name}`])];
      expect(named.expand([`${name}:*`])).toEqual(own);
      expect(named.describe(`${name}:${name}`)).toBe('Another.');
      expect(named.isReserved(`${name}:read`)).toBe(false);
      expect(named.difference(['*:*'], [`${name}:*`])).toEqual(['other:read']);
      expect(coversScopes([`${name}:*`], ['other:read'])).toBe(false);
      const keyring = createKeyring({
        prefix: 'acme',
        catalog: named,
        store: memoryStore(),
        peppers: 'none',
      });
      const input = {
        name,
        scopes: [`${name}:*`],
        expiresAt: 'never',
        metadata: { [name]: name },
      } as const;
      const { key } = await keyring.issue(input as never, { entityId: uuid(1), scopes: 'all' });
      const principal = await keyring.verify(key);
      expect(principal.scopes).toEqual(own);
      expect(hasScopes<string>(principal, ...own)).toBe(true);
      expect(hasScopes<string>(principal, 'other:read')).toBe(false);
      expect(() => requireScopes<string>(principal, 'other:read')).toThrow();
      const policy = definePolicy(named, { [name]: own as never, other: ['other:read'] as never });
      expect(policy.allowed(principal)).toEqual([name]);
      expect(policy.unmapped([name, 'other'])).toEqual([]);
      expect(Object.entries(principal.metadata)).toEqual([[name, name]]);
    }
  });

  it('are not in a catalog that does not define them', () => {
    const plain = definePolicy(catalog, { whoami: [] });
    for (const name of [...legal, ...illegal]) {
      for (const scope of [name, `${name}:read`, `threats:${name}`]) {
        expect(catalog.isReserved(scope)).toBe(false);
        expect(complaint(() => catalog.describe(scope))).toMatch(/^scopes: /);
        expect(complaint(() => catalog.expand([scope]))).toMatch(/^scopes: /);
      }
      expect(plain.unmapped([name])).toEqual([name]);
    }
  });

  it('are refused as resources and as actions if they are illegal', () => {
    for (const name of illegal) {
      expect(complaint(() => defineScopes({ [name]: { read: 'A sentence.' } }))).toMatch(
        /^defineScopes: /,
      );
      expect(complaint(() => defineScopes({ a: { [name]: 'A sentence.' } }))).toMatch(
        /^defineScopes: /,
      );
    }
    const parsed = JSON.parse('{"__proto__":{"read":"A sentence."}}') as ScopeDefinition;
    expect(complaint(() => defineScopes(parsed))).toMatch(/^defineScopes: /);
  });

  it('are ignored if they are inherited', () => {
    const inherited = Object.create({ users: { read: 'Inherited.' } }) as object;
    const definition = Object.assign(inherited, { a: { b: 'A sentence.' } });
    expect(defineScopes(definition).all).toEqual(['a:b']);
    const actions = Object.assign(Object.create({ c: 'Inherited.' }) as object, {
      b: 'A sentence.',
    });
    expect(defineScopes({ a: actions }).all).toEqual(['a:b']);
  });
});

describe('defineScopes', () => {
  const key = generateKey({ prefix: 'acme' });

  it.each<[string, unknown]>([
    ['nothing', undefined],
    ['null', null],
    ['a text', 'threats:read'],
    ['a number', 4],
    ['a list', ['threats:read']],
    ['an empty object', {}],
    ['an empty resource', { a: {} }],
    ['an empty resource next to another', { a: { b: 'A.' }, c: {} }],
    ['a resource that is null', { a: null }],
    ['a resource that is a text', { a: 'read' }],
    ['a resource that is a list', { a: ['read'] }],
    ['a resource that is empty text', { a: '' }],
    ['a wildcard as a resource', { '*': { b: 'A.' } }],
    ['a wildcard as an action', { a: { '*': 'A.' } }],
    ['an upper-case name', { Threats: { read: 'A.' } }],
    ['an upper-case action', { threats: { Read: 'A.' } }],
    ['an empty name', { '': { read: 'A.' } }],
    ['an empty action', { a: { '': 'A.' } }],
    ['a colon in a name', { 'a:b': { c: 'A.' } }],
    ['a name of 65 characters', { ['a'.repeat(65)]: { b: 'A.' } }],
    ['a name of a million characters', { ['a'.repeat(1e6)]: { b: 'A.' } }],
    ['a name beyond ASCII', { thre\u0430ts: { read: 'A.' } }],
    ['a name with a control character', { 'a\n': { b: 'A.' } }],
    ['an empty sentence', { a: { b: '' } }],
    ['a sentence that is null', { a: { b: null } }],
    ['a sentence that is true', { a: { b: true } }],
    ['a sentence that is an object', { a: { b: { text: 'A.' } } }],
    ['a sentence of 201 characters', { a: { b: 'a'.repeat(201) } }],
    ['a sentence of a million characters', { a: { b: 'a'.repeat(1e6) } }],
    ['a sentence with LF', { a: { b: 'A.\n' } }],
    ['a sentence with half a surrogate pair', { a: { b: '\ud800' } }],
  ])('refuses a definition that is or has %s', (_, definition) => {
    expect(complaint(() => defineScopes(definition as ScopeDefinition))).toMatch(/^defineScopes: /);
  });

  it.each<[string, unknown, RegExp]>([
    ['null', null, /^defineScopes: pass an object/],
    ['a list', ['users:*'], /^defineScopes: pass an object/],
    // A Set was read as options without `reserved`, which left every scope unreserved.
    ['a Set', new Set(['users:*']), /^defineScopes: pass an object/],
    ['a Map', new Map([['reserved', ['users:*']]]), /^defineScopes: pass an object/],
    ['an unknown field', { reservd: ['a:b'] }, /^defineScopes: unknown field "reservd"/],
    ['reserved that is a text', { reserved: 'a:b' }, /^scopes: /],
    ['reserved that is null', { reserved: null }, /^scopes: /],
    ['reserved with a number', { reserved: [1] }, /^scopes: /],
    ['reserved that is malformed', { reserved: ['a:b', 'A:b'] }, /^scopes: /],
    [
      'a reserved pattern that matches nothing',
      { reserved: ['a:b', 'users:*'] },
      /scopes of the catalog, not "/,
    ],
    ['a reserved typo', { reserved: ['a:c'] }, /scopes of the catalog, not "/],
  ])('refuses options that are or have %s', (_, options, message) => {
    const call = () => defineScopes({ a: { b: 'A sentence.' } }, options as { reserved?: [] });
    expect(complaint(call)).toMatch(message);
  });

  it('quotes no key from a name, a sentence or an option', () => {
    const secret = key.slice(5);
    for (const call of [
      () => defineScopes({ [key]: { read: 'A sentence.' } }),
      () => defineScopes({ a: { [key]: 'A sentence.' } }),
      () => defineScopes({ a: { b: `${key}\n` } }),
      () => defineScopes({ a: { b: 'A sentence.' } }, { [key]: 1 } as { reserved?: [] }),
      () => defineScopes({ a: { b: 'A sentence.' } }, { reserved: [key] as never[] }),
      () => catalog.expand([key]),
      () => catalog.difference([], [key]),
      () => catalog.describe(key),
    ]) {
      expect(complaint(call)).not.toContain(secret);
    }
  });

  it('makes a catalog that accepts only lists of patterns', () => {
    for (const odd of [undefined, null, 'threats:read', 1, {}, [1], [null]]) {
      expect(complaint(() => catalog.expand(odd as string[]))).toMatch(/^scopes: /);
      expect(complaint(() => catalog.difference(odd as string[], []))).toMatch(/^scopes: /);
      expect(complaint(() => catalog.difference([], odd as string[]))).toMatch(/^scopes: /);
    }
  });

  it('copies its definition and its options', () => {
    const definition = { a: { b: 'A sentence.' } };
    const options = { reserved: ['a:b' as const] };
    const made = defineScopes(definition, options);
    definition.a.b = 'Another.';
    Object.assign(definition, { c: { d: 'More.' } });
    options.reserved.pop();
    expect([made.all, made.describe('a:b'), made.isReserved('a:b')]).toEqual([
      ['a:b'],
      'A sentence.',
      true,
    ]);
  });
});
