/** The options of the store, and what is checked before anything is sent. */
import { assert, readFields } from '../../core/input.js';
import { assertClient, type RedisClient } from './clients.js';
import { createLink, type Link } from './link.js';

/** Options of `redisStore` and `migrate`. */
export interface RedisStoreOptions {
  /**
   * What every Redis key of this store begins with: 1 to 100 printable ASCII characters. Default:
   * `keyscope:`. One with `{…}` keeps all keys on one cluster node.
   */
  readonly prefix?: string | undefined;
}

/** Where a store is: its client and its prefix. */
export interface Place {
  readonly link: Link;
  readonly prefix: string;
}

/** Reads what `redisStore` and `migrate` are given; throws a `TypeError` if anything is wrong. */
export function readPlace(client: RedisClient, options: RedisStoreOptions, what: string): Place {
  assertClient(client, what);
  const { prefix } = readFields(options, ['prefix'], what);
  if (prefix === undefined) {
    // Otherwise two services, each with a keyPrefix, would share their keys.
    const ignored = 'node-redis does not apply its keyPrefix to raw commands';
    assert(!hasKeyPrefix(client), `${what}: prefix: pass one; ${ignored}`);
    return { link: createLink(client), prefix: 'keyscope:' };
  }
  const isSound = typeof prefix === 'string' && /^[!-~]{1,100}$/.test(prefix);
  assert(isSound, `${what}: prefix: pass 1 to 100 printable ASCII characters without spaces`);
  return { link: createLink(client), prefix };
}

/** Whether this is a node-redis client that was made with a `keyPrefix`. */
function hasKeyPrefix(client: RedisClient): boolean {
  if (!('sendCommand' in client)) return false;
  const { _keyPrefix } = client as { readonly _keyPrefix?: unknown };
  return Boolean(_keyPrefix);
}
