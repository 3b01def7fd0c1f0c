import { purgeEnded, redisStore } from 'keyscope/stores/redis';
import { createClient } from 'redis';
import { type Filled, insertAll, OWN, type Target } from './target.ts';
import { newLog, watch } from './watch.ts';

const { KEYSCOPE_TEST_REDIS: URL = 'redis://127.0.0.1:6379' } = process.env;

async function open(count: number): Promise<Filled> {
  const client = createClient({ url: URL, socket: { reconnectStrategy: false } });
  // Said again by what was asked.
  client.on('error', () => {});
  await client.connect();
  const prefix = `${OWN}:${count}:`;
  const place = { prefix };
  const store = redisStore(client, place);
  await insertAll(store, 0, count);
  const log = newLog();
  return {
    store,
    purge: (endedBefore) => purgeEnded(client, { endedBefore }, place),
    watched: redisStore(watch(client, log), place),
    log,
    async close() {
      for await (const keys of client.scanIterator({ MATCH: `${prefix}*`, COUNT: 1000 })) {
        if (keys.length > 0) await client.unlink(keys);
      }
      await client.close();
    },
  };
}

export const REDIS: Target = { name: 'Redis', open };
