/** Messages over Redis pub/sub that a key has ended. */
import { Redis } from 'ioredis';
import { cacheStore } from 'keyscope/cache';
import { memoryStore } from 'keyscope/stores/memory';
import { redisInvalidation } from 'keyscope/stores/redis';
import { createClientPool } from 'redis';
import { describe, expect, onTestFinished, test } from 'vitest';
import { lru, MAX_MS } from '../../support/cache.ts';
import { eventually } from '../../support/eventually.ts';
import { OTHER, OWN, stoppedClock } from '../../support/keyring.ts';
import {
  connectTo,
  connectWithoutQueue,
  ioRedis,
  KINDS,
  nodeRedisPool,
} from '../../support/redis-clients.ts';
import { describeWithRedis, startRedis } from '../../support/redis-servers.ts';
import { describeOn, SERVERS } from '../../support/servers.ts';

const URL = SERVERS.redis;
const freshChannel = () => `keyscope-test-${crypto.randomUUID()}`;
const PAIRS = KINDS.flatMap((from) => KINDS.map((to) => ({ from, to })));

const onRedis = await describeOn('redis');

onRedis('redisInvalidation', () => {
  test.each(PAIRS)('carries key ids from $from to $to', async ({ from, to }) => {
    const out = await connectTo(from, URL);
    const into = await connectTo(to, URL);
    const clients = { publisher: out.client, subscriber: into.client };
    const channel = freshChannel();
    const invalidation = redisInvalidation(clients, { channel });
    const first: string[] = [];
    const second: string[] = [];
    await invalidation.subscribe((keyId) => first.push(keyId));
    await invalidation.subscribe((keyId) => second.push(keyId));
    const elsewhere = redisInvalidation(clients, { channel: `${channel}2` });
    await elsewhere.subscribe(() => {});
    await elsewhere.publish(OTHER);
    // A message that is not a UUID belongs to no key.
    for (const odd of ['', 'x', OWN.toUpperCase(), `${OWN}\n`, `${OWN} `, '{}', 'é']) {
      await invalidation.publish(odd);
    }
    await invalidation.publish(OWN);
    await invalidation.publish(OTHER);
    const haveHeard = async () => first.length === 2 && second.length === 2;
    await eventually(haveHeard, 'both listeners hear both');
    expect(first).toEqual([OWN, OTHER]);
    expect(second).toEqual([OWN, OTHER]);
    out.close();
    into.close();
  });

  test('accepts a pool to publish', async () => {
    const out = await nodeRedisPool(URL);
    const into = ioRedis(URL);
    const clients = { publisher: out.client, subscriber: into.client };
    const invalidation = redisInvalidation(clients, { channel: freshChannel() });
    const heard: string[] = [];
    await invalidation.subscribe((keyId) => heard.push(keyId));
    await invalidation.publish(OWN);
    await eventually(async () => heard.length === 1, 'it is heard');
    out.close();
    into.close();
  });
});

describe('redisInvalidation, used incorrectly,', () => {
  const publisher = new Redis({ lazyConnect: true });
  const subscriber = new Redis({ lazyConnect: true });
  const using = (clients: unknown, options?: unknown) => () =>
    redisInvalidation(clients as { publisher: Redis; subscriber: Redis }, options as object);

  test('rejects one connection for both, and a pool to subscribe', () => {
    const shared = 'subscriber: pass another connection: client.duplicate()';
    expect(using({ publisher, subscriber: publisher })).toThrow(shared);
    const pool = 'subscriber: pass a client or cluster';
    expect(using({ publisher, subscriber: createClientPool() })).toThrow(pool);
  });

  test('rejects values that are not clients', () => {
    for (const odd of [undefined, null, 'x', {}]) {
      expect(using({ publisher, subscriber: odd })).toThrow(TypeError);
      expect(using({ publisher: odd, subscriber })).toThrow(TypeError);
      expect(using(odd)).toThrow(TypeError);
    }
    const unknown = using({ publisher, subscriber, client: publisher });
    expect(unknown).toThrow('unknown field "client"');
  });

  test('rejects a channel that is not a text', () => {
    for (const channel of ['', 5, null, 'a\0']) {
      expect(using({ publisher, subscriber }, { channel })).toThrow('channel: pass a text');
    }
    expect(using({ publisher, subscriber })).not.toThrow();
  });
});

describeWithRedis.each(KINDS)('redisInvalidation, with %s', (kind) => {
  test('receives messages again after the server was away', async () => {
    const own = await startRedis();
    onTestFinished(own.remove);
    const out = await connectTo(kind, own.url);
    const into = await connectTo(kind, own.url);
    const invalidation = redisInvalidation({ publisher: out.client, subscriber: into.client });
    const heard: string[] = [];
    await invalidation.subscribe((keyId) => heard.push(keyId));
    await own.stop();
    await own.start();
    const hears = async () => {
      await invalidation.publish(OWN);
      return heard.length > 0;
    };
    await eventually(hears, 'a message arrives');
    out.close();
    into.close();
  });

  test('reports through its beat that it is silent or down, and that it is back', async () => {
    const own = await startRedis();
    onTestFinished(own.remove);
    const out = await connectTo(kind, own.url);
    const into = await connectTo(kind, own.url);
    const clock = stoppedClock();
    const store = cacheStore(memoryStore(), {
      cache: lru(),
      maxStalenessMs: MAX_MS,
      invalidation: redisInvalidation({ publisher: out.client, subscriber: into.client }),
      now: clock.now,
    });
    const becomes = (states: readonly string[]) =>
      eventually(
        async () => {
          clock.advance(5_000);
          return states.includes(store.channelState());
        },
        `it is ${states.join(' or ')}`,
      );
    await becomes(['up']);
    await own.stop();
    await becomes(['down', 'silent']);
    await own.start();
    await becomes(['up']);
    out.close();
    into.close();
  });

  test('receives each message once after a failed subscription was retried', async () => {
    const own = await startRedis();
    onTestFinished(own.remove);
    const into = await connectWithoutQueue(kind, own.url);
    const out = ioRedis(own.url);
    const clients = { publisher: out.client, subscriber: into.client };
    const { publish, subscribe } = redisInvalidation(clients);
    const heard: string[] = [];
    const listener = (keyId: string) => void heard.push(keyId);
    const succeeds = async () => {
      await subscribe(listener);
      return true;
    };
    const fails = () =>
      succeeds().then(
        () => false,
        () => true,
      );
    await own.stop();
    await eventually(fails, 'a subscription fails');
    await own.start();
    await eventually(succeeds, 'a subscription succeeds');
    await subscribe(listener);
    await publish(OWN);
    await publish(OTHER);
    await eventually(async () => heard.includes(OTHER), 'both arrive');
    expect(heard).toEqual([OWN, OTHER]);
    out.close();
    into.close();
  });
});
