import fc from 'fast-check';
import { generateKey } from 'keyscope';
import { describe, expect, it } from 'vitest';
import { ANY_ID, isEntityId, readEntities, readEntityKind } from '../../src/core/entity.js';
import { complaint } from '../support/complaint.ts';
import { HOSTILE_IDS } from '../support/entity-ids.ts';
import { AUTHORITY, OTHER, OWN, PLAIN, setUp, typeError, untyped } from '../support/keyring.ts';

const UUIDS = readEntityKind();
const CHARACTERS = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._~:@|-';

describe('the ids of entities', () => {
  it('are lower-case UUIDs by default', () => {
    expect(UUIDS.holds(OWN)).toBe(true);
    for (const text of [OWN.toUpperCase(), ...HOSTILE_IDS]) expect(UUIDS.holds(text)).toBe(false);
  });

  it("are 1 to 64 of the listed characters with 'text', UUIDs among them", () => {
    expect(readEntityKind('text')).toBe(ANY_ID);
    for (const text of [OWN, OWN.toUpperCase(), ...HOSTILE_IDS]) {
      expect(isEntityId(text), text).toBe(true);
    }
    const texts = fc.string({ unit: fc.constantFrom(...CHARACTERS), minLength: 1, maxLength: 64 });
    fc.assert(fc.property(texts, (text) => isEntityId(text) === (text !== '.' && text !== '..')));
  });

  it.each([
    ['an empty text', ''],
    ['65 characters', 'a'.repeat(65)],
    ['white space', 'a b'],
    ['a line break at the end', 'a\n'],
    ['a full-width letter', '\uff41'],
    ['a slash', 'a/b'],
    ['a path segment', '.'],
    ['the parent of a path', '..'],
    ['a list', ['a']],
    ['a number', 7],
    ['null', null],
  ])('are never %s', (_, value) => {
    expect(isEntityId(value)).toBe(false);
  });

  // A key that was pasted in place of an id would reach every log.
  it('are never a key, whatever its prefix, but may look like one', () => {
    const prefixes = ['a', 'acme', 'sk_live', 'a2345678901234567890'];
    for (const prefix of prefixes) {
      const key = generateKey({ prefix });
      expect(isEntityId(key), key).toBe(false);
      const last = key.endsWith('0') ? '1' : '0';
      expect(isEntityId(key.slice(0, -1) + last)).toBe(true);
    }
  });
});

describe('readEntityKind', () => {
  it.each(['UUID', '', null, true, ['text'], 'toString'])('refuses %j', (value) => {
    expect(complaint(() => readEntityKind(value))).toMatch(/^entityIds: pass 'uuid' or 'text'/);
  });
});

describe('readEntities', () => {
  it('puts the own entity first and removes repeats', () => {
    expect(readEntities(UUIDS, OWN, [OTHER, OWN, OTHER], 'entities')).toEqual([OWN, OTHER]);
    expect(readEntities(UUIDS, OWN, undefined, 'entities')).toEqual([OWN]);
    expect(Object.isFrozen(readEntities(UUIDS, OWN, [], 'entities'))).toBe(true);
  });

  it('never folds ids', () => {
    const ids = ['org', 'ORG', 'Org', '7', '07', '7.0'];
    expect(readEntities(ANY_ID, 'org', ids, 'entities')).toEqual(ids);
  });

  it('gives the position of a bad entity in the original list', async () => {
    const accessibleEntities = [OTHER, OTHER, OTHER, 'odd'];
    await typeError(
      () =>
        setUp().keyring.issue(
          { ...PLAIN, accessibleEntities },
          { ...AUTHORITY, entities: [OTHER] },
        ),
      /^accessibleEntities: element 3: .*not "odd"/,
    );
  });
});

describe('a keyring', () => {
  it('names the option in the error for an id of the other kind', async () => {
    const { keyring } = setUp();
    const authority = { ...AUTHORITY, entityId: 'org_2abc' };
    await typeError(() => keyring.issue(PLAIN, authority), /entityIds: 'text'.*not "org_2abc"/);
    await typeError(() => keyring.list({}, authority), /entityIds: 'text'/);
    const entities = { ...AUTHORITY, entities: ['org_2abc'] };
    await typeError(() => keyring.issue(PLAIN, entities), /element 0: .*entityIds: 'text'/);
  });

  it('shows an upper-case UUID that it refuses', async () => {
    const entityId = OWN.toUpperCase();
    await typeError(
      () => setUp().keyring.list({}, { ...AUTHORITY, entityId }),
      new RegExp(`lower case.*not "${entityId}"`),
    );
  });

  it('refuses another value of the option', () => {
    const given = { entityIds: untyped<'text'>('any') };
    expect(complaint(() => setUp(given))).toMatch(/^entityIds: pass 'uuid' or 'text', not "any"/);
  });
});
