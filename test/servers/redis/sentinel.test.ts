/** A primary that Sentinel watches. `npm run lab -- accidents` measures a failover. */

import type { RedisClient } from 'keyscope/stores/redis';
import { redisStore } from 'keyscope/stores/redis';
import { storeContract } from 'keyscope/testing';
import { afterAll, beforeAll, describe, test } from 'vitest';
import type { Closing } from '../../support/redis-clients.ts';
import { KINDS, type Kind } from '../../support/redis-clients.ts';
import { connectThrough, type OwnTrio, startTrio } from '../../support/redis-sentinels.ts';
import { describeWithRedis } from '../../support/redis-servers.ts';

describeWithRedis('a primary that Sentinel watches is found, so that the store', () => {
  const opened = new Map<Kind, Closing<RedisClient>>();
  let trio: OwnTrio;
  beforeAll(async () => {
    trio = await startTrio();
    for (const kind of KINDS) opened.set(kind, await connectThrough(kind, trio));
  }, 60_000);
  afterAll(async () => {
    for (const each of opened.values()) await each.close();
    await trio.remove();
  });

  describe.each(KINDS)('keeps its contract with %s', (kind) => {
    const client = () => (opened.get(kind) as Closing<RedisClient>).client;
    storeContract(test, () => redisStore(client(), { prefix: `${kind}:` }));
  });
});
