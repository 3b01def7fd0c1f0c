/** Validates the clients and options of a store, before anything is sent. */
import { assert, readFields } from '../../core/input.js';
import { assertClient, createLink, type Link, type RedisClient } from './client.js';
import { type Keys, keysUnder } from './schema.js';

/** The options of `redisStore` and `migrate`. */
export interface RedisStoreOptions {
  /**
   * The beginning of every Redis key of this store: 1 to 100 printable ASCII characters. Default:
   * `keyscope:`. A prefix with `{…}` keeps all keys on one cluster node.
   */
  readonly prefix?: string | undefined;
  /**
   * Another client of the same server, with its own connection, over which `redisStore` writes
   * usage. Redis answers a connection in order: if it holds a write back, for example while it
   * prepares a failover, every look-up behind that write waits. Default: `client`.
   */
  readonly usageClient?: RedisClient | undefined;
}

/** The links, the Redis keys and the prefix of a store. */
export interface Settings {
  readonly link: Link;
  /** For usage; the same as `link` unless there is a client for it. */
  readonly usageLink: Link;
  readonly keys: Keys;
  readonly prefix: string;
}

/** Validates the arguments of `redisStore` and `migrate`; throws a `TypeError` if one is wrong. */
export function readOptions(
  client: RedisClient,
  options: RedisStoreOptions,
  what: string,
): Settings {
  assertClient(client, what);
  const given = readFields(options, ['prefix', 'usageClient'], what);
  const { prefix = 'keyscope:', usageClient = client } = given;
  assertClient(usageClient as RedisClient, `${what}: usageClient`);
  if (given.prefix === undefined) {
    // Otherwise two services, each with a keyPrefix, would share their keys.
    const ignored = 'node-redis does not apply its keyPrefix to raw commands';
    const isIgnored = [client, usageClient as RedisClient].some(hasKeyPrefix);
    assert(!isIgnored, `${what}: prefix: pass one; ${ignored}`);
  }
  const isSound = typeof prefix === 'string' && /^[!-~]{1,100}$/.test(prefix);
  assert(isSound, `${what}: prefix: pass 1 to 100 printable ASCII characters without spaces`);
  const keys = keysUnder(prefix);
  const link = createLink(client, keys.schema);
  const isApart = usageClient !== client;
  const usageLink = isApart ? createLink(usageClient as RedisClient, keys.schema) : link;
  return { link, usageLink, keys, prefix };
}

/** Checks whether this is a node-redis client that was made with a `keyPrefix`. */
function hasKeyPrefix(client: RedisClient): boolean {
  if (!('sendCommand' in client)) return false;
  const { _keyPrefix } = client as { readonly _keyPrefix?: unknown };
  return Boolean(_keyPrefix);
}
