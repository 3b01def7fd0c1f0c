import fc from 'fast-check';
import { coversScopes, isAccessError } from 'keyscope';
import { describe, expect, it } from 'vitest';
import { ANY_ID } from '../../src/core/entity.js';
import { readAuthority, readGrantAuthority } from '../../src/management/authority.js';
import { complaint } from '../support/complaint.ts';
import {
  AUTHORITY,
  catalog,
  denied,
  NOWHERE,
  OTHER,
  OWN,
  setUp,
  THIRD,
  untypedInput,
} from '../support/keyring.ts';
import {
  authorityWith,
  CALLS,
  EACH_CALL,
  type ManagementCall,
  refusedAsBug,
  watched,
} from '../support/managing.ts';

/** The calls that grant rights. */
const GRANTS = ['issue', 'rotate'].map((name): [string, ManagementCall] => [
  name,
  CALLS[name] as ManagementCall,
]);

describe('readAuthority', () => {
  it('fills in absent fields: only the own entity, and no scopes', () => {
    const checked = {
      entityId: OWN,
      entities: [OWN],
      actor: undefined,
      reason: undefined,
      said: { by: null, reason: null },
      scopes: null,
      maxLifetimeMs: Number.POSITIVE_INFINITY,
      notAfter: Number.POSITIVE_INFINITY,
      keyId: null,
    };
    expect(readAuthority(ANY_ID, { entityId: OWN })).toEqual(checked);
    const absent = { entities: undefined, actor: undefined, reason: undefined };
    const unlimited = { maxLifetimeMs: undefined, notAfter: undefined, keyId: undefined };
    expect(readAuthority(ANY_ID, { entityId: OWN, ...absent, ...unlimited })).toEqual(checked);
  });

  it('adds the own entity to the list', () => {
    const { entities } = readAuthority(ANY_ID, { entityId: OWN, entities: [OTHER, OWN, OTHER] });
    expect(entities).toEqual([OWN, OTHER]);
  });

  it("keeps an empty list of scopes, which grants nothing, and reads 'all' as *:*", () => {
    expect(readAuthority(ANY_ID, { entityId: OWN, scopes: [] }).scopes).toEqual([]);
    expect(readAuthority(ANY_ID, { entityId: OWN, scopes: 'all' }).scopes).toEqual(['*:*']);
    expect(readAuthority(ANY_ID, { entityId: OWN, scopes: ['*:*'] }).scopes).toEqual(['*:*']);
  });

  it('copies its lists, so that later changes have no effect', () => {
    const given = { entityId: OWN, entities: [OTHER], scopes: ['threats:read'] };
    const checked = readGrantAuthority(ANY_ID, given);
    given.entities.push(THIRD);
    given.scopes.push('*:*');
    expect(checked).toMatchObject({ entities: [OWN, OTHER], scopes: ['threats:read'] });
  });
});

