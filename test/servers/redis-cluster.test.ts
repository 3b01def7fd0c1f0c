import { Cluster, type ClusterOptions } from 'ioredis';
import type { Awaitable, KeyRecord } from 'keyscope';
import { generateKey } from 'keyscope';
import { migrate, type RedisClient, redisInvalidation, redisStore } from 'keyscope/stores/redis';
import { storeContract } from 'keyscope/testing';
import { createCluster } from 'redis';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { AUTHORITY, HOUR, issue, OTHER, OWN, setUp, storeError } from '../support/keyring.ts';
import {
  type Closing,
  commandsOf,
  describeWithRedis,
  eventually,
  type OwnCluster,
  type OwnRedis,
  startCluster,
} from '../support/redis.ts';

let cluster: OwnCluster;
const nodes = () => cluster.masters.map(({ port }) => ({ host: '127.0.0.1', port }));

async function nodeCluster(options: { useReplicas?: boolean } = {}) {
  const client = createCluster({ rootNodes: nodes().map((socket) => ({ socket })), ...options });
  await client.on('error', () => {}).connect();
  return { client, close: () => client.destroy() };
}

function ioCluster() {
  const client = new Cluster(nodes()).on('error', () => {});
  return { client, close: () => client.disconnect() };
}

const CLIENTS: Readonly<Record<string, () => Awaitable<Closing<RedisClient>>>> = {
  'node-redis': () => nodeCluster(),
  'node-redis with useReplicas': () => nodeCluster({ useReplicas: true }),
  ioredis: ioCluster,
};

const ELSEWHERE: readonly NonNullable<ClusterOptions['scaleReads']>[] = [
  'slave',
  'all',
  () => null,
];

