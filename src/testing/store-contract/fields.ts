/** Tests that `insert` keeps every field of a record exactly, whatever it contains. */
import type { KeyRecord } from '../../core/record.js';
import { same } from '../assertions.js';
import { LAST, randomHex, type StoreFixture, TIME, uuid } from './fixture.js';
import { besides, INSTANTS } from './instants.js';
import { newestFirst } from './order.js';

/**
 * Drops characters that a metadata name may not contain. The core rejects quotes, backslashes and
 * control characters in names because V8 13.6 (Node 24) misreads them in JSON, so a correct store
 * that keeps JSON would lose them.
 */
export function nameable(text: string): string {
  return text.replace(/["\\\p{Cc}]/gu, '');
}

/**
 * Inserts about thirty variants of a record and reads each back by id, by digest and from a
 * listing. The answer must have the same fields, contents and types, and no other fields: the core
 * refuses a record that differs from the one it wrote.
 *
 * Catches: confusing null and empty; trimmed, folded or normalized text; dropped or replaced
 * characters; numbers read from text; names that reach a prototype or are truncated; times in
 * seconds or 32 bits; reordered lists; a digest column that is too short.
 */
export async function keepsEveryField(fixture: StoreFixture): Promise<void> {
  const { store, entityId, record, holds, list } = fixture;
  const variants = [
    ...textVariants(),
    ...metadataVariants(),
    ...timeVariants(),
    ...entityVariants(entityId),
    ...originVariants(),
    ...digestVariants(),
  ];
  for (const [index, given] of variants.entries()) {
    // Half of them belong to this entity, each of the others to a new one.
    const made = record({ entityId: index % 2 === 0 ? entityId : uuid(), ...given });
    const expected = structuredClone(made);
    await store.insert(made);
    const what = `a record with ${Object.keys(given).join(', ') || 'every default'}`;
    await holds(expected, what);
    const listed = await list({ prefix: expected.prefix, entityId: expected.entityId });
    const found = listed.find(({ keyId }) => keyId === expected.keyId);
    same(found, expected, `${what}: list`);
  }
}

/** Puts two texts into the fields that people write, separately and joined. */
function inTexts(text: string, other: string): Partial<KeyRecord> {
  return {
    name: text,
    justification: other,
    createdBy: other,
    endedBy: text,
    endReason: text + other,
  };
}

function textVariants(): readonly Partial<KeyRecord>[] {
  const quoted = `a'b"c\\d;--%_$1?\${x}`;
  return [
    {},
    {
      ...inTexts('Zoë 漢字 🦊 \u202eabc', '🔑'.repeat(100)),
      justification: '🔑'.repeat(500),
      metadata: { 'ключ 🦊': 'a\tb\nc\u2028d' },
    },
    { ...inTexts(quoted, quoted), metadata: { [nameable(quoted)]: quoted } },
    // Decomposed letters, a byte order mark and noncharacters.
    {
      ...inTexts('Zu\u0308rich', 'cafe\u0301'),
      metadata: { 'e\u0301': 'Zu\u0308rich', '\u00e9': 'o' },
    },
    { ...inTexts('\ufeffa', '\ufeff'), metadata: { '\ufeffb': '\ufeffc', b: '\ufeff' } },
    { ...inTexts('a\uffff', '\ufffe'), metadata: { '\uffff': '\uffff', '\ufffe': '\ufdd0' } },
    { ...inTexts(' padded ', ' '), metadata: { ' a ': ' b ' } },
    { ...inTexts('null', ''), metadata: { a: '' }, scopes: [] },
    { endedBy: '', endReason: '' },
    // Texts that look like a number, a boolean, null or JSON.
    { ...inTexts('007', '1e3'), metadata: { n: '1', t: 'true', z: 'null', j: '{"a":[1]}' } },
    { endedBy: '[]', endReason: '0', createdBy: 'null' },
  ];
}

function metadataVariants(): readonly Partial<KeyRecord>[] {
  // Parsed, because `__proto__` in an object literal sets the prototype.
  const odd = JSON.parse(
    '{"__proto__":"own","constructor":"","toString":"x","":"empty name","10":"b","9":"a"}',
  ) as Record<string, string>;
  return [
    // Characters that values, but not names, may contain.
    { metadata: { a: '\u0001\u0008\u000b\u001b[1m\u007f\u0085\u009f', b: '\r\n' } },
    // Almost the 2 KiB that the core allows, values included.
    { metadata: { [`${'n'.repeat(1015)}a`]: 'a', [`${'n'.repeat(1015)}b`]: 'b' } },
    { metadata: odd, scopesUsed: { 'constructor:read': TIME } },
  ];
}

function timeVariants(): readonly Partial<KeyRecord>[] {
  return [
    {
      expiresAt: TIME + 1,
      revokedAt: TIME + 2,
      suspendedAt: TIME + 3,
      retireAt: TIME + 4,
      changedAt: TIME + 5,
      lastUsedAt: TIME + 6,
    },
    {
      createdAt: 0,
      expiresAt: 0,
      revokedAt: 0,
      suspendedAt: 0,
      retireAt: 0,
      changedAt: 0,
      lastUsedAt: 0,
      scopesUsed: { 'a:b': 0 },
    },
    { createdAt: LAST, expiresAt: LAST, revokedAt: LAST, suspendedAt: LAST },
    { retireAt: LAST, changedAt: LAST, lastUsedAt: LAST, scopesUsed: { 'a:b': LAST } },
    { createdAt: -LAST, expiresAt: -LAST, revokedAt: -LAST, suspendedAt: -LAST },
    { retireAt: -LAST, changedAt: -LAST, lastUsedAt: -LAST, scopesUsed: { 'a:b': -LAST } },
    { createdAt: -1, scopes: ['z:z', 'a:a', 'm:m'] },
  ];
}

function entityVariants(entityId: string): readonly Partial<KeyRecord>[] {
  const first = uuid();
  const last = uuid();
  const accessibleEntities = [first, entityId, last];
  return [
    // The order differs from the list above.
    { entityId, accessibleEntities, withdrawn: [last, first] },
    { entityId, accessibleEntities, withdrawn: [last] },
  ];
}

function originVariants(): readonly Partial<KeyRecord>[] {
  return [
    { rotatedFrom: uuid(), rootKeyId: uuid(), seal: null },
    // The longest and the shortest prefix; hints that differ only in case.
    { prefix: 'abcdefghij_klmno_789', hint: 'aB0z' },
    { prefix: 'a', hint: 'Ab0Z' },
    { hint: '', trust: '{"issuer":"https://example.com","subject":"ci"}' },
    // A hint that a database might read as a number.
    { hint: '0000', issuedUnder: uuid() },
    // A record of a later version.
    { format: 2, trust: '' },
  ];
}

function digestVariants(): readonly Partial<KeyRecord>[] {
  return [
    { digest: `s1$${randomHex()}` },
    // The longest digest: the id of a pepper has up to 32 characters.
    { digest: `h1.${randomHex().slice(0, 32)}$${randomHex()}` },
  ];
}

/**
 * Inserts the longest lists that the core accepts: 256 scopes of the greatest length, each used
 * once, and 1,000 entities, of which 999 have withdrawn. The texts have four bytes per character.
 *
 * Catches: columns that are too short, truncated lists.
 */
export async function keepsLongLists(fixture: StoreFixture): Promise<void> {
  const { store, entityId, record, holds } = fixture;
  const resource = 'r'.repeat(64);
  const action = 'a'.repeat(60);
  const scopes = Array.from({ length: 256 }, (_, index) => `${resource}:${action}${255 - index}`);
  const accessibleEntities = [entityId, ...Array.from({ length: 999 }, uuid)];
  const pairs = Array.from({ length: 16 }, (_, index) => [`name-${index}`, '🦊'.repeat(30)]);
  const made = record({
    scopes,
    accessibleEntities,
    withdrawn: accessibleEntities.slice(1),
    metadata: Object.fromEntries(pairs) as Record<string, string>,
    scopesUsed: Object.fromEntries(scopes.map((scope, index) => [scope, TIME + index])),
    name: '🦊'.repeat(100),
    createdBy: '🦊'.repeat(200),
    endedBy: '🦊'.repeat(200),
    endReason: '🦊'.repeat(200),
  });
  await store.insert(made);
  await holds(made, '256 scopes and 1,000 entities');
}

/**
 * Writes each of {@link INSTANTS} to every time field, all records at once, and reads them back one
 * by one. The listing must sort them to the millisecond, and so must pages of one record.
 *
 * Catches: converting or sorting times through a calendar, a time zone, seconds or a float.
 */
export async function keepsEveryMillisecond(fixture: StoreFixture): Promise<void> {
  const { store, record, holds, list } = fixture;
  // Shuffled by sorting by the milliseconds within a second.
  const shuffled = [...INSTANTS].sort((one, other) => (one % 1000) - (other % 1000) || one - other);
  const all = shuffled.map((time) => {
    const next = besides(time);
    return record({
      createdAt: time,
      expiresAt: next,
      revokedAt: time,
      suspendedAt: next,
      retireAt: next,
      changedAt: time,
      lastUsedAt: time,
      scopesUsed: { 'a:b': time, 'c:d': next },
    });
  });
  await Promise.all(all.map(async (made) => store.insert(made)));
  for (const made of all) {
    await holds(made, `times near ${made.createdAt}`);
  }
  const expected = [...all].sort(newestFirst);
  same(await list(), expected, 'list, with times far apart');
  for (const [index, after] of expected.entries()) {
    const following = expected.slice(index + 1, index + 2);
    same(await list({ after, limit: 1 }), following, `list after ${after.createdAt}`);
  }
}