describe('the scopes of an authority', () => {
  // Omitting them used to grant the whole catalog.
  it.each(GRANTS)('cannot be omitted in %s', async (_name, call) => {
    const message = /^authority\.scopes: list the scopes that this call may grant, or 'all'$/;
    await refusedAsBug((keyring) => call(keyring, { entityId: OWN }), message);
  });

  it('can be omitted in every other call', () => {
    const others = EACH_CALL.filter(([name]) => name !== 'issue' && name !== 'rotate');
    expect(others).toHaveLength(7);
    expect(readAuthority(ANY_ID, { entityId: OWN }).scopes).toBeNull();
    expect(complaint(() => readGrantAuthority(ANY_ID, { entityId: OWN }))).toMatch(
      /^authority\.scopes/,
    );
  });

  it.each(EACH_CALL)('are checked in %s, too', async (_name, call) => {
    // A misspelt field of a session is `undefined`. That was read as absent, and so as the whole
    // catalog.
    const odd: readonly (readonly [unknown, RegExp])[] = [
      [undefined, /scopes: pass a list of strings, not undefined/],
      [null, /scopes: pass a list of strings, not null/],
      ['ALL', /scopes: pass a list of strings, not "ALL"/],
      ['all ', /scopes: pass a list of strings, not "all "/],
      ['*:*', /scopes: pass a list of strings, not "\*:\*"/],
      [true, /scopes: pass a list of strings/],
      [['all'], /write resource:action, .*not "all"/],
      [['threats:read', 'all'], /write resource:action, .*not "all"/],
      [[undefined], /scopes: element 0/],
      [new Array(1), /scopes: element 0/],
      [new Set(['threats:read']), /scopes: pass a list of strings/],
    ];
    for (const [scopes, message] of odd) {
      await refusedAsBug((keyring) => call(keyring, { entityId: OWN, scopes }), message);
    }
  });

  it.each([
    [['threats:read'], ['threats:write'], ['threats:read']],
    [['threats:read', 'decoys:*'], ['decoys:read'], ['threats:read', 'decoys:update']],
    [['decoys:*'], [], ['decoys:read', 'decoys:update']],
    [['threats:write'], ['*:read'], ['threats:write']],
  ])('are exceeded by %j if they are %j, by %j', async (scopes, held, excess) => {
    const { keyring, told } = watched();
    const authority = { entityId: OWN, scopes: held };
    const act = () => keyring.issue(untypedInput({ scopes }), authority);
    const error = await denied(act, 'ceiling_exceeded', 'scopes_beyond_authority');
    expect(error.excess).toEqual(excess);
    expect(told.calls).toEqual([]);
    expect(told.events.map(({ type }) => type)).toEqual(['management.denied']);
  });

  it("are the whole catalog if they are 'all', including reserved scopes", async () => {
    const { keyring } = setUp();
    const input = untypedInput({ scopes: [...catalog.all], justification: 'to test' });
    const { info } = await keyring.issue(input, { entityId: OWN, scopes: 'all' });
    expect(info.scopes).toEqual(catalog.all);
  });
});

describe('the entities of an authority', () => {
  it('are only its own by default', async () => {
    const { keyring } = setUp();
    const wanted = untypedInput({ accessibleEntities: [OTHER, OWN, THIRD] });
    const excessUnder = async (entities?: string[]) => {
      const act = () => keyring.issue(wanted, { ...AUTHORITY, entities });
      const error = await denied(act, 'ceiling_exceeded', 'entities_beyond_authority');
      return error.excess;
    };
    expect(await excessUnder()).toEqual([OTHER, THIRD]);
    expect(await excessUnder([])).toEqual([OTHER, THIRD]);
    expect(await excessUnder([THIRD])).toEqual([OTHER]);
    const { info } = await keyring.issue(wanted, { ...AUTHORITY, entities: [THIRD, OTHER] });
    expect(info.accessibleEntities).toEqual([OWN, OTHER, THIRD]);
  });

  it('go only to keys that ask for them', async () => {
    const { keyring } = setUp();
    const { info } = await keyring.issue(untypedInput({}), { ...AUTHORITY, entities: [OTHER] });
    expect(info.accessibleEntities).toEqual([OWN]);
  });
});

