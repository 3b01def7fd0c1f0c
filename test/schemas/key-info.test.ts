/** A key as management shows it, before and after `JSON.stringify`. */
import fc from 'fast-check';
import fastify from 'fastify';
import type { KeyInfo, KeyRecord, KeyStore } from 'keyscope';
import { createKeyring, digestKey } from 'keyscope';
import { keyInfoJsonSchema, keyInfoSchema } from 'keyscope/schemas';
import { memoryStore } from 'keyscope/stores/memory';
import { describe, expect, test } from 'vitest';
import { runs } from '../support/runs.ts';
import {
  authority,
  catalog,
  createVectorKeyring,
  type Fields,
  KEY,
  NOW,
} from '../support/schemas.ts';
import { uuid } from '../support/vectors.ts';

function asJson(value: unknown): unknown {
  return JSON.parse(JSON.stringify(value));
}

/** The KeyInfo of a new key. */
async function issueInfo(): Promise<KeyInfo> {
  const input = { name: 'ci', scopes: [], expiresAt: 'never' } as const;
  const { info } = await createVectorKeyring().issue(input, authority);
  return info;
}

describe('a key as the core shows it', () => {
  const time = fc.integer({ min: 0, max: 253_402_300_799_999 });
  const mark = fc.option(time);
  const scope = fc.stringMatching(/^[a-z][a-z0-9_-]{0,63}:[a-z][a-z0-9_-]{0,63}$/);
  const words = fc
    .string({ unit: 'grapheme', maxLength: 20 })
    .filter((text) => text.isWellFormed());
  // `zod` drops a key `__proto__` from its records, but it must stay in a KeyInfo.
  const names = fc.oneof(words, fc.constant('__proto__'));
  const record: fc.Arbitrary<KeyRecord> = fc.record({
    format: fc.constant(1),
    keyId: fc.uuid(),
    prefix: fc.constant('acme'),
    hint: words,
    name: words,
    digest: fc.constantFrom(digestKey(KEY), 'h1.gone$00'),
    entityId: fc.constant(uuid(1)),
    accessibleEntities: fc.array(fc.uuid(), { maxLength: 4 }).map((others) => [uuid(1), ...others]),
    scopes: fc.array(scope, { maxLength: 4 }),
    justification: fc.option(words),
    metadata: fc.dictionary(names, words, { maxKeys: 4 }),
    createdAt: time,
    createdBy: fc.option(words),
    expiresAt: mark,
    rotatedFrom: fc.option(fc.uuid()),
    rootKeyId: fc.uuid(),
    issuedUnder: fc.option(fc.uuid()),
    trust: fc.option(fc.dictionary(names, words).map((table) => JSON.stringify(table))),
    seal: fc.option(words),
    revokedAt: mark,
    suspendedAt: mark,
    retireAt: mark,
    withdrawn: fc.array(fc.uuid(), { maxLength: 2 }),
    endedBy: fc.option(words),
    endReason: fc.option(words),
    changedAt: mark,
    lastUsedAt: mark,
    scopesUsed: fc.dictionary(scope, time, { maxKeys: 4 }),
  });

  test('is accepted unchanged, whatever the record', async () => {
    const property = fc.asyncProperty(record, async (row) => {
      const store: KeyStore = { ...memoryStore(), list: () => [row] };
      const keyring = createKeyring({ prefix: 'acme', catalog, store, peppers: 'none' });
      const { keys } = await keyring.list({}, { entityId: uuid(1) });
      expect(keys[0]).toHaveProperty('name');
      const shown = asJson(keys[0]);
      expect(keyInfoSchema.parse(shown)).toEqual(shown);
      expect(keyInfoSchema.parse(keys[0])).toEqual(shown);
    });
    await fc.assert(property, { numRuns: runs(300) });
  });

  // The schema accepted only JSON: parsing before `JSON.stringify` failed because of the `Date`s.
  test('is accepted from issue, list and get, and becomes its JSON', async () => {
    const store = memoryStore();
    const keyring = createVectorKeyring(store);
    const input = { name: 'ci', scopes: ['threats:read'], expiresAt: new Date(NOW + 1) };
    const { info } = await keyring.issue(input, authority);
    const { keyId } = info;
    await store.touch([{ keyId, lastUsedAt: 5, scopesUsed: { 'threats:read': 5 } }]);
    const retired = { at: NOW, by: 'ada', reason: 'rotation' } as const;
    await store.mark(keyId, { kind: 'retire', ...retired, retireAt: NOW + 1 });
    await store.mark(keyId, { kind: 'suspend', ...retired, at: NOW });
    await store.mark(keyId, { kind: 'revoke', ...retired, at: NOW, seal: null });
    await store.mark(keyId, { kind: 'withdraw', at: NOW, entityId: uuid(1) });
    const { keys } = await keyring.list({}, authority);
    const found = await keyring.get(keyId, authority);
    for (const shown of [info, ...keys, found]) {
      const before = structuredClone(shown);
      expect(keyInfoSchema.parse(shown)).toEqual(asJson(shown));
      expect(shown).toEqual(before);
    }
  });

  test('may have a scope of any name, also __proto__', async () => {
    const scopesUsed = Object.fromEntries([['__proto__', new Date(6)]]);
    const parsed = keyInfoSchema.parse({ ...(await issueInfo()), scopesUsed });
    expect(Object.entries(parsed.scopesUsed)).toEqual([['__proto__', '1970-01-01T00:00:00.006Z']]);
  });

  test('passes through Fastify with the JSON Schema of its response', async () => {
    const keyring = createVectorKeyring();
    const expiresAt = new Date(NOW + 1);
    const input = { name: 'ci', scopes: ['threats:*'], expiresAt, metadata: { a: 'b' } };
    await keyring.issue(input, authority);
    const app = fastify();
    const schema = { response: { 200: { type: 'array', items: keyInfoJsonSchema } } };
    app.get('/', { schema }, async () => (await keyring.list({}, authority)).keys);
    const { body } = await app.inject('/');
    const { keys } = await keyring.list({}, authority);
    const answered: unknown = JSON.parse(body);
    expect(answered).toEqual(asJson(keys));
    expect(keyInfoSchema.array().safeParse(answered).success).toBe(true);
  });
});

