/** The rule of purges, on Redis. */
import { purgeEnded, redisStore } from 'keyscope/stores/redis';
import { type PurgePlace, purgeSuite } from '../../support/purge-suite.ts';
import { describeWithRedis, useRedis } from '../../support/redis-servers.ts';

describeWithRedis('purgeEnded', () => {
  const suite = useRedis();

  async function makePlace(): Promise<PurgePlace> {
    await suite.own.ask('FLUSHALL');
    const client = suite.client('ioredis');
    const store = redisStore(client);
    async function damage(keyId: string): Promise<void> {
      const digest = (await store.findById(keyId))?.digest;
      const keys = (await suite.own.ask('KEYS', `*rec:${digest}`)) as readonly string[];
      await suite.own.ask('HSET', keys[0] ?? '', 'scopes', '{', 'withdrawn', 'none');
    }
    return { store, purge: (endedBefore) => purgeEnded(client, { endedBefore }), damage };
  }

  purgeSuite(makePlace);
});