describe('an authority', () => {
  it('is never exceeded, whatever a call asks for', async () => {
    const { keyring } = setUp();
    const pattern = fc.constantFrom(
      ...catalog.all,
      'threats:*',
      'decoys:*',
      '*:update',
      'constructor:*',
      '*:*',
    );
    const entity = fc.constantFrom(OWN, OTHER, THIRD, NOWHERE);
    const patterns = fc.uniqueArray(pattern, { maxLength: 5 });
    const entities = fc.uniqueArray(entity);
    const asking = fc.record({ scopes: patterns, accessibleEntities: entities });
    const holding = fc.record(
      { scopes: fc.oneof(patterns, fc.constant('all' as const)), entities },
      { requiredKeys: ['scopes'] },
    );
    await fc.assert(
      fc.asyncProperty(asking, holding, async (asked, held) => {
        const ask = untypedInput({ ...asked, justification: 'j' });
        const ceiling = held.scopes === 'all' ? ['*:*'] : held.scopes;
        const reach = new Set([OWN, ...(held.entities ?? [])]);
        const made = await keyring
          .issue(ask, { entityId: OWN, ...held })
          .catch((error: unknown) => error);
        if (isAccessError(made)) {
          const isAllowed = (one: string) =>
            one.includes(':') ? coversScopes(ceiling, [one]) : reach.has(one);
          expect(made.excess?.length).toBeGreaterThan(0);
          expect(made.excess?.some(isAllowed)).toBe(false);
        } else if (made instanceof Error) {
          expect(String(made)).toMatch(
            /^InputError: scopes: wildcards cannot grant reserved scopes/,
          );
        } else {
          const { info } = made as Awaited<ReturnType<typeof keyring.issue>>;
          expect(coversScopes(ceiling, info.scopes)).toBe(true);
          expect(info.accessibleEntities.every((each) => reach.has(each))).toBe(true);
          // And the key got everything that the call asked for.
          expect(info.scopes).toEqual(catalog.expand(asked.scopes));
        }
      }),
    );
  });

  const odd: readonly (readonly [string, unknown, RegExp])[] = [
    ['missing', undefined, /authority: pass it last; pass the input first, or \{\}/],
    ['null', null, /authority: pass an object/],
    ['only the entity', OWN, /authority: pass an object/],
    ['a list', [OWN], /authority: pass an object/],
    ['a Map', new Map([['entityId', OWN]]), /authority: pass an object/],
    ['a Date', new Date(), /authority: pass an object/],
    ['empty', {}, /authority\.entityId: pass a UUID/],
    [
      'inherited',
      Object.create({ entityId: OWN }) as unknown,
      /authority: write entityId as an own field/,
    ],
    [
      'of an upper-case entity',
      authorityWith({ entityId: OWN.toUpperCase() }),
      new RegExp(`authority\\.entityId: pass a UUID in lower case .*, not "${OWN.toUpperCase()}"`),
    ],
    [
      'of an upper-case entity in the list',
      authorityWith({ entities: [OTHER.toUpperCase()] }),
      new RegExp(`entities: element 0: pass a UUID in lower case .*, not "${OTHER.toUpperCase()}"`),
    ],
    [
      'with an upper-case key id',
      authorityWith({ keyId: OWN.toUpperCase() }),
      new RegExp(`authority\\.keyId: pass a UUID in lower case, not "${OWN.toUpperCase()}"`),
    ],
    ['of a braced entity', authorityWith({ entityId: `{${OWN}}` }), /authority\.entityId/],
    ['of an entity and a newline', authorityWith({ entityId: `${OWN}\n` }), /entityId/],
    ['of a list of one entity', authorityWith({ entityId: [OWN] }), /authority\.entityId/],
    [
      'with an unknown field',
      authorityWith({ scope: [] }),
      /^authority: unknown field "scope"; known fields are entityId, entities, actor, reason, /,
    ],
    [
      'with a field of an input',
      authorityWith({ expiresAt: 'never' }),
      /unknown field "expiresAt"/,
    ],
    ['with a text as entities', authorityWith({ entities: OTHER }), /entities: pass a list/],
    ['with null as entities', authorityWith({ entities: null }), /entities: pass a list/],
    ['with a wildcard as an entity', authorityWith({ entities: ['*'] }), /authority\.entities/],
    ["with 'all' for entities", authorityWith({ entities: 'all' }), /entities: pass a list/],
  ];

  // No part of an authority may come from a request, except its reason.
  it.each(odd)(
    'causes a TypeError in every call if it is %s',
    async (_what, authority, message) => {
      for (const [, call] of EACH_CALL) {
        await refusedAsBug((keyring) => call(keyring, authority), message);
      }
    },
  );

  // A session class with a getter `scopes` granted the whole catalog: the field was inherited, so
  // it counted as absent.
  it.each([
    [
      'a getter of its class',
      (scopes: string[]) =>
        new (class Session {
          entityId = OWN;
          get scopes() {
            return scopes;
          }
        })(),
    ],
    [
      'inherited',
      (scopes: string[]) =>
        Object.assign(Object.create({ scopes }) as object, { entityId: OWN }) as object,
    ],
    [
      'not enumerable',
      (scopes: string[]) => Object.defineProperty({ entityId: OWN }, 'scopes', { value: scopes }),
    ],
  ])('grants nothing if its scopes are %s', async (_what, authority) => {
    for (const [, call] of EACH_CALL) {
      const act = (keyring: Parameters<ManagementCall>[0]) =>
        call(keyring, authority(['threats:read']));
      await refusedAsBug(act, /authority: write scopes as an own field/);
    }
  });
});
