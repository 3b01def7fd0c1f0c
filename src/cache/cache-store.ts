/**
 * Caches look-ups in memory for a bounded time, so that most requests need no database. It keeps
 * records, never decisions: the keyring checks the marks, expiry, scopes and entities of a cached
 * record on each request (its seal once, because it is frozen), so an entry may outlive its key's
 * expiry, but the key does not.
 *
 * `findByDigest` is cached, and for tokens `findById`, but not where a caller asks for a `fresh`
 * answer. Everything else asks the store each time: it is rare, or needs the current state.
 */
import { assert, hasMethods } from '../core/input.js';
import type { Awaitable, KeyStore } from '../core/store.js';
import { mapAnswer, runThen } from './awaitable.js';
import { type CacheOptions, readCacheOptions } from './cache-options.js';
import { type ChannelState, createChannel } from './channel.js';
import {
  addUsage,
  createKnownChanges,
  type KnownChanges,
  outdate,
  outdateAll,
} from './known-changes.js';
import { createLookups } from './lookups.js';

const METHODS: readonly (keyof KeyStore)[] = [
  'insert',
  'findByDigest',
  'findById',
  'list',
  'listLineage',
  'mark',
  'touch',
];

/** A store that caches look-ups. */
export interface CachedStore extends KeyStore {
  /**
   * How the channel to other processes stands: for a health check, which may call this as often as
   * it likes. Keeps the channel's beat going where there are no look-ups.
   */
  channelState(): ChannelState;
}

/**
 * Makes a store that caches look-ups. When a key is made, revoked, suspended, resumed or retired
 * through this store, or an entity withdraws from it, the store shows it at once. When that happens
 * through any other store or process, it shows within `maxStalenessMs`, and a new key that was
 * tried before it existed within 5 s. With `invalidation`, a mark shows as soon as its message
 * arrives; while the channel is down, the bound holds. A cached answer is returned at once, without
 * a promise.
 *
 * With `invalidation`, the cache publishes a beat every 5 s, alongside look-ups, and must hear it
 * itself within 5 s; beside many other processes less often, so that all of them together publish
 * some two a second. If it does not hear it, the channel is silent: `onError` is told once, and
 * `channelState` says so. When the channel comes up, everything cached until then is looked up
 * again. Not noticed: messages that were lost between two beats that were heard.
 *
 * Concurrent look-ups of one key share one query, and at most two while other keys are marked,
 * except on Cloudflare Workers, where a query belongs to one request. It is aborted once none of
 * them waits any more. Errors are not cached.
 * While the store is down, keys pass only as long as their entries live; with
 * `insecureStaleIfErrorMs`, known ones for so much longer. Usage that other processes
 * record shows late in cached answers, as does that of more than 10,000 keys; `list` and `get` show
 * it at once.
 *
 * Not checked: that `cache` is bounded; that the store's own answers are current (a replica's are
 * not).
 *
 * @param store The store that keeps the keys.
 * @param options `cache`: where look-ups are kept. `maxStalenessMs`: their maximum age, in
 *   milliseconds.
 * @returns A store that offers what `store` offers of the optional methods.
 * @throws TypeError that says what to pass instead.
 * @example
 * const cache = new LRUCache<string, object>({ max: 10_000 });
 * const store = cacheStore(postgresStore(pool), { cache, maxStalenessMs: 10_000 });
 */
export function cacheStore(store: KeyStore, options: CacheOptions): CachedStore {
  assertIsStore(store);
  const settings = readCacheOptions(options);
  const changes = createKnownChanges(settings);
  const channel = createChannel(settings, {
    onChange: (keyId) => outdate(changes, keyId),
    onUp: () => outdateAll(changes),
  });
  const lookups = createLookups(settings, changes, {
    findByDigest(digests, call) {
      channel.tend();
      return store.findByDigest(digests, call);
    },
    findById(keyId, call) {
      channel.tend();
      return store.findById(keyId, call);
    },
  });
  channel.tend();

  return {
    findByDigest: lookups.findByDigest,
    findById: lookups.findById,
    list: (query, call) => store.list(query, call),
    listLineage: (rootKeyId, call) => store.listLineage(rootKeyId, call),
    // The digest may have been looked up before and be cached as absent.
    insert: (record, call) =>
      outdateAround(changes, [record.digest, record.keyId], () => store.insert(record, call)),
    mark: (keyId, mark, call) =>
      runThen(
        () => outdateAround(changes, [keyId], () => store.mark(keyId, mark, call)),
        () => channel.publish(keyId),
      ),
    touch: (entries, call) =>
      mapAnswer(store.touch(entries, call), () => {
        for (const { keyId, ...usage } of entries) addUsage(changes, keyId, usage);
      }),
    channelState: channel.state,
    isInProcess: store.isInProcess,
    ...optionalOf(store),
  };
}

function assertIsStore(store: unknown): void {
  for (const name of METHODS) {
    const instead = `cacheStore: the store has no method ${name}; see KeyStore`;
    assert(hasMethods(store, name), instead);
  }
}

/**
 * Outdates entries before the write, because a write that fails may still have happened; and after
 * it, because a look-up that was sent in between may have read the old state.
 */
function outdateAround<T>(
  changes: KnownChanges,
  names: readonly string[],
  write: () => Awaitable<T>,
): Awaitable<T> {
  const outdateNames = (): void => {
    for (const name of names) outdate(changes, name);
  };
  outdateNames();
  return runThen(write, outdateNames);
}

type Optional = Pick<KeyStore, 'summarize' | 'listExpiring' | 'listAll' | 'listChanged'>;

/**
 * The optional methods that the store offers. Bound, they have as many parameters as the store's
 * own: from that, `storeContract` tells whether `summarize` accepts a time.
 */
function optionalOf(store: KeyStore): Optional {
  const { summarize, listExpiring, listAll, listChanged } = store;
  return {
    ...(summarize && { summarize: summarize.bind(store) }),
    ...(listExpiring && { listExpiring: listExpiring.bind(store) }),
    ...(listAll && { listAll: listAll.bind(store) }),
    ...(listChanged && { listChanged: listChanged.bind(store) }),
  };
}
