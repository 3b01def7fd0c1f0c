import { deepStrictEqual } from 'node:assert/strict';
import { inspect } from 'node:util';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import {
  canAddress,
  createKeyring,
  definePolicy,
  defineScopes,
  hasScopes,
  type Principal,
  requireEntity,
  requireScopes,
  toMe,
} from 'keyscope';
import { memoryStore } from 'keyscope/stores/memory';
import { describe, expect, it } from 'vitest';
import {
  AUTHORITY,
  denied,
  issue,
  NOWHERE,
  OTHER,
  OWN,
  rejecting,
  rowOf,
  setUp,
  THIRD,
  untyped,
} from '../support/keyring.ts';

async function principalOf(
  scopes: readonly string[] = ['threats:read', 'decoys:read'],
): Promise<Principal> {
  const { keyring } = setUp();
  const input = {
    name: 'ci',
    scopes: untyped<['threats:read']>(scopes),
    expiresAt: 'never',
    metadata: { a: '1' },
  } as const;
  const { key } = await keyring.issue(
    { ...input, accessibleEntities: [OTHER] },
    { ...AUTHORITY, entities: [OTHER] },
  );
  return keyring.verify(key);
}

describe('requireScopes', () => {
  it('returns if the key has all scopes, and otherwise lists the required ones', async () => {
    const principal = await principalOf();
    expect(requireScopes(principal, 'threats:read')).toBeUndefined();
    requireScopes(principal, 'decoys:read', 'threats:read', 'decoys:read');
    const error = await denied(
      rejecting(() => requireScopes(principal, 'threats:read', 'threats:write')),
      'insufficient_scope',
      'scope_missing',
    );
    expect(error.requiredScopes).toEqual(['threats:read', 'threats:write']);
    expect(error.keyId).toBe(principal.keyId);
  });

  it('throws without scopes, which would admit everybody', async () => {
    const principal = await principalOf();
    for (const guard of [requireScopes, hasScopes]) {
      expect(() => guard(principal)).toThrow(/^scopes: name at least one/);
      expect(() => guard(principal, ...[])).toThrow(TypeError);
    }
  });

  it.each([
    '*:*',
    'threats:*',
    '*:read',
    '',
    'threats',
    'threats:read ',
    ' threats:read',
    'threats:read:x',
    'threats:read,decoys:read',
    'threats:read decoys:read',
    'THREATS:READ',
    '__proto__:read',
    'threat:read',
    'threats:rea',
    'threats:reads',
    'hreats:read',
    'x:read',
    undefined,
    null,
    7,
    ['threats:read'],
    { toString: () => 'threats:read' },
  ])('throws on %j, whether the key has it or not', async (scope) => {
    // A required wildcard must never be granted, and a typo must not look like a denial.
    const principal = await principalOf();
    for (const guard of [requireScopes, hasScopes]) {
      expect(() => guard(principal, untyped(scope))).toThrow(TypeError);
      expect(() => guard(principal, 'threats:read', untyped(scope))).toThrow(
        /^scopes: .*name scopes of the catalog/,
      );
      expect(() => guard(principal, 'threats:write', untyped(scope))).toThrow(
        /^scopes: .*name scopes of the catalog/,
      );
    }
  });

  it.each(['threats:write', 'decoys:update', 'users:read'])(
    'denies %s to a key that has threats:read and decoys:read',
    async (scope) => {
      const principal = await principalOf();
      expect(hasScopes(principal, scope)).toBe(false);
      await denied(
        rejecting(() => requireScopes(principal, scope)),
        'insufficient_scope',
        'scope_missing',
      );
    },
  );

  it('denies everything to a key without scopes, including names of Object.prototype', async () => {
    const principal = await principalOf([]);
    for (const scope of ['constructor:read', 'threats:read'])
      expect(hasScopes(principal, scope)).toBe(false);
    for (const name of ['valueof', 'tostring', 'has', 'size']) {
      for (const scope of [`${name}:read`, `threats:${name}`])
        expect(() => hasScopes<string>(principal, scope)).toThrow(
          /^scopes: name scopes of the catalog/,
        );
    }
    expect(hasScopes(await principalOf(['constructor:read']), 'constructor:read')).toBe(true);
  });
});

