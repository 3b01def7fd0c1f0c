/** A cluster: keys on every node, reads from primaries only, and slots that move. */
import { Cluster, type ClusterOptions } from 'ioredis';
import type { Awaitable, KeyRecord } from 'keyscope';
import { causeOf, generateKey } from 'keyscope';
import {
  migrate,
  purgeEnded,
  type RedisClient,
  type RedisSubscriber,
  redisInvalidation,
  redisStore,
} from 'keyscope/stores/redis';
import { storeContract } from 'keyscope/testing';
import { createCluster } from 'redis';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { entitySuite } from '../../support/entity-suite.ts';
import { eventually } from '../../support/eventually.ts';
import { AUTHORITY, HOUR, issue, OTHER, OWN, setUp, storeError } from '../../support/keyring.ts';
import type { Closing } from '../../support/redis-clients.ts';
import {
  commandsOf,
  describeWithRedis,
  keysOf,
  type OwnCluster,
  type OwnRedis,
  startCluster,
} from '../../support/redis-servers.ts';

let cluster: OwnCluster;
const addresses = () => cluster.masters.map(({ port }) => ({ host: '127.0.0.1', port }));
const rootNodes = () => addresses().map((socket) => ({ socket }));
const ignore = () => {};

async function nodeCluster(options: { useReplicas?: boolean } = {}) {
  const client = createCluster({ rootNodes: rootNodes(), ...options });
  await client.on('error', ignore).connect();
  return { client, close: () => client.destroy() };
}

function ioCluster() {
  const client = new Cluster(addresses()).on('error', ignore);
  return { client, close: () => client.disconnect() };
}

type Both = RedisClient & RedisSubscriber;

const CLIENTS: Readonly<Record<string, () => Awaitable<Closing<Both>>>> = {
  'node-redis': () => nodeCluster(),
  'node-redis with useReplicas': () => nodeCluster({ useReplicas: true }),
  ioredis: ioCluster,
};

/** Moves the slot of a key to the next master, as resharding does. */
async function moveSlot(key: string): Promise<void> {
  const { masters } = cluster;
  const first = masters[0] as OwnRedis;
  const slot = String(await first.ask('CLUSTER', 'KEYSLOT', key));
  const has = (node: OwnRedis) => node.ask('EXISTS', key).catch(() => 0);
  const counts = await Promise.all(masters.map(has));
  const owner = counts.indexOf(1);
  const from = masters[owner] as OwnRedis;
  const to = masters[(owner + 1) % masters.length] as OwnRedis;
  const source = String(await from.ask('CLUSTER', 'MYID'));
  const target = String(await to.ask('CLUSTER', 'MYID'));
  await to.ask('CLUSTER', 'SETSLOT', slot, 'IMPORTING', source);
  await from.ask('CLUSTER', 'SETSLOT', slot, 'MIGRATING', target);
  const keys = (await from.ask('CLUSTER', 'GETKEYSINSLOT', slot, '1000')) as string[];
  await from.ask('MIGRATE', '127.0.0.1', String(to.port), '', '0', '5000', 'KEYS', ...keys);
  for (const node of [to, from]) await node.ask('CLUSTER', 'SETSLOT', slot, 'NODE', target);
}

async function setPolicy(node: OwnRedis, policy: string): Promise<void> {
  await node.ask('CONFIG', 'SET', 'maxmemory-policy', policy);
}

