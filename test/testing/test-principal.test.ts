/** Principals for tests of handlers. */
import { defineScopes, hasScopes, requireEntity, requireScopes } from 'keyscope';
import { testPrincipal } from 'keyscope/testing';
import { describe, expect, test } from 'vitest';

type Options = Parameters<typeof testPrincipal>[0];

const catalog = defineScopes({
  threats: { read: 'Read threats.', write: 'Update threats.' },
  decoys: { read: 'Read decoys.' },
});
const OWN = '0a0a0a0a-0000-4000-8000-00000000000a';
const OTHER = '0b0b0b0b-0000-4000-8000-00000000000b';

describe('testPrincipal', () => {
  test('makes a principal that guards accept', () => {
    const principal = testPrincipal({
      catalog,
      scopes: ['decoys:read', 'threats:read'],
      entityId: OWN,
    });
    expect(principal).toEqual({
      keyId: '00000000-0000-4000-8000-000000000002',
      name: 'test',
      entityId: OWN,
      accessibleEntities: [OWN],
      scopes: ['threats:read', 'decoys:read'],
      metadata: {},
      expiresAt: null,
      via: 'key',
    });
    expect(hasScopes(principal, 'threats:read')).toBe(true);
    expect(() => requireScopes(principal, 'threats:write')).toThrow();
    expect(() => requireEntity(principal, OTHER)).toThrow();
    for (const frozen of [principal, principal.scopes, principal.metadata]) {
      expect(Object.isFrozen(frozen)).toBe(true);
    }
  });

  test('uses the given fields instead of its defaults', () => {
    const given = {
      keyId: 'k',
      name: 'n',
      metadata: { a: 'b' },
      expiresAt: 5,
      via: 'jwt',
    } as const;
    const principal = testPrincipal({
      catalog,
      scopes: [],
      entityId: OWN,
      accessibleEntities: [OTHER],
      ...given,
    });
    const expected = { ...given, scopes: [], accessibleEntities: [OWN, OTHER] };
    expect(principal).toMatchObject(expected);
  });

  test.each([
    ['a scope that the catalog lacks', { scopes: ['users:read'] }],
    ['a wildcard', { scopes: ['threats:*'] }],
    ['a text instead of a list', { scopes: 'threats:read' }],
    ['a malformed entity', { entityId: 'a b' }],
    ['malformed accessible entities', { accessibleEntities: ['a', ''] }],
    ['an unknown option', { scope: [] }],
  ])('throws a TypeError on %s', (_what, given) => {
    const options = { catalog, scopes: [], ...given } as unknown as Options;
    expect(() => testPrincipal(options)).toThrow(TypeError);
  });

  test('accepts ids of either kind', () => {
    const principal = testPrincipal({ catalog, scopes: [], entityId: 'org_2abc' });
    expect(principal).toMatchObject({ entityId: 'org_2abc', accessibleEntities: ['org_2abc'] });
  });

  // Regression: the engine's error about `all` did not mention the catalog.
  test.each([undefined, null, {}, ['threats:read'], { all: ['threats:read'] }])(
    'names the missing catalog: %j',
    (odd) => {
      const given: unknown[] = [{ catalog: odd, scopes: [] }];
      if (odd === undefined) given.push({ scopes: [] });
      const message = 'testPrincipal: catalog: pass the catalog that defineScopes returned';
      for (const options of given) {
        expect(() => testPrincipal(options as Options)).toThrow(new TypeError(message));
      }
    },
  );

  test('rejects options inherited from a class or a prototype', () => {
    class OptionsWithGetter {
      readonly catalog = catalog;
      get scopes(): readonly ['threats:read'] {
        return ['threats:read'];
      }
    }
    expect(() => testPrincipal(new OptionsWithGetter())).toThrow(
      /^testPrincipal: write scopes as an own field/,
    );
    Object.assign(Object.prototype, { expiresAt: 5 });
    try {
      expect(() => testPrincipal({ catalog, scopes: [] })).toThrow(
        /^testPrincipal: write expiresAt as an own field/,
      );
    } finally {
      Reflect.deleteProperty(Object.prototype, 'expiresAt');
    }
  });
});
