/**
 * Caches look-ups in memory for a bounded time, so that most requests need no database.
 *
 * It caches records, never decisions. On each request the keyring checks the marks, expiry, scopes
 * and entities of a cached record (its seal only once, because the record is frozen). An entry may
 * therefore outlive its key's expiry; the key does not.
 *
 * Cached are `findByDigest` and, for tokens, `findById`, unless the caller asks for a `fresh`
 * answer. Everything else goes to the store: it is rare, or needs the current state.
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
   * Returns the state of the channel to other processes, for a health check. Call it as
   * often as you like. It also keeps the beat going while nothing is looked up.
   */
  channelState(): ChannelState;
}

/**
 * Makes a store that caches look-ups.
 *
 * The cache shows changes that are made through it at once: keys that are created, revoked,
 * suspended, resumed or retired, and entities that withdraw. It shows a change made by another
 * store or process within `maxStalenessMs`. A key that was tried before another process created it
 * works within 5 s. With `invalidation`, a mark shows as soon as its message arrives; while the
 * channel is down, `maxStalenessMs` applies. Cached answers are returned synchronously.
 *
 * With `invalidation`, the cache publishes a beat every 5 s, alongside look-ups, and must receive
 * it within 5 s. With many processes each beats less often, so that together they publish about two
 * a second. If a beat does not come back, the channel is silent: `onError` is called once, and
 * `channelState` says so. When the channel comes up, everything cached before is looked up again at
 * its next use. The cache does not notice messages that were lost between two beats that arrived.
 *
 * Concurrent look-ups of one key share one query, or at most two while other keys are being marked.
 * On Cloudflare Workers they do not, because a query belongs to one request there. The query is
 * aborted when no caller waits for it any longer. Errors are not cached.
 *
 * While the store is down, keys work until their entries expire; with `insecureStaleIfErrorMs`,
 * known keys work that much longer. Cached answers may lag behind in usage, if another process
 * recorded it or more than 10,000 keys are in use; `list` and `get` show it at once.
 *
 * Not checked: that `cache` is bounded; that the store's own answers are current (a replica's are
 * not).
 *
 * @param store The store that keeps the keys.
 * @param options `cache`: where look-ups are kept. `maxStalenessMs`: their maximum age, in
 *   milliseconds.
 * @returns A store with the same optional methods as `store`.
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
      channel.maintain();
      return store.findByDigest(digests, call);
    },
    findById(keyId, call) {
      channel.maintain();
      return store.findById(keyId, call);
    },
  });
  channel.maintain();

  return {
    ...lookups,
    list: (query, call) => store.list(query, call),
    listLineage: (query, call) => store.listLineage(query, call),
    // The cache may hold "no such key" for this digest.
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
 * Outdates entries before the write, because a failed write may still have happened, and after it,
 * because a look-up in between may have read the old state.
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
 * Returns the optional methods that the store has, bound to it. `bind` keeps the number of
 * parameters, which tells `storeContract` whether `summarize` accepts a time.
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
