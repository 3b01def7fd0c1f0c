/**
 * The Redis clients that a service may pass, the checks that reject others, and the operations that
 * the store needs: sending commands, and listing the primaries.
 */
import { assert, hasMethods } from '../../core/input.js';
import type { Awaitable } from '../../core/store.js';
import { READ } from './scripts.js';

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
  /** The primaries that the client knows; empty before it is connected. */
  readonly masters: readonly object[];
  /** Returns the client of one of them. */
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

/**
 * `new Redis()` of `ioredis` or `iovalkey`, including one that finds its primary through Sentinel.
 */
export interface IoRedis {
  /** Sends a command as a list of words. */
  call(command: string, ...args: string[]): Promise<unknown>;
}

/** `new Redis.Cluster()` of either, reading from masters, as it does by default. */
export interface IoRedisCluster extends IoRedis {
  /** The clients of the primaries that the cluster's client knows. */
  nodes(role: 'master'): readonly IoRedis[];
  /** The options that the client was made with. */
  readonly options: { readonly scaleReads?: unknown };
}

/** A connected client, recognized by its methods. */
export type RedisClient =
  | NodeRedis
  | NodeRedisCluster
  | NodeRedisSentinel
  | IoRedis
  | IoRedisCluster;

/** Throws a `TypeError` unless `client` is one of the clients above and reads from primaries. */
export function assertClient(client: RedisClient, what: string): void {
  // What a client hands out to collect commands, call callbacks or be lent for a while sends
  // commands, too, but cannot connect.
  const isPart = ['exec', 'multi', 'release'].some((name) => hasMethods(client, name));
  // Every function has a `call`.
  const isFunction = typeof client === 'function';
  const isClient = !isFunction && (hasMethods(client, 'connect') || !isPart);
  const sends = hasMethods(client, 'sendCommand') || hasMethods(client, 'call');
  const kinds =
    'a client, pool, cluster or sentinel of redis (node-redis), ' +
    'or a Redis or Cluster of ioredis or iovalkey';
  assert(isClient && sends, `${what}: pass ${kinds}`);
  const danger = 'a replica would accept revoked keys';
  assert(!readsFromReplicas(client), `${what}: scaleReads must be 'master'; ${danger}`);
  assert(!seeksReplica(client), `${what}: role must be 'master'; ${danger}`);
}

/** Checks whether this is a Redis of ioredis that asks Sentinel for a replica. */
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

// ── Sending commands ─────────────────────────────────────────────────────────────────────────────

/**
 * A command as a list of words. Its name is in lower case: before 5.9, ioredis takes a name in
 * capitals for a command without keys and adds no `keyPrefix`, so services would share their keys.
 */
export type Command = [name: Lowercase<string>, ...args: string[]];

/** A client of any kind, as the store uses it. */
export interface Link {
  /** Sends to the primary that has `key`, or to any primary if `key` is undefined. */
  send(key: string | undefined, command: Command): Promise<unknown>;
  /** Returns every primary that the client knows. */
  primaries(): Promise<readonly Link[]>;
  /** The Redis key that a database with the store's data has. */
  readonly schema: string;
}

/** Makes a {@link Link} over `client`, whose errors contain neither digests nor seals. */
export function createLink(client: RedisClient, schema: string): Link {
  const send = createSend(client);
  const toLink = (node: RedisClient) => createLink(node, schema);
  const link: Link = {
    schema,
    async send(key, command) {
      try {
        return await send(key, command);
      } catch (error) {
        throw withoutArguments(error);
      }
    },

    async primaries() {
      if ('nodes' in client) return client.nodes('master').map(toLink);
      if (!('nodeClient' in client)) return [link];
      const nodes = client.masters.map((master) => client.nodeClient(master));
      return (await Promise.all(nodes)).map(toLink);
    },
  };
  return link;
}

/** Runs a script on one Redis key. */
export function runOn(
  link: Link,
  key: string,
  script: string,
  args: readonly string[],
): Promise<unknown> {
  return link.send(key, ['eval', script, '1', key, ...args]);
}

const MIXED_UP = 'redis: the client returned the answer to another command. Use a new client';

let questions = 0;

/** Runs a read command on one Redis key, on the primary that has it; a replica refuses. */
export async function readFrom(
  link: Link,
  key: string,
  command: string,
  ...args: readonly string[]
): Promise<unknown> {
  questions += 1;
  const question = String(questions);
  const reply = await runOn(link, key, READ, [key, link.schema, question, command, ...args]);
  if (!Array.isArray(reply) || reply[0] !== question) throw new Error(MIXED_UP);
  return reply[1] ?? null;
}

/** Makes a link that sends nothing more once the caller has given up. */
export function linkUntil(link: Link, signal: AbortSignal | undefined): Link {
  if (signal === undefined) return link;
  return {
    ...link,
    async send(key, command) {
      signal.throwIfAborted();
      return link.send(key, command);
    },
  };
}

const PLAIN: PlainReplies = { typeMapping: {} };

function createSend(client: RedisClient): Link['send'] {
  // ioredis finds the key of a command itself.
  if ('call' in client) return (_key, [name, ...args]) => client.call(name, ...args);
  // For node-redis, no command is marked as a read: those may go to a replica.
  if ('nodeClient' in client) {
    return (key, command) => client.sendCommand(key, false, command, PLAIN);
  }
  if ('acquire' in client) return (_key, command) => client.sendCommand(false, command, PLAIN);
  return (_key, command) => client.sendCommand(command, PLAIN);
}

/** What to do if a server may evict keys, at the start or later. */
export const EVICT_NOTHING: string = 'Set maxmemory-policy to noeviction, or to one of volatile-*';

/** Advice on an error, by the beginning of its message. */
const ADVICE: ReadonlyMap<string, string> = new Map([
  // From node-redis, which connects only on request.
  ['The client is closed', '. Await client.connect() first'],
  ['READONLY ', '. This server is a replica: connect to the primary'],
  ['EVICTION ', `. ${EVICT_NOTHING}`],
  [
    'LOST ',
    '. Was SELECT called on a shared client, or the server flushed? ' +
      'Give keyscope its own client; after a flush, call migrate',
  ],
  // From ioredis, which before 5.11 takes a script for the key of its command.
  ['All keys in the pipeline', '. Leave enableAutoPipelining off, or use ioredis 5.11 or newer'],
  ['MOVED ', '. This server belongs to a cluster: pass a client of the cluster'],
]);

/** The arguments of a command as clients quote them, and anything that looks like a digest. */
const ARGUMENTS = /, with args beginning with.*|[0-9a-f]{16,}/gis;

// ioredis attaches the whole command to an error, with digest and seal in its arguments, and Redis
// quotes unknown commands. So this keeps only the message, without arguments and digests.
function withoutArguments(error: unknown): Error {
  const text = describe(error);
  return new Error(`redis: ${text.replace(ARGUMENTS, '…')}${adviceOn(text)}`);
}

function describe(error: unknown): string {
  const { message, code, name } = (error ?? {}) as Readonly<Record<string, unknown>>;
  return String(message || code || name);
}

function adviceOn(text: string): string {
  for (const [start, advice] of ADVICE) if (text.startsWith(start)) return advice;
  return '';
}

/** Checks for a link's error about a Redis key whose type does not fit the command. */
export function isWrongType(error: unknown): boolean {
  return error instanceof Error && error.message.startsWith('redis: WRONGTYPE');
}
