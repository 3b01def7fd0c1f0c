/**
 * The law of keys without a secret on each kind of store: one instance writes, another reads,
 * without a cache and behind one that keeps what it read for an hour, until the first one says
 * through its channel what has changed.
 */
import fc from 'fast-check';
import { cacheStore, type Invalidation } from 'keyscope/cache';
import { LRUCache } from 'lru-cache';
import { afterAll, beforeAll, describe, it } from 'vitest';
import { type OpenedStore, openStore } from '../../examples/platform/host/open-store.ts';
import { anyCase, playKeyless } from '../support/keyless-law.ts';
import { runs } from '../support/runs.ts';
import { describeOn } from '../support/servers.ts';
import { makeScratch, type StoreKind } from '../support/store-address.ts';

const timeout = 3_600_000;

const SUITES: Readonly<Record<StoreKind, typeof describe | typeof describe.skip>> = {
  sqlite: describe,
  postgres: await describeOn('postgres'),
  mysql: await describeOn('mysql'),
  redis: await describeOn('redis'),
};

/** A channel within this process. */
function createChannel(): Invalidation {
  const listeners = new Set<(message: string) => void>();
  return {
    publish: (message) => {
      for (const listener of listeners) listener(message);
    },
    subscribe: (listener) => {
      listeners.add(listener);
    },
  };
}

function cached(store: OpenedStore['store'], invalidation: Invalidation) {
  const cache = new LRUCache<string, object>({ max: 1_000 });
  return cacheStore(store, { cache, maxStalenessMs: 3_600_000, invalidation });
}

for (const kind of Object.keys(SUITES) as StoreKind[]) {
  SUITES[kind](`keys without a secret on ${kind}`, () => {
    let writer: OpenedStore;
    let reader: OpenedStore;
    let removeStore = async (): Promise<unknown> => undefined;

    beforeAll(async () => {
      const scratch = await makeScratch(kind);
      removeStore = scratch.remove;
      writer = await openStore(scratch.address);
      reader = await openStore(scratch.address);
    });

    afterAll(async () => {
      await Promise.all([writer.close(), reader.close()]);
      await removeStore();
    });

    it('keep their law, read by another instance', { timeout }, async () => {
      const channel = createChannel();
      const writing = cached(writer.store, channel);
      const reading = cached(reader.store, channel);
      const law = fc.asyncProperty(anyCase, (played) =>
        playKeyless(writing, [reader.store, reading], played),
      );
      await fc.assert(law, { numRuns: runs(100) });
    });
  });
}