describe('a key before JSON.stringify', () => {
  const invalid = new Date(Number.NaN);

  test.each<[string, Fields]>([
    ['an invalid Date as createdAt', { createdAt: invalid }],
    ['an invalid Date as expiresAt', { expiresAt: invalid }],
    ['an invalid Date as revokedAt', { revokedAt: invalid }],
    ['an invalid Date as suspendedAt', { suspendedAt: invalid }],
    ['an invalid Date as retireAt', { retireAt: invalid }],
    ['an invalid Date as changedAt', { changedAt: invalid }],
    ['an invalid Date as lastUsedAt', { lastUsedAt: invalid }],
    ['an invalid Date in scopesUsed', { scopesUsed: { 'a:b': new Date(0), 'a:c': invalid } }],
    ['a list of Dates as scopesUsed', { scopesUsed: [new Date(0)] }],
    [
      'an object that only looks like a Date',
      { expiresAt: Object.create(Date.prototype) as unknown },
    ],
    ['a year beyond 9999', { expiresAt: new Date(8.64e15) }],
    ['a Date as a name', { name: new Date(0) }],
    ['a Date in metadata', { metadata: { a: new Date(0) } }],
  ])('is refused with %s, which never becomes null', async (_, change) => {
    const info = await issueInfo();
    expect(keyInfoSchema.safeParse(info).success).toBe(true);
    const { error } = keyInfoSchema.safeParse({ ...info, ...change });
    expect(error?.issues.map(({ path }) => path[0])).toEqual(Object.keys(change));
  });
});

describe('a key after JSON.stringify', () => {
  test.each<[string, Fields]>([
    ['a digest', { digest: 's1$00' }],
    ['a seal', { seal: null }],
    ['the key', { key: KEY }],
    ['a time in milliseconds', { createdAt: 0 }],
    ['a time without milliseconds', { createdAt: '2030-01-01T00:00:00Z' }],
    ['a time with an offset', { expiresAt: '2030-01-01T00:00:00.000+00:00' }],
    ['no creation time', { createdAt: null }],
    ['a wildcard', { scopes: ['users:*'] }],
    ['an unknown state', { state: 'active' }],
    ['a text as a boolean', { tampered: 'false' }],
    ['the text of a trust', { trust: '{}' }],
    ['something else instead of a UUID as issuedUnder', { issuedUnder: 'ci' }],
    ['a version of 0', { format: 0 }],
    ['a fraction as a version', { format: 1.5 }],
    ['a wildcard among those that withdrew', { withdrawn: ['*'] }],
    ['null as its first key', { rootKeyId: null }],
    ['an upper-case UUID', { keyId: 'ABCDEF00-0000-4000-8000-000000000001' }],
    ['a number in metadata', { metadata: { a: 1 } }],
    ['a number in scopesUsed', { scopesUsed: { 'a:b': 1 } }],
    ['a missing field', { lastUsedAt: undefined }],
  ])('is refused with %s', async (_, change) => {
    const info = await issueInfo();
    expect(keyInfoSchema.safeParse(asJson(info)).success).toBe(true);
    const changed = asJson({ ...info, ...change });
    expect(keyInfoSchema.safeParse(changed).success).toBe(false);
  });
});
