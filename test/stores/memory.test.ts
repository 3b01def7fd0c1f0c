import { memoryStore } from 'keyscope/stores/memory';
import { storeContract } from 'keyscope/testing';
import { describe, expect, test } from 'vitest';
import { entitySuite, expectApart } from '../support/entity-suite.ts';
import { OTHER, OWN, THIRD } from '../support/keyring.ts';
import { expectLooseCalls } from '../support/loose.ts';
import { numbered, RECORD } from '../support/records.ts';

describe('memory', () => storeContract(test, memoryStore));

describe('ids of entities that are not UUIDs, in memory,', () => {
  entitySuite(() => ({ store: memoryStore() }));

  test('are compared unit for unit', async () => {
    const store = memoryStore();
    await expectApart(store, store.insert);
  });
});

test('has every method, answers synchronously, and shares nothing with another store', () => {
  const store = memoryStore();
  store.insert(RECORD);
  const { prefix, rootKeyId } = RECORD;
  const query = { prefix, entityId: OWN, after: null, limit: 10 };
  const all = { after: null, limit: 10 };
  expect(store.list(query)).toEqual([RECORD]);
  expect(store.listLineage({ ...all, rootKeyId })).toEqual([RECORD]);
  expect(store.listAll(all)).toEqual({ items: [RECORD], next: null });
  expect(store.listExpiring({ ...all, before: 5 })).toEqual({ items: [], next: null });
  const expiring = { ...numbered(RECORD)(1), expiresAt: 4 };
  store.insert(expiring);
  // A full part is not followed by an empty one.
  const last = { items: [expiring], next: null };
  expect(store.listExpiring({ after: null, limit: 1, before: 5 })).toEqual(last);
  expect(store.listAll({ ...all, limit: 2 })).toMatchObject({ next: null });
  expect(store.listChanged({ since: 0, limit: 10 })).toEqual([]);
  expect(memoryStore().findById(RECORD.keyId)).toBeNull();
});

test('summarizes now by default, and lists from the newest key by default', async () => {
  const store = memoryStore();
  const another = numbered(RECORD);
  await store.insert({ ...another(1), expiresAt: Date.now() - 1 });
  await store.insert({ ...another(2), expiresAt: Date.now() + 60_000 });
  expect(store.summarize()).toEqual([{ scheme: 's1', live: 1, lastUsedAt: null }]);
  await expectLooseCalls(store, RECORD.entityId);
});

test('keeps a malformed record unchanged, even if the caller edits the object later', async () => {
  const store = memoryStore();
  const malformed = { ...RECORD, scopes: ['*'], metadata: { a: '1' } };
  await store.insert(malformed);
  Object.assign(malformed, { scopes: ['threats:read'] });
  expect(await store.findById(RECORD.keyId)).toMatchObject({ scopes: ['*'] });
});

test('lists a record once, however often it names an entity', () => {
  const store = memoryStore();
  store.insert({ ...RECORD, accessibleEntities: [OTHER, OWN, OTHER, OWN] });
  const query = { prefix: RECORD.prefix, after: null, limit: 10 };
  expect(store.list({ ...query, entityId: OWN })).toHaveLength(1);
  expect(store.list({ ...query, entityId: OTHER, addressing: true })).toHaveLength(1);
});

// An index that searches by prefix, or on a prototype, would find these.
test.each(['constructor', '__proto__', 'toString', ''])('finds no keys for %o', (name) => {
  const store = memoryStore();
  store.insert({ ...RECORD, accessibleEntities: [OWN, THIRD] });
  const query = { prefix: RECORD.prefix, entityId: name, after: null, limit: 10 };
  expect(store.list(query)).toEqual([]);
  expect(store.list({ ...query, addressing: true })).toEqual([]);
  expect(store.listLineage({ rootKeyId: name, after: null, limit: 10 })).toEqual([]);
  expect(store.findById(name)).toBeNull();
  expect(store.findByDigest([name])).toEqual([]);
});

test('keeps nothing of a rejected or unreadable record', () => {
  const store = memoryStore();
  store.insert(RECORD);
  const digest = 's1$other';
  const refused = { ...RECORD, digest, entityId: OTHER, rootKeyId: THIRD };
  expect(() => store.insert(refused)).toThrow('a record with this key id or digest exists already');
  const keyId = THIRD;
  const unlisted = { ...RECORD, digest, keyId, accessibleEntities: 5 as unknown as string[] };
  expect(() => store.insert(unlisted)).toThrow(TypeError);
  expect(store.findByDigest([digest])).toEqual([]);
  expect(store.findById(keyId)).toBeNull();
  expect(store.listLineage({ rootKeyId: THIRD, after: null, limit: 10 })).toEqual([]);
  expect(store.listAll({ after: null, limit: 10 })).toMatchObject({ items: [RECORD] });
});