describeWithRedis('a cluster of three, and a replica', () => {
  beforeAll(async () => {
    cluster = await startCluster();
  }, 60_000);
  afterAll(() => cluster.remove());

  describe.each(Object.entries(CLIENTS))('with %s', (name, connect) => {
    let opened: Closing<RedisClient>;
    // No braces: keys of one store are spread over the nodes.
    const prefix = `${name.replaceAll(' ', '-')}:`;
    beforeAll(async () => {
      opened = await connect();
    });
    afterAll(() => opened.close());
    afterEach(() =>
      Promise.all(
        cluster.masters.map((node) => node.ask('CONFIG', 'SET', 'maxmemory-policy', 'noeviction')),
      ),
    );

    describe('the contract', () => {
      storeContract(test, () => redisStore(opened.client, { prefix }));
    });

    test('keys are spread over all nodes, and every operation works on each', async () => {
      const mine = `${prefix}spread:`;
      const { keyring, store, clock } = setUp({
        store: redisStore(opened.client, { prefix: mine }),
      });
      const issued = await Promise.all(Array.from({ length: 60 }, () => issue(keyring)));
      for (const node of cluster.masters) {
        const keys = (await node.ask('KEYS', `${mine}*`)) as string[];
        for (const kind of ['rec:', 'id:']) {
          expect(keys.filter((key) => key.startsWith(mine + kind)).length, kind).toBeGreaterThan(0);
        }
      }
      for (const { key, info } of issued) {
        await keyring.verify(key);
        await keyring.revoke(info.keyId, AUTHORITY);
        await expect(keyring.verify(key)).rejects.toThrow();
      }
      expect((await keyring.list({}, AUTHORITY)).keys).toHaveLength(60);
      expect(await store.summarize(clock.now())).toEqual([]);
    });

    test('a prefix in braces keeps them on one node', async () => {
      const { keyring } = setUp({ store: redisStore(opened.client, { prefix: `{${prefix}}:` }) });
      for (let i = 0; i < 10; i++) await issue(keyring);
      const counts = await Promise.all(
        cluster.masters.map((node) => node.ask('KEYS', `{${prefix}}:*`) as Promise<string[]>),
      );
      expect(counts.map((keys) => keys.length).sort()).toEqual([0, 0, 23]);
    });

    test('every primary is asked: one that may evict is enough to refuse', async () => {
      for (const node of cluster.masters) {
        await node.ask('CONFIG', 'SET', 'maxmemory-policy', 'allkeys-lru');
        const message = 'set maxmemory-policy to noeviction';
        await expect(migrate(opened.client, { prefix })).rejects.toThrow(message);
        const { keyring } = setUp({ store: redisStore(opened.client, { prefix }) });
        const error = await storeError(() => keyring.verify(generateKey({ prefix: 'acme' })));
        expect(String(error.cause)).toContain(message);
        await node.ask('CONFIG', 'SET', 'maxmemory-policy', 'noeviction');
      }
      await migrate(opened.client, { prefix });
    });

    test('the replica is never asked, so what was acknowledged is seen', async () => {
      const { keyring, store } = setUp({ store: redisStore(opened.client, { prefix }) });
      await issue(keyring);
      const { replica } = cluster;
      const asked = await commandsOf(replica, async () => {
        for (let i = 0; i < 30; i++) {
          const { key, info } = await issue(keyring);
          await keyring.verify(key);
          const next = await keyring.rotate(info.keyId, { overlapMs: HOUR }, AUTHORITY);
          await keyring.revoke(next.info.keyId, AUTHORITY);
          await expect(keyring.verify(next.key)).rejects.toThrow();
          await keyring.get(info.keyId, AUTHORITY);
        }
        await keyring.list({}, AUTHORITY);
        await store.summarize(5);
      });
      const reads = ['get', 'hgetall', 'zrange', 'eval', 'hget', 'hmget'].filter(
        (command) => command in asked,
      );
      expect(reads).toEqual([]);
    });

    test('messages reach subscribers on every node', async () => {
      const others = await Promise.all(cluster.masters.map(async () => connect()));
      const heard: string[] = [];
      for (const { client } of others) {
        const subscriber = client as Cluster;
        await redisInvalidation({ publisher: opened.client, subscriber }).subscribe((keyId) =>
          heard.push(keyId),
        );
      }
      const { publish } = redisInvalidation({
        publisher: opened.client,
        subscriber: others[0]?.client as Cluster,
      });
      await publish(OTHER);
      await eventually(async () => heard.length === 3, 'all three hear');
      expect(heard).toEqual([OTHER, OTHER, OTHER]);
      for (const other of others) other.close();
    });

    test('a slot that moves takes its keys along', async () => {
      const mine = `${prefix}moving:`;
      const { keyring, store } = setUp({ store: redisStore(opened.client, { prefix: mine }) });
      const { key, info } = await issue(keyring);
      const { digest } = (await store.findById(info.keyId)) as KeyRecord;
      for (const name of [
        `${mine}rec:${digest}`,
        `${mine}id:${info.keyId}`,
        `${mine}entity:${OWN}`,
      ])
        await moveSlot(name);
      await keyring.verify(key);
      expect((await keyring.list({}, AUTHORITY)).keys).toHaveLength(1);
      await keyring.revoke(info.keyId, AUTHORITY);
      await expect(keyring.verify(key)).rejects.toThrow();
    });
  });

  test.each(ELSEWHERE)('ioredis that reads from replicas is refused: %s', (scaleReads) => {
    const client = new Cluster(nodes(), { scaleReads, lazyConnect: true });
    const message = "scaleReads must be 'master'; a replica would let revoked keys pass";
    expect(() => redisStore(client)).toThrow(message);
    expect(() => redisStore(client)).toThrow(TypeError);
    client.disconnect();
  });

  test('a client that is not connected yet is no server that was asked', async () => {
    const client = createCluster({ rootNodes: nodes().map((socket) => ({ socket })) }).on(
      'error',
      () => {},
    );
    await expect(migrate(client)).rejects.toThrow();
    await client.connect();
    await migrate(client);
    client.destroy();
  });
});

/** Moves the slot of a key to the next master, as resharding does. */
async function moveSlot(key: string): Promise<void> {
  const { masters } = cluster;
  const slot = String(await (masters[0] as OwnRedis).ask('CLUSTER', 'KEYSLOT', key));
  const owners = await Promise.all(
    masters.map(async (node) => (await node.ask('EXISTS', key).catch(() => 0)) === 1),
  );
  const from = masters[owners.indexOf(true)] as OwnRedis;
  const to = masters[(owners.indexOf(true) + 1) % 3] as OwnRedis;
  const [source, target] = await Promise.all(
    [from, to].map((node) => node.ask('CLUSTER', 'MYID').then(String)),
  );
  await to.ask('CLUSTER', 'SETSLOT', slot, 'IMPORTING', String(source));
  await from.ask('CLUSTER', 'SETSLOT', slot, 'MIGRATING', String(target));
  const keys = (await from.ask('CLUSTER', 'GETKEYSINSLOT', slot, '1000')) as string[];
  await from.ask('MIGRATE', '127.0.0.1', String(to.port), '', '0', '5000', 'KEYS', ...keys);
  for (const node of [to, from]) await node.ask('CLUSTER', 'SETSLOT', slot, 'NODE', String(target));
}
