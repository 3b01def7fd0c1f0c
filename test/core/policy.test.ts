import fc from 'fast-check';
import { coversScopes, definePolicy, defineScopes, hasScopes, type Principal } from 'keyscope';
import { describe, expect, it } from 'vitest';
import { requestedEntity } from '../../src/core/policy.js';
import {
  AUTHORITY,
  catalog,
  denied,
  issue,
  NOWHERE,
  OTHER,
  OWN,
  setUp,
  THIRD,
  untyped,
} from '../support/keyring.ts';
import { runs } from '../support/runs.ts';

const policy = definePolicy(catalog, {
  whoami: [],
  listThreats: ['threats:read'],
  triage: ['threats:write', 'threats:read'],
  createUser: ['users:write'],
  constructor: ['constructor:read'],
});

const { keyring } = setUp();

/** A principal with these scopes, over its own entity and one more. */
async function holding(scopes: readonly string[]) {
  const input = {
    name: 'n',
    scopes: untyped<['threats:read']>(scopes),
    expiresAt: 'never',
    justification: 'j',
  } as const;
  const { key } = await keyring.issue(
    { ...input, accessibleEntities: [OTHER] },
    { ...AUTHORITY, entities: [OTHER] },
  );
  return keyring.verify(key);
}

describe('policy.authorize', () => {
  it('returns the entity that it checked, by default the key’s own', async () => {
    const principal = await holding(['threats:read']);
    const authorize = (...rest: [options?: { entityId?: unknown }]) =>
      policy.authorize(principal, 'listThreats', ...rest);
    for (const none of [undefined, null, []]) expect(authorize({ entityId: none })).toBe(OWN);
    expect(authorize()).toBe(OWN);
    expect(authorize({})).toBe(OWN);
    for (const one of [OWN, OTHER]) {
      expect(authorize({ entityId: one })).toBe(one);
      expect(authorize({ entityId: [one] })).toBe(one);
    }
  });

  it.each([
    ['repeated', [OWN, OTHER]],
    ['repeated with the same value', [OWN, OWN]],
    ['repeated with an empty text', [OWN, '']],
    ['empty', ''],
    ['a list of the empty text', ['']],
    ['upper case', OTHER.toUpperCase()],
    ['padded', ` ${OTHER}`],
    ['two in one text', `${OWN},${OTHER}`],
    ['a nested list', [[OTHER]]],
    ['an object', { 0: OTHER }],
    ['a number', 0],
    ['false', false],
    ['a wildcard', '*'],
    ['a prototype name', '__proto__'],
  ])(
    'refuses an entity that is %s, and uses neither the first nor the own one',
    async (_what, entityId) => {
      const principal = await holding(['threats:read']);
      const act = async () => policy.authorize(principal, 'listThreats', { entityId });
      const isOne = !Array.isArray(entityId) || String(entityId) === '';
      const reason = isOne ? 'malformed_entity' : 'repeated_entity';
      const error = await denied(act, 'invalid_request', reason);
      expect(error.keyId).toBe(principal.keyId);
    },
  );

  it('refuses an entity that the key cannot address', async () => {
    const principal = await holding(['threats:read']);
    for (const entityId of [THIRD, NOWHERE, [THIRD]]) {
      const act = async () => policy.authorize(principal, 'listThreats', { entityId });
      await denied(act, 'entity_forbidden', 'entity_not_accessible');
    }
  });

  it('checks scopes first, so callers without one learn nothing about entities', async () => {
    const principal = await holding(['threats:read']);
    for (const entityId of [undefined, THIRD, '', [OWN, OTHER]]) {
      const act = async () => policy.authorize(principal, 'triage', { entityId });
      const error = await denied(act, 'insufficient_scope', 'scope_missing');
      expect(error.requiredScopes).toEqual(['threats:read', 'threats:write']);
    }
  });

  it('requires every scope of the operation', async () => {
    expect(policy.authorize(await holding(['threats:read', 'threats:write']), 'triage')).toBe(OWN);
    const act = async () =>
      policy.authorize(await holding(['threats:write', 'users:write']), 'triage');
    await denied(act, 'insufficient_scope', 'scope_missing');
  });

  it('admits any valid key if the table says [], and only then', async () => {
    const principal = await holding([]);
    expect(policy.authorize(principal, 'whoami', { entityId: OTHER })).toBe(OTHER);
    const act = async () => policy.authorize(principal, 'whoami', { entityId: THIRD });
    await denied(act, 'entity_forbidden', 'entity_not_accessible');
    expect(policy.allowed(principal)).toEqual(['whoami']);
  });

  it.each([
    'listthreats',
    'toString',
    '__proto__',
    'hasOwnProperty',
    '',
    undefined,
    null,
    7,
    ['whoami'],
  ])('throws on the operation %j, which is not in the table', async (operation) => {
    const principal = await holding(['threats:read']);
    const name = untyped<'whoami'>(operation);
    expect(() => policy.authorize(principal, name)).toThrow(/^policy: .* is not in the table/);
    expect(() => policy.leastScopes([name])).toThrow(TypeError);
  });

  it('throws on unknown options, and does not fall back to the own entity', async () => {
    const { keyring } = setUp();
    const principal = await keyring.verify((await issue(keyring)).key);
    for (const options of [OTHER, { entity: OTHER }, null]) {
      expect(() => policy.authorize(principal, 'listThreats', untyped(options))).toThrow(
        /^authorize: /,
      );
    }
  });
});