describe('requireEntity', () => {
  it('returns for each entity of the key, and throws for any other', async () => {
    const principal = await principalOf();
    for (const entity of [OWN, OTHER]) {
      expect(requireEntity(principal, entity)).toBeUndefined();
      expect(canAddress(principal, entity)).toBe(true);
    }
    for (const entity of [THIRD, NOWHERE, principal.keyId]) {
      const act = rejecting(() => requireEntity(principal, entity));
      const error = await denied(act, 'entity_forbidden', 'entity_not_accessible');
      expect(error.keyId).toBe(principal.keyId);
      expect(canAddress(principal, entity)).toBe(false);
    }
  });

  it.each([
    undefined,
    null,
    '',
    7,
    OWN.toUpperCase(),
    ` ${OWN}`,
    `${OWN}\n`,
    `{${OWN}}`,
    OWN.replaceAll('-', ''),
    `${OWN},${OTHER}`,
    '*',
    [OWN],
    { toString: () => OWN },
    '\u{ff10}a0a0a0a-0000-4000-8000-00000000000a',
  ])('refuses %j as malformed', async (entity) => {
    const principal = await principalOf();
    await denied(
      rejecting(() => requireEntity(principal, entity)),
      'invalid_request',
      Array.isArray(entity) ? 'repeated_entity' : 'malformed_entity',
    );
    expect(canAddress(principal, untyped(entity))).toBe(false);
  });
});

