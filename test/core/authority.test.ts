import fc from 'fast-check';
import { coversScopes, isAccessError } from 'keyscope';
import { memoryStore } from 'keyscope/stores/memory';
import { describe, expect, it } from 'vitest';
import { readAuthority } from '../../src/core/authority.js';
import {
  catalog,
  denied,
  issueRefused,
  NOWHERE,
  OTHER,
  OWN,
  recording,
  setUp,
  THIRD,
  untypedInput,
} from '../support/keyring.ts';

describe('readAuthority', () => {
  it('completes what is absent: the own entity alone, and the whole catalog', () => {
    const checked = { entityUuid: OWN, entities: [OWN], scopes: ['*:*'] };
    expect(readAuthority({ entityUuid: OWN })).toEqual(checked);
    expect(readAuthority({ entityUuid: OWN, entities: undefined })).toEqual(checked);
  });

  it('adds the own entity to the others', () => {
    const { entities } = readAuthority({ entityUuid: OWN, entities: [OTHER, OWN, OTHER] });
    expect(entities).toEqual([OWN, OTHER]);
  });

  it('keeps an empty list of scopes, which grants nothing', () => {
    expect(readAuthority({ entityUuid: OWN, scopes: [] }).scopes).toEqual([]);
  });
});

describe('an authority', () => {
  it.each([
    [['threats:read'], ['threats:write'], ['threats:read']],
    [['threats:read', 'decoys:*'], ['decoys:read'], ['threats:read', 'decoys:update']],
    [['decoys:*'], [], ['decoys:read', 'decoys:update']],
    [['threats:write'], ['*:read'], ['threats:write']],
  ])('is exceeded by %j if it holds %j: the excess is %j', async (scopes, held, excess) => {
    const { store, calls } = recording(memoryStore());
    const { keyring, events } = setUp({ store });
    const authority = { entityUuid: OWN, scopes: held };
    const error = await denied(
      () => keyring.issue(untypedInput({ scopes }), authority),
      'ceiling_exceeded',
      'scopes_beyond_authority',
    );
    expect(error.excess).toEqual(excess);
    expect({ calls, events }).toEqual({ calls: [], events: [] });
  });

  it('grants only its own entity unless others are given', async () => {
    const { keyring } = setUp();
    const wanted = untypedInput({ accessibleEntities: [OTHER, OWN, THIRD] });
    const outOf = async (authority: { entityUuid: string; entities?: string[] }) =>
      (
        await denied(
          () => keyring.issue(wanted, authority),
          'ceiling_exceeded',
          'entities_beyond_authority',
        )
      ).excess;
    expect(await outOf({ entityUuid: OWN })).toEqual([OTHER, THIRD]);
    expect(await outOf({ entityUuid: OWN, entities: [] })).toEqual([OTHER, THIRD]);
    expect(await outOf({ entityUuid: OWN, entities: [THIRD] })).toEqual([OTHER]);
    const { info } = await keyring.issue(wanted, { entityUuid: OWN, entities: [THIRD, OTHER] });
    expect(info.accessibleEntities).toEqual([OWN, OTHER, THIRD]);
  });

  it('is told all of the excess at once: scopes, then entities', async () => {
    const { keyring } = setUp();
    const wanted = untypedInput({
      scopes: ['threats:read', 'decoys:read'],
      accessibleEntities: [OTHER],
    });
    const authority = { entityUuid: OWN, scopes: ['threats:*'] };
    const error = await denied(
      () => keyring.issue(wanted, authority),
      'ceiling_exceeded',
      'scopes_beyond_authority',
    );
    expect(error.excess).toEqual(['decoys:read', OTHER]);
  });

  it('makes keys of its own entity alone unless others are asked for', async () => {
    const { keyring } = setUp();
    const { info } = await keyring.issue(untypedInput({}), { entityUuid: OWN, entities: [OTHER] });
    expect(info.accessibleEntities).toEqual([OWN]);
  });

  it('is never exceeded, whatever is asked for', async () => {
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
    const set = {
      scopes: fc.uniqueArray(pattern, { maxLength: 5 }),
      entities: fc.uniqueArray(entity),
    };
    await fc.assert(
      fc.asyncProperty(
        fc.record(set),
        fc.record(set, { requiredKeys: [] }),
        async (asked, held) => {
          const ask = untypedInput({
            scopes: asked.scopes,
            accessibleEntities: asked.entities,
            justification: 'j',
          });
          const ceiling = held.scopes ?? catalog.all;
          const reach = new Set([OWN, ...(held.entities ?? [])]);
          const { info, error } = await keyring.issue(ask, { entityUuid: OWN, ...held }).then(
            (issued) => ({ info: issued.info, error: null }),
            (error: unknown) => ({ info: null, error }),
          );
          if (info !== null) {
            expect(coversScopes(ceiling, info.scopes)).toBe(true);
            expect(info.accessibleEntities.every((entity) => reach.has(entity))).toBe(true);
            // Nor was it less than was asked for.
            expect(info.scopes).toEqual(catalog.expand(asked.scopes));
          } else if (isAccessError(error)) {
            const allowed = (one: string) =>
              one.includes(':') ? coversScopes(ceiling, [one]) : reach.has(one);
            expect(error.excess?.length).toBeGreaterThan(0);
            expect(error.excess?.some(allowed)).toBe(false);
          } else {
            expect(String(error)).toMatch(
              /^TypeError: scopes: a wildcard grants no reserved scope/,
            );
          }
        },
      ),
    );
  });

  it.each([
    ['missing', undefined, /authority: pass an object/],
    ['null', null, /authority: pass an object/],
    ['the entity alone', OWN, /authority: pass an object/],
    ['a list', [OWN], /authority: pass an object/],
    ['a Map', new Map([['entityUuid', OWN]]), /authority: pass an object/],
    ['a Date', new Date(), /authority: pass an object/],
    ['empty', {}, /authority\.entityUuid: pass a UUID/],
    [
      'inherited',
      Object.create({ entityUuid: OWN }) as unknown,
      /authority: write entityUuid as an own field/,
    ],
    [
      'an upper-case entity',
      { entityUuid: OWN.toUpperCase() },
      /authority\.entityUuid: pass a UUID in lower case/,
    ],
    ['a braced entity', { entityUuid: `{${OWN}}` }, /authority\.entityUuid/],
    ['an entity and a newline', { entityUuid: `${OWN}\n` }, /authority\.entityUuid/],
    ['a list of one entity', { entityUuid: [OWN] }, /authority\.entityUuid/],
    [
      'an unknown field',
      { entityUuid: OWN, scope: [] },
      /unknown field "scope"; it takes entityUuid, entities, scopes/,
    ],
    [
      'entities that are a text',
      { entityUuid: OWN, entities: OTHER },
      /authority\.entities: pass a list/,
    ],
    ['entities that are none', { entityUuid: OWN, entities: ['*'] }, /authority\.entities/],
    ['scopes that are a text', { entityUuid: OWN, scopes: '*:*' }, /scopes: pass a list/],
    // Null is not "no ceiling".
    ['scopes that are null', { entityUuid: OWN, scopes: null }, /scopes: pass a list/],
    // A misspelt field of a session gave `undefined`, which was read as absent, and so as the whole
    // catalog.
    [
      'scopes that are undefined',
      { entityUuid: OWN, scopes: undefined },
      /scopes: pass a list of strings, not undefined/,
    ],
    [
      'scopes that are none',
      { entityUuid: OWN, scopes: ['all'] },
      /write resource:action, .*not "all"/,
    ],
  ])('is refused if it is %s', async (_what, authority, message) => {
    await issueRefused({}, message, { authority });
  });

  // A session class whose `scopes` was a getter granted the whole catalog: the field was not its
  // own, and so counted as absent.
  it.each([
    [
      'a getter of its class',
      (scopes: string[]) =>
        new (class Session {
          entityUuid = OWN;
          get scopes() {
            return scopes;
          }
        })(),
    ],
    [
      'inherited',
      (scopes: string[]) =>
        Object.assign(Object.create({ scopes }) as object, { entityUuid: OWN }) as object,
    ],
    [
      'not enumerable',
      (scopes: string[]) => Object.defineProperty({ entityUuid: OWN }, 'scopes', { value: scopes }),
    ],
  ])('grants nothing if its scopes are %s', async (_what, authority) => {
    await issueRefused({}, /authority: write scopes as an own field/, {
      authority: authority(['threats:read']),
    });
  });
});
