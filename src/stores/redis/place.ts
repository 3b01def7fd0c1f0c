/** Where a store is, by its options, which are checked before anything is sent. */
import { assert, readFields } from '../../core/input.js';
import { assertClient, createLink, type Link, type RedisClient } from './client.js';

/** Options of `redisStore` and `migrate`. */
export interface RedisStoreOptions {
  /**
   * What every Redis key of this store begins with: 1 to 100 printable ASCII characters. Default:
   * `keyscope:`. One with `{…}` keeps all keys on one cluster node.
   */
  readonly prefix?: string | undefined;
  /**
   * A client of the same server, on a connection of its own, over which `redisStore` notes usage.
   * Redis answers a connection in order: where it holds a write back, as while a failover is
   * prepared, every look-up behind that write waits. Default: `client`.
   */
  readonly usageClient?: RedisClient | undefined;
}

/** Where a store is: its clients and its prefix. */
export interface Place {
  readonly link: Link;
  /** For usage; the same as `link` unless there is a client for it. */
  readonly usageLink: Link;
  readonly prefix: string;
}

/** Reads what `redisStore` and `migrate` are given; throws a `TypeError` if anything is wrong. */
export function readPlace(client: RedisClient, options: RedisStoreOptions, what: string): Place {
  assertClient(client, what);
  const { prefix, usageClient = client } = readFields(options, ['prefix', 'usageClient'], what);
  assertClient(usageClient as RedisClient, `${what}: usageClient`);
  const clients = [client, usageClient as RedisClient];
  if (prefix === undefined) {
    // Otherwise two services, each with a keyPrefix, would share their keys.
    const ignored = 'node-redis does not apply its keyPrefix to raw commands';
    assert(!clients.some(hasKeyPrefix), `${what}: prefix: pass one; ${ignored}`);
  }
  const under = prefix === undefined ? 'keyscope:' : prefix;
  const isSound = typeof under === 'string' && /^[!-~]{1,100}$/.test(under);
  assert(isSound, `${what}: prefix: pass 1 to 100 printable ASCII characters without spaces`);
  const link = createLink(client);
  const isApart = usageClient !== client;
  return {
    link,
    usageLink: isApart ? createLink(usageClient as RedisClient) : link,
    prefix: under,
  };
}

/** Whether this is a node-redis client that was made with a `keyPrefix`. */
function hasKeyPrefix(client: RedisClient): boolean {
  if (!('sendCommand' in client)) return false;
  const { _keyPrefix } = client as { readonly _keyPrefix?: unknown };
  return Boolean(_keyPrefix);
}
