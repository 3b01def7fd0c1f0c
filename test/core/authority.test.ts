import fc from 'fast-check';
import { coversScopes, type IssueInput, isAccessError } from 'keyscope';
import { memoryStore } from 'keyscope/stores/memory';
import { describe, expect, it } from 'vitest';
import {
  AUTHORITY,
  catalog,
  denied,
  dump,
  NOWHERE,
  OTHER,
  OWN,
  PLAIN,
  recording,
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

it('takes null for no ceiling at all', async () => {
  await typeError(
    () => setUp().keyring.issue(PLAIN, untyped({ entityUuid: OWN, scopes: null })),
    /scopes/,
  );
});

describe('the authority', () => {
  it.each([
    [['threats:read'], ['threats:write'], ['threats:read']],
    [['threats:read', 'decoys:*'], ['decoys:read'], ['threats:read', 'decoys:update']],
    [['decoys:*'], [], ['decoys:read', 'decoys:update']],
    [['threats:write'], ['*:read'], ['threats:write']],
  ])('for %j: %j may hand out no %j', async (scopes, held, excess) => {
    const { store, calls } = recording(memoryStore());
    const { keyring, events } = setUp({ store });
    const authority = { entityUuid: OWN, scopes: held };
    const error = await denied(
      () => keyring.issue(input({ scopes }), authority),
      'ceiling_exceeded',
      'scopes_beyond_authority',
    );
    expect(error.excess).toEqual(excess);
    expect({ calls, events }).toEqual({ calls: [], events: [] });
  });

  it('hands out only its own entity unless others are given, and names the excess', async () => {
    const { keyring } = setUp();
    const wanted = input({ accessibleEntities: [OTHER, OWN, THIRD] });
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

  it('names all of the excess at once: scopes, then entities', async () => {
    const { keyring } = setUp();
    const wanted = input({ scopes: ['threats:read', 'decoys:read'], accessibleEntities: [OTHER] });
    const authority = { entityUuid: OWN, scopes: ['threats:*'] };
    const error = await denied(
      () => keyring.issue(wanted, authority),
      'ceiling_exceeded',
      'scopes_beyond_authority',
    );
    expect(error.excess).toEqual(['decoys:read', OTHER]);
  });

  it('makes keys of its own entity alone, although it may hand out others', async () => {
    const { keyring } = setUp();
    const { info } = await keyring.issue(input({}), { entityUuid: OWN, entities: [OTHER] });
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
          const ask = input({
            scopes: asked.scopes,
            accessibleEntities: asked.entities,
            justification: 'j',
          });
          const ceiling = held.scopes ?? catalog.all;
          const reach = new Set([OWN, ...(held.entities ?? [])]);
          const { info, error } = await keyring.issue(ask, { entityUuid: OWN, ...held }).then(
            (issued) => ({ info: issued.info, error: null }),
            (e: unknown) => ({ info: null, error: e }),
          );
          if (info !== null) {
            expect(coversScopes(ceiling, info.scopes)).toBe(true);
            expect(info.accessibleEntities.every((e) => reach.has(e))).toBe(true);
            // Nor was it less than was asked for.
            expect(info.scopes).toEqual(catalog.expand(asked.scopes));
          } else if (isAccessError(error)) {
            const allowed = (e: string) =>
              e.includes(':') ? coversScopes(ceiling, [e]) : reach.has(e);
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
      Object.create({ entityUuid: OWN }),
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
    // A misspelt field of a session gave `undefined`, which was read as left out: the whole
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
  ])('is refused when it is %s', async (_what, authority, message) => {
    await refused({}, message, { authority });
  });

  // A session class whose `scopes` was a getter handed out the whole catalog: the field was not its
  // own, so not given.
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
      (scopes: string[]) => Object.assign(Object.create({ scopes }), { entityUuid: OWN }),
    ],
    [
      'not enumerable',
      (scopes: string[]) => Object.defineProperty({ entityUuid: OWN }, 'scopes', { value: scopes }),
    ],
  ])('hands out nothing where its scopes are %s', async (_what, authority) => {
    await refused({}, /authority: write scopes as an own field/, {
      authority: authority(['threats:read']),
    });
  });

  it('cannot be reached by a request body spread into the first argument', async () => {
    // CVE-2025-61928: a field of the body decided whose key was made.
    const bodies = [
      { entityUuid: OTHER },
      { entities: [OTHER] },
      { keyId: NOWHERE },
      { rotatedFrom: NOWHERE },
      { digest: 's1$00', seal: null },
      { revokedAt: null },
      { createdAt: 0 },
      JSON.parse('{"__proto__":{"entityUuid":"x"}}') as object,
      { constructor: 1 },
    ];
    for (const body of bodies) {
      const { keyring, store } = setUp();
      const spread = Object.defineProperties({ ...PLAIN }, Object.getOwnPropertyDescriptors(body));
      await typeError(
        () => keyring.issue(input({ ...spread, ...body }), AUTHORITY),
        /unknown field/,
      );
      expect(await dump(store)).toBe('[[],[],[]]');
    }
  });
});
