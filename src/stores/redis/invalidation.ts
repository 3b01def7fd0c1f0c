/** Announces ended keys to other processes over Redis pub/sub. */
import { assert, hasMethods, readFields } from '../../core/input.js';
import type { Invalidation } from '../../core/invalidation.js';
import { isUuid } from '../../core/uuid.js';
import { isText } from '../reads.js';
import { assertClient, createLink, type RedisClient } from './client.js';

/** A client or cluster of `redis` that is only used to subscribe. */
export interface NodeRedisSubscriber {
  /** Calls `listener` with each message of the channel. */
  subscribe(channel: string, listener: (message: string) => void): Promise<unknown>;
}

/** A Redis or Cluster of `ioredis` that is only used to subscribe. */
export interface IoRedisSubscriber {
  /** Distinguishes it from a client of `redis`; never called. */
  call(command: string, ...args: string[]): Promise<unknown>;
  /** Asks the server for the messages of a channel. */
  subscribe(channel: string): Promise<unknown>;
  /** Calls `listener` with each message of every channel. */
  on(event: 'message', listener: (channel: string, message: string) => void): unknown;
}

/**
 * A client or cluster of `redis`, or a Redis or Cluster of `ioredis`, that is only used to
 * subscribe.
 */
export type RedisSubscriber = NodeRedisSubscriber | IoRedisSubscriber;

interface InvalidationClients {
  readonly publisher: RedisClient;
  readonly subscriber: RedisSubscriber;
}

const WHAT = 'redisInvalidation';

/**
 * Makes a channel for `cacheStore` that announces ended keys to other processes over Redis pub/sub.
 * It carries only key ids and the cache's beat, and ignores anything that is not a UUID. Anyone who
 * can publish on the channel can make caches look a key up again, and nothing more.
 *
 * Not checked: that a message arrives. A message sent while a subscriber is disconnected is lost,
 * and that process notices the change within its `maxStalenessMs`. Both clients resubscribe when
 * they reconnect.
 *
 * @param clients Connected. `publisher` may be the store's client. `subscriber` is a separate
 *   connection, because a subscribed connection accepts no other commands. Use a `duplicate()` with
 *   a listener for `error`: without one, a lost connection ends the process with node-redis.
 * @param options `channel`: the same in every process. Default: `keyscope:ended`.
 * @throws TypeError if either is not a supported client, both are the same, or the subscriber is a
 *   pool.
 * @example
 * const subscriber = await client.duplicate().on('error', report).connect();
 * const invalidation = redisInvalidation({ publisher: client, subscriber });
 */
export function redisInvalidation(
  clients: { readonly publisher: RedisClient; readonly subscriber: RedisSubscriber },
  options: { readonly channel?: string | undefined } = {},
): Invalidation {
  const { publisher, subscriber } = readClients(clients);
  const channel = readChannel(options);
  const { send } = createLink(publisher, '');
  return {
    publish: async (keyId) => {
      await send(undefined, ['publish', channel, keyId]);
    },
    subscribe: createSubscribe(subscriber, channel),
  };
}

function readClients(clients: unknown): InvalidationClients {
  const { publisher, subscriber } = readFields(clients, ['publisher', 'subscriber'], WHAT);
  assertClient(publisher as RedisClient, `${WHAT}: publisher`);
  const what = `${WHAT}: subscriber`;
  const isKnown = hasMethods(subscriber, 'subscribe');
  assert(isKnown, `${what}: pass a client or cluster of redis or ioredis, not a pool`);
  assert(subscriber !== publisher, `${what}: pass another connection: client.duplicate()`);
  return { publisher, subscriber } as InvalidationClients;
}

function readChannel(options: unknown): string {
  const { channel = 'keyscope:ended' } = readFields(options, ['channel'], WHAT);
  assert(isText(channel) && channel !== '', `${WHAT}: channel: pass a text`);
  return channel;
}

function createSubscribe(subscriber: RedisSubscriber, channel: string): Invalidation['subscribe'] {
  // One function for all listeners and attempts, so that a subscription that is retried after a
  // failure delivers each message once.
  const listeners = new Set<(keyId: string) => void>();
  function onMessage(message: unknown): void {
    if (!isUuid(message)) return;
    for (const listener of listeners) listener(message);
  }

  let isAttached = false;
  return (listener) => {
    listeners.add(listener);
    if (!('call' in subscriber)) return subscriber.subscribe(channel, onMessage);
    if (!isAttached) {
      subscriber.on('message', (from, message) => {
        if (from === channel) onMessage(message);
      });
      isAttached = true;
    }
    return subscriber.subscribe(channel);
  };
}