describe('a principal', () => {
  const policy = definePolicy(defineScopes({ threats: { read: 'Read.' } }), {
    list: ['threats:read'],
    whoami: [],
  });

  it('cannot be copied, forged or read from JSON', async () => {
    const principal = await principalOf();
    const fakes: readonly unknown[] = [
      { ...principal },
      { ...principal, scopes: ['threats:read', 'users:delete'] },
      Object.assign(Object.create(Object.getPrototypeOf(principal) as object) as object, principal),
      Object.create(principal),
      structuredClone(principal),
      JSON.parse(JSON.stringify(principal)),
      new Proxy(principal, {}),
      // Its traps are not called.
      new Proxy(principal, {
        getPrototypeOf: () => {
          throw new RangeError('a trap');
        },
      }),
      { keyId: NOWHERE, entityId: OWN, accessibleEntities: [OWN], scopes: ['threats:read'] },
      {},
      [],
      'principal',
      principal.keyId,
    ];
    for (const fake of fakes.map((value) => untyped<Principal>(value))) {
      for (const guard of [
        () => requireScopes(fake, 'threats:read'),
        () => hasScopes(fake, 'threats:read'),
        () => requireEntity(fake, OWN),
        () => canAddress(fake, OWN),
        () => policy.authorize(fake, 'list'),
        () => policy.authorize(fake, 'whoami', { entityId: OWN }),
        () => policy.allowed(fake),
      ]) {
        expect(guard).toThrow(TypeError);
        expect(guard).toThrow(/^principal: pass one that/);
      }
    }
  });

  it('cannot be copied, whatever the entity or the operation', async () => {
    const { keyring } = setUp();
    const { key } = await issue(keyring);
    const copy = { ...(await keyring.verify(key)) };
    expect(() => requireEntity(copy, 'malformed')).toThrow(TypeError);
    expect(() => canAddress(copy, 'malformed')).toThrow(TypeError);
    expect(() => policy.allowed(copy)).toThrow(TypeError);
  });

  it('cannot be null or undefined', () => {
    for (const nothing of [undefined, null].map((value) => untyped<Principal>(value))) {
      expect(() => requireScopes(nothing, 'threats:read')).toThrow(TypeError);
      expect(() => requireEntity(nothing, OWN)).toThrow(TypeError);
      expect(() => policy.authorize(nothing, 'whoami')).toThrow(TypeError);
    }
  });

  it('is accepted by a policy of another catalog, because guards use no keyring', async () => {
    expect(policy.authorize(await principalOf(), 'list')).toBe(OWN);
  });

  // It had the prototype of a class, so it was not strictly equal to its own fields.
  it('is plain data like the record, also in strict comparisons', async () => {
    const { keyring, store } = setUp();
    const { key, info } = await issue(keyring);
    const principal = await keyring.verify(key);
    for (const data of [principal, await rowOf(store, info.keyId)]) {
      deepStrictEqual(data, { ...data });
      expect(data).toStrictEqual(structuredClone(data));
      expect(inspect(data)).toMatch(/^\{/);
    }
  });

  it('cannot be changed, and neither can its lists', async () => {
    const { keyring, store } = setUp();
    const { key, info } = await issue(keyring);
    const principal = await keyring.verify(key);
    const record = await rowOf(store, info.keyId);
    const objects: readonly object[] = [
      principal,
      principal.scopes,
      principal.accessibleEntities,
      principal.metadata,
      record,
      record.scopes,
      record.accessibleEntities,
      record.metadata,
      record.scopesUsed,
      info.scopes,
      info.accessibleEntities,
      info.metadata,
    ];
    for (const object of objects) {
      for (const name of [...Object.keys(object), 'added', '0', 'length']) {
        expect(() => Object.assign(object, { [name]: 'users:delete' })).toThrow(TypeError);
        if (Object.hasOwn(object, name)) expect(Reflect.deleteProperty(object, name)).toBe(false);
      }
      expect(Object.isFrozen(object)).toBe(true);
    }
    expect(() => (principal.scopes as string[]).push('users:delete')).toThrow(TypeError);
    expect(() => (principal.accessibleEntities as string[]).push(OTHER)).toThrow(TypeError);
    expect(hasScopes(await keyring.verify(key), 'users:delete')).toBe(false);
  });

  it('grants nothing through a polluted prototype', async () => {
    const principal = await principalOf([]);
    Object.defineProperty(Object.prototype, 'threats:read', { value: true, configurable: true });
    try {
      expect(hasScopes(principal, 'threats:read')).toBe(false);
      expect(policy.allowed(principal)).toEqual(['whoami']);
    } finally {
      Reflect.deleteProperty(Object.prototype, 'threats:read');
    }
  });
});

describe('the shared sets of scopes', () => {
  it('give each key its own grant, even beyond the limit of the table', async () => {
    const actions = Array.from({ length: 11 }, (_, i) => [`a${i}`, 'Do it.'] as const);
    const wide = defineScopes({ things: Object.fromEntries(actions) });
    const keyring = createKeyring({
      prefix: 'acme',
      catalog: wide,
      store: memoryStore(),
      peppers: 'none',
    });
    // Each number is a subset: the scopes whose bits are set.
    for (let subset = 0; subset < 2 ** actions.length; subset += 1) {
      const scopes = wide.all.filter((_, index) => (subset >> index) % 2 === 1);
      const { key } = await keyring.issue({ name: 'n', scopes, expiresAt: 'never' }, AUTHORITY);
      const principal = await keyring.verify(key);
      expect(wide.all.filter((scope) => hasScopes(principal, scope))).toEqual(scopes);
    }
  });

  setFlagsFromString('--expose-gc');
  const gc = runInNewContext('gc') as () => void;
  const heap = () => {
    gc();
    return process.memoryUsage().heapUsed;
  };

  it('are bounded, whatever combinations callers issue', async () => {
    const actions = Array.from({ length: 16 }, (_, i) => [`a${i}`, 'Do it.'] as const);
    const wide = defineScopes({ things: Object.fromEntries(actions) });
    let subset = 0;
    const verify = async () => {
      const scopes = wide.all.filter((_, index) => (subset >> index) % 2 === 1);
      return {
        keyId: NOWHERE,
        entityId: OWN,
        accessibleEntities: [OWN],
        scopes,
      } as unknown as Principal;
    };
    const options = {
      prefix: 'acme',
      store: memoryStore(),
      peppers: 'none',
      checkParent: false,
    } as const;
    const keyring = createKeyring({ ...options, catalog: wide, tokens: { verify } });
    await keyring.authenticate('Bearer a.b.c');
    const before = heap();
    for (subset = 1; subset <= 20_000; subset++) await keyring.authenticate('Bearer a.b.c');
    expect(heap() - before).toBeLessThan(5e6);
    // Keeps everything in use until here.
    await keyring.authenticate('Bearer a.b.c');
  });
});

describe('a scope that left the catalog', () => {
  it('is shown and grants nothing', async () => {
    const store = memoryStore();
    const { keyring, clock } = setUp({ store, peppers: 'none' });
    const scopes = ['threats:read', 'threats:write', 'decoys:read'] as const;
    const { key } = await keyring.issue({ name: 'n', scopes, expiresAt: 'never' }, AUTHORITY);
    const smaller = defineScopes({
      decoys: { read: 'Read.', update: 'Update.' },
      threats: { list: 'List.' },
    });
    const later = createKeyring({
      prefix: 'acme',
      catalog: smaller,
      store,
      peppers: 'none',
      now: clock.now,
    });
    const principal = await later.verify(key);
    expect(toMe(principal).scopes).toEqual(scopes);
    expect(hasScopes(principal, 'decoys:read')).toBe(true);
    // `threats:read` is stored on the key, but no longer a scope of the service.
    for (const scope of ['threats:read', 'threats:write']) {
      expect(() => hasScopes<string>(principal, scope)).toThrow(
        /^scopes: name scopes of the catalog/,
      );
    }
    for (const scope of ['threats:list', 'decoys:update'] as const) {
      expect(hasScopes(principal, scope)).toBe(false);
    }
    const policy = definePolicy(smaller, {
      listDecoys: ['decoys:read'],
      listThreats: ['threats:list'],
    });
    expect(policy.allowed(principal)).toEqual(['listDecoys']);
    // The older keyring still grants it, because the catalog decides, not the record.
    expect(hasScopes(await keyring.verify(key), 'threats:read')).toBe(true);
  });
});