describeWithRedis('a cluster of three, and a replica', () => {
  beforeAll(async () => {
    cluster = await startCluster();
  }, 60_000);
  afterAll(() => cluster.remove());

  describe.each(Object.entries(CLIENTS))('with %s', (name, connect) => {
    let opened: Closing<Both>;
    // No braces: the keys of one store are spread over the nodes.
    const prefix = `${name.replaceAll(' ', '-')}:`;
    beforeAll(async () => {
      opened = await connect();
    });
    afterAll(() => opened.close());
    afterEach(async () => {
      await Promise.all(cluster.masters.map((node) => setPolicy(node, 'noeviction')));
    });
    const storeUnder = (under: string) => redisStore(opened.client, { prefix: under });

    describe('the contract', () => {
      storeContract(test, () => storeUnder(prefix));
    });

    describe('ids of entities that are not UUIDs', () => {
      entitySuite(() => {
        const mine = `${prefix}${crypto.randomUUID()}:`;
        const purge = (endedBefore: Date) =>
          purgeEnded(opened.client, { endedBefore }, { prefix: mine });
        return { store: storeUnder(mine), purge };
      });
    });

    test('spreads keys over all nodes, and every operation works on each', async () => {
      const mine = `${prefix}spread:`;
      const store = storeUnder(mine);
      const { keyring, clock } = setUp({ store });
      const issued = await Promise.all(Array.from({ length: 60 }, () => issue(keyring)));
      for (const node of cluster.masters) {
        for (const kind of ['rec:', 'id:']) {
          const keys = await keysOf(node, `${mine}${kind}*`);
          expect(keys.length, kind).toBeGreaterThan(0);
        }
      }
      for (const { key, info } of issued) {
        await keyring.verify(key);
        await keyring.revoke(info.keyId, AUTHORITY);
        await expect(keyring.verify(key)).rejects.toThrow();
      }
      expect((await keyring.list({}, AUTHORITY)).keys).toHaveLength(60);
      expect(await store.summarize(clock.now())).toEqual([]);
      const options = { endedBefore: new Date(clock.now() + 1) };
      const deleted = await purgeEnded(opened.client, options, { prefix: mine });
      expect(deleted).toHaveLength(60);
      const left = await Promise.all(cluster.masters.map((node) => keysOf(node, `${mine}*`)));
      expect(left.flat()).toEqual([`${mine}schema`]);
    });

    test('keeps keys under a prefix in braces on one node', async () => {
      const under = `{${prefix}}:`;
      const { keyring } = setUp({ store: storeUnder(under) });
      for (let i = 0; i < 10; i++) await issue(keyring);
      const keys = await Promise.all(cluster.masters.map((node) => keysOf(node, `${under}*`)));
      // Ten of each kind, the entity's listing, all keys by expiry, and the version.
      expect(keys.map(({ length }) => length).sort()).toEqual([0, 0, 23]);
    });

    test('checks every primary, and rejects a cluster with one that may evict', async () => {
      const message = 'Set maxmemory-policy to noeviction';
      for (const node of cluster.masters) {
        await setPolicy(node, 'allkeys-lru');
        await expect(migrate(opened.client, { prefix })).rejects.toThrow(message);
        const { keyring } = setUp({ store: storeUnder(prefix) });
        const error = await storeError(() => keyring.verify(generateKey({ prefix: 'acme' })));
        expect(String(causeOf(error))).toContain(message);
        await setPolicy(node, 'noeviction');
      }
      await migrate(opened.client, { prefix });
    });

    test('never asks the replica, so that every acknowledged write is seen', async () => {
      const store = storeUnder(prefix);
      const { keyring } = setUp({ store });
      await issue(keyring);
      const asked = await commandsOf(cluster.replica, async () => {
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
      const reads = ['get', 'hgetall', 'zrange', 'eval', 'hget', 'hmget'];
      expect(reads.filter((command) => command in asked)).toEqual([]);
    });

    test('carries messages to subscribers on every node', async () => {
      const others = await Promise.all(cluster.masters.map(async () => connect()));
      const channels = others.map(({ client }) =>
        redisInvalidation({ publisher: opened.client, subscriber: client }),
      );
      const heard: string[] = [];
      for (const { subscribe } of channels) await subscribe((keyId) => heard.push(keyId));
      await channels[0]?.publish(OTHER);
      await eventually(async () => heard.length === 3, 'all three hear');
      expect(heard).toEqual([OTHER, OTHER, OTHER]);
      for (const other of others) other.close();
    });

    test('finds keys again after their slots have moved', async () => {
      const mine = `${prefix}moving:`;
      const { keyring, store } = setUp({ store: storeUnder(mine) });
      const { key, info } = await issue(keyring);
      const { digest } = (await store.findById(info.keyId)) as KeyRecord;
      const listing = `${mine}own:acme:${OWN}`;
      const names = [`${mine}rec:${digest}`, `${mine}id:${info.keyId}`, listing, `${mine}expiry`];
      for (const moving of names) await moveSlot(moving);
      await keyring.verify(key);
      expect((await keyring.list({}, AUTHORITY)).keys).toHaveLength(1);
      await keyring.revoke(info.keyId, AUTHORITY);
      await expect(keyring.verify(key)).rejects.toThrow();
    });
  });

  test('is asked for its nodes only after the client has connected', async () => {
    const client = createCluster({ rootNodes: rootNodes() }).on('error', ignore);
    await expect(migrate(client)).rejects.toThrow();
    await client.connect();
    await migrate(client);
    client.destroy();
  });
});

const ELSEWHERE: readonly NonNullable<ClusterOptions['scaleReads']>[] = [
  'slave',
  'all',
  () => null,
];

test.each(ELSEWHERE)(
  'a cluster client of ioredis that reads from replicas is rejected: %s',
  (scaleReads) => {
    const client = new Cluster([{ host: '127.0.0.1', port: 1 }], { scaleReads, lazyConnect: true });
    const message = "scaleReads must be 'master'; a replica would accept revoked keys";
    expect(() => redisStore(client)).toThrow(message);
    expect(() => redisStore(client)).toThrow(TypeError);
    client.disconnect();
  },
);
