import type { KeyStore } from 'keyscope';
import { redisStore } from 'keyscope/stores/redis';
import { createClient } from 'redis';
import { recordOf } from './keys.ts';
import { type Filled, OWN, type Target } from './target.ts';

const { KEYSCOPE_TEST_REDIS: URL = 'redis://127.0.0.1:6379' } = process.env;

/** A thousand at a time. */
async function insertAll(store: KeyStore, count: number): Promise<void> {
  for (let start = 0; start < count; start += 1000) {
    const length = Math.min(1000, count - start);
    await Promise.all(Array.from({ length }, (_, i) => store.insert(recordOf(start + i))));
  }
}

async function open(count: number): Promise<Filled> {
  const client = createClient({ url: URL });
  await client.connect();
  const prefix = `${OWN}:${count}:`;
  async function readInfo(name: string): Promise<number> {
    const found = new RegExp(`${name}:(\\d+)`).exec(await client.info());
    return Number(found?.[1]);
  }
  const before = await readInfo('used_memory');
  const store = redisStore(client, { prefix });
  await insertAll(store, count);
  const after = await readInfo('used_memory');
  return {
    bare: async (digest) => client.hGetAll(`${prefix}rec:${digest}`),
    store: () => store,
    bytes: async () => ({ data: after - before, indexes: null }),
    writes: () => readInfo('rdb_changes_since_last_save'),
    async close() {
      for await (const keys of client.scanIterator({ MATCH: `${prefix}*`, COUNT: 1000 })) {
        if (keys.length > 0) await client.unlink(keys);
      }
      await client.close();
    },
  };
}

export const REDIS: Target = { name: 'Redis', open, url: URL, batches: false };
