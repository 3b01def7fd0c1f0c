import { memoryStore } from 'keyscope/stores/memory';
import { storeContract } from 'keyscope/testing';
import { describe, expect, test } from 'vitest';
import { expectLooseCalls } from '../support/loose.ts';
import { numbered, RECORD } from '../support/records.ts';

describe('memory', () => storeContract(test, memoryStore));

test('summarizes now by default, and lists from the newest key by default', async () => {
  const store = memoryStore();
  const another = numbered(RECORD);
  await store.insert({ ...another(1), expiresAt: Date.now() - 1 });
  await store.insert({ ...another(2), expiresAt: Date.now() + 60_000 });
  const summarize = store.summarize as () => unknown;
  expect(summarize()).toEqual([{ scheme: 's1', live: 1, lastUsedAt: null }]);
  await expectLooseCalls(store, RECORD.entityUuid);
});

test('keeps a malformed record as it was, whatever becomes of the object', async () => {
  const store = memoryStore();
  const malformed = { ...RECORD, scopes: ['*'], metadata: { a: '1' } };
  await store.insert(malformed);
  Object.assign(malformed, { scopes: ['threats:read'] });
  expect(await store.findById(RECORD.keyId)).toMatchObject({ scopes: ['*'] });
});
