/** The Redis clients that a service may pass: their types, and which ones are refused. */
import { assert } from '../../core/input.js';
import type { Awaitable } from '../../core/store.js';

/** An option of node-redis: replies as plain strings, whatever types the client maps them to. */
export interface PlainReplies {
  readonly typeMapping: Readonly<Record<never, never>>;
}

/** `createClient()` or `createClientPool()` of `redis`. */
export interface NodeRedis {
  /** Sends a command as a list of words. */
  sendCommand(command: string[], options: PlainReplies): Promise<unknown>;
}

/** `createCluster()` of `redis`. */
export interface NodeRedisCluster {
  /** The primaries that the client knows; none before it is connected. */
  readonly masters: readonly object[];
  /** The client of one of them. */
  nodeClient(master: object): Awaitable<NodeRedis>;
  /** Sends a command to the node that has `firstKey`. */
  sendCommand(
    firstKey: string | undefined,
    isReadonly: boolean,
    command: string[],
    options: PlainReplies,
  ): Promise<unknown>;
}

/** `createSentinel()` of `redis`, which finds its primary through Sentinel. */
export interface NodeRedisSentinel {
  /** Distinguishes it from a client of one server; never called. */
  acquire(): Promise<object>;
  /** Sends a command to the primary, unless it is marked as a read. */
  sendCommand(isReadonly: boolean, command: string[], options: PlainReplies): Promise<unknown>;
}

/** `new Redis()` of `ioredis`, also one that finds its primary through Sentinel. */
export interface IoRedis {
  /** Sends a command as a list of words. */
  call(command: string, ...args: string[]): Promise<unknown>;
}

/** `new Redis.Cluster()` of `ioredis`, reading from masters, as it does by default. */
export interface IoRedisCluster extends IoRedis {
  /** The clients of the primaries that the cluster's client knows. */
  nodes(role: 'master'): readonly IoRedis[];
  /** The options that the client was made with. */
  readonly options: { readonly scaleReads?: unknown };
}

/** A connected client, recognised by its methods. */
export type RedisClient =
  | NodeRedis
  | NodeRedisCluster
  | NodeRedisSentinel
  | IoRedis
  | IoRedisCluster;

/** Whether `value` is an object with this method. Excludes functions, which all have a `call`. */
export function hasMethod(value: unknown, name: string): boolean {
  if (typeof value !== 'object' || value === null) return false;
  return typeof (value as Readonly<Record<string, unknown>>)[name] === 'function';
}

/** Throws a `TypeError` unless `client` is one of the clients above and reads from primaries. */
export function assertClient(client: RedisClient, what: string): void {
  // What a `createSentinel` lends has a `sendCommand` too, but only until its `release`.
  const isLent = hasMethod(client, 'release') && !hasMethod(client, 'acquire');
  const isNodeRedis = hasMethod(client, 'sendCommand') && !isLent;
  const kinds =
    'a client, pool, cluster or sentinel of redis (node-redis), or a Redis or Cluster of ioredis';
  assert(isNodeRedis || hasMethod(client, 'call'), `${what}: pass ${kinds}`);
  const danger = 'a replica would accept revoked keys';
  assert(!readsFromReplicas(client), `${what}: scaleReads must be 'master'; ${danger}`);
  assert(!seeksReplica(client), `${what}: role must be 'master'; ${danger}`);
}

/** Whether this is a Redis of ioredis that asks Sentinel for a replica. */
function seeksReplica(client: RedisClient): boolean {
  const { options } = client as { readonly options?: { readonly role?: unknown } | undefined };
  return 'call' in client && options?.role === 'slave';
}

function readsFromReplicas(client: RedisClient): boolean {
  if (!('nodes' in client)) return false;
  const options: IoRedisCluster['options'] | undefined = client.options;
  const scaleReads = options?.scaleReads;
  return scaleReads !== undefined && scaleReads !== 'master';
}