describe('requestedEntity', () => {
  it.each([
    ['the own entity for nothing', undefined, OWN],
    ['the own entity for null', null, OWN],
    ['the own entity for an empty list', [], OWN],
    ['the own entity for a list of nothing', [undefined], OWN],
    ['the entity in a list of one', [OTHER], OTHER],
    ['the requested entity', OTHER, OTHER],
    ['a requested empty text', '', ''],
    ['an unchanged list of two', [OWN, OTHER], [OWN, OTHER]],
    ['an unchanged list of one and undefined', [OTHER, undefined], [OTHER, undefined]],
  ])('is %s', (_what, asked, meant) => {
    expect(requestedEntity(asked, OWN)).toEqual(meant);
  });

  it('is undefined if no entity was requested and nobody authenticated', () => {
    expect(requestedEntity(undefined, undefined)).toBeUndefined();
  });
});

describe('a policy', () => {
  it('lists the operations that a principal may use, in the order of the table', async () => {
    expect(policy.operations).toEqual([
      'whoami',
      'listThreats',
      'triage',
      'createUser',
      'constructor',
    ]);
    expect(policy.allowed(await holding(['threats:read', 'threats:write']))).toEqual([
      'whoami',
      'listThreats',
      'triage',
    ]);
    expect(policy.allowed(await holding(['constructor:read', 'users:write']))).toEqual([
      'whoami',
      'createUser',
      'constructor',
    ]);
  });

  it('allows exactly the operations that authorize allows, whatever the scopes', async () => {
    const cases = fc.uniqueArray(fc.constantFrom(...catalog.all));
    await fc.assert(
      fc.asyncProperty(cases, async (scopes) => {
        const principal = await holding(scopes);
        const passes = policy.operations.filter((operation) => {
          try {
            return policy.authorize(principal, operation) === OWN;
          } catch {
            return false;
          }
        });
        expect(policy.allowed(principal)).toEqual(passes);
        // And no more than its scopes allow, by an independent reading of the table.
        for (const operation of passes) {
          const least = policy.leastScopes([operation]);
          expect(coversScopes(scopes, least)).toBe(true);
          expect(least.length === 0 || hasScopes(principal, ...least)).toBe(true);
        }
      }),
      { numRuns: runs(300) },
    );
  });

  it('returns the fewest scopes that an integration needs, in catalog order', () => {
    expect(policy.leastScopes(['createUser', 'triage', 'listThreats'])).toEqual([
      'threats:read',
      'threats:write',
      'users:write',
    ]);
    expect(policy.leastScopes([])).toEqual([]);
    expect(policy.leastScopes(['whoami'])).toEqual([]);
  });

  it('returns the operations that are not in the table', () => {
    expect(policy.unmapped(['whoami', 'exportReport', 'toString', 'exportReport'])).toEqual([
      'exportReport',
      'toString',
      'exportReport',
    ]);
    expect(policy.unmapped(policy.operations)).toEqual([]);
    for (const names of [undefined, null, 'whoami', [7]]) {
      expect(() => policy.unmapped(untyped(names))).toThrow(/^names: /);
      expect(() => policy.leastScopes(untyped(names))).toThrow(TypeError);
    }
  });

  it('is frozen, and copies its table', async () => {
    const scopes: 'threats:read'[] = [];
    const table = { open: scopes };
    const own = definePolicy(catalog, table);
    scopes.push('threats:read');
    expect(own.authorize(await holding([]), 'open')).toBe(OWN);
    for (const object of [
      own,
      own.operations,
      own.allowed(await holding([])),
      own.leastScopes(['open']),
    ]) {
      expect(Object.isFrozen(object)).toBe(true);
    }
    expect(() => Object.assign(own, { authorize: () => OWN })).toThrow(TypeError);
  });

  it.each([
    ['nothing', undefined, /definePolicy: pass/],
    ['null', null, /definePolicy: pass/],
    ['a text', 'whoami', /definePolicy/],
    ['an empty table', {}, /at least one operation/],
    ['a list', [['threats:read'], []], /at least one operation/],
    ['a Map', new Map([['list', []]]), /at least one operation/],
    ['an inherited table', Object.create({ whoami: [] }), /at least one operation/],
    ['a scope that is not a list', { list: 'threats:read' }, /"list": pass a list/],
    ['undefined for an operation', { list: undefined }, /"list": pass a list/],
    ['true for an operation', { list: true }, /"list": pass a list/],
    ['a wildcard', { list: ['threats:*'] }, /definePolicy: "list": .*"threats:\*"/],
    ['every wildcard', { list: ['*:*'] }, /definePolicy: "list"/],
    [
      'a typo',
      { list: ['threats:raed'] },
      /"list": element 0: name a scope of the catalog, not "threats:raed"/,
    ],
    ['a malformed scope', { list: ['threats'] }, /definePolicy: "list": .*"threats"/],
    ['a hole', { list: new Array<string>(1) }, /element 0/],
  ])('cannot be made from a table that is or has %s', (_what, table, message) => {
    const make = () => definePolicy(catalog, untyped<Record<string, readonly []>>(table));
    expect(make).toThrow(TypeError);
    expect(make).toThrow(message);
  });

  it('can be made from a module namespace', () => {
    const table = Object.defineProperty({ whoami: [] }, Symbol.toStringTag, { value: 'Module' });
    expect(definePolicy(catalog, table).operations).toEqual(['whoami']);
  });

  it.each([undefined, null, {}, { all: catalog.all }])(
    'cannot be made from %j as a catalog',
    (given) => {
      const make = () => definePolicy(untyped<typeof catalog>(given), { whoami: [] });
      expect(make).toThrow(
        new TypeError('definePolicy: pass what defineScopes returned, then the table'),
      );
    },
  );

  // For `undefined`, the error was the engine's, about reading a property.
  // A promise: `await` was forgotten.
  it.each([undefined, null, 'key', {}, Promise.resolve({})])(
    'throws on %j as a principal, also for an operation without scopes',
    (given) => {
      const said =
        'principal: pass one that this copy of keyscope made; is an `await` or a guard missing?';
      const principal = untyped<Principal>(given);
      for (const options of [undefined, { entityId: OWN }, { entityId: [] }])
        expect(() => policy.authorize(principal, 'whoami', options)).toThrow(new TypeError(said));
      expect(() => policy.allowed(principal)).toThrow(new TypeError(said));
    },
  );

  it('may require reserved scopes, which are special only when granted', () => {
    const other = defineScopes({ a: { b: 'c' } }, { reserved: ['a:b'] });
    expect(definePolicy(other, { x: ['a:b'] }).leastScopes(['x'])).toEqual(['a:b']);
  });
});
