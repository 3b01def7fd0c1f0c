import { memoryStore } from 'keyscope/stores/memory';
import { storeContract } from 'keyscope/testing';
import { describe, test } from 'vitest';
import { expectLooseCalls } from '../support/loose.ts';
import { RECORD } from '../support/records.ts';

describe('memory', () => storeContract(test, memoryStore));

test('a listing without a position begins at its beginning, and a summary takes a time', async () => {
  const store = memoryStore();
  await store.insert(RECORD);
  await expectLooseCalls(store, RECORD.entityUuid);
});
