/**
 * Caches look-ups in memory for a bounded time, so that most requests need no database. It keeps
 * records, never decisions: the keyring checks the marks, expiry, scopes and entities of a cached
 * record on each request (its seal once, because it is frozen), so an entry may outlive its key's
 * expiry, but the key does not.
 *
 * Only `findByDigest` is cached. `findById` serves `revoke`, `rotate`, `get`, `advise` and the
 * parents of tokens, which are rare or need the current state: it asks the store each time, as do
 * `list` and `summarize`.
 */
import { assert, hasMethods } from '../core/input.js';
import type { Awaitable, KeyStore, UsageEntry } from '../core/store.js';
import { isThenable } from '../core/thenable.js';
import { runThen } from './awaitable.js';
import { createChannel } from './channel.js';
import { createLookups, type Lookups } from './lookups.js';
import { type CacheOptions, readCacheOptions } from './options.js';

const METHODS: readonly (keyof KeyStore)[] = [
  'insert',
  'findByDigest',
  'findById',
  'list',
  'markEnded',
  'touch',
  'summarize',
];

/**
 * Makes a store that caches look-ups. When a key is revoked, retired or made through this store,
 * the store shows it at once. When that happens through any other store or process, it shows within
 * `maxStalenessMs`, and a new key that was tried before it existed within 5 s. With `invalidation`,
 * an end shows as soon as its message arrives; while the channel is down, the bound holds. A cached
 * answer is returned at once, without a promise.
 *
 * Concurrent look-ups of one key share one query, except on Cloudflare Workers, where a query
 * belongs to one request. Errors are not cached. While the store is down, keys pass only as long as
 * their entries live. Usage that other processes record shows late in `findByDigest`, as does that
 * of more than 10,000 keys; `list` and `get` show it at once.
 *
 * Not checked: that `cache` is bounded; that the store's own answers are current (a replica's are
 * not).
 *
 * @param store The store that keeps the keys.
 * @param options `cache`: where look-ups are kept. `maxStalenessMs`: their maximum age, in
 *   milliseconds.
 * @throws TypeError that says what to pass instead.
 * @example
 * const cache = new LRUCache<string, object>({ max: 10_000 });
 * const store = cacheStore(postgresStore(pool), { cache, maxStalenessMs: 10_000 });
 */
export function cacheStore(store: KeyStore, options: CacheOptions): KeyStore {
  assertIsStore(store);
  const settings = readCacheOptions(options);
  const channel = createChannel(settings, (keyId) => lookups.outdate(keyId));
  const lookups = createLookups(settings, (digests) => {
    channel.ensureSubscribed();
    return store.findByDigest(digests);
  });
  channel.ensureSubscribed();

  return {
    findByDigest: lookups.find,
    findById: (keyId) => store.findById(keyId),
    list: (query) => store.list(query),
    summarize: summarizeOf(store),
    // The digest may have been looked up before and be cached as absent.
    insert: (record) =>
      outdateAround(lookups, [record.digest, record.keyId], () => store.insert(record)),
    markEnded: (keyId, ending) =>
      runThen(
        () => outdateAround(lookups, [keyId], () => store.markEnded(keyId, ending)),
        () => channel.publish(keyId),
      ),
    touch: (entries) => touch(store, lookups, entries),
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
  lookups: Lookups,
  names: readonly string[],
  write: () => Awaitable<T>,
): Awaitable<T> {
  names.forEach(lookups.outdate);
  return runThen(write, () => names.forEach(lookups.outdate));
}

function touch(store: KeyStore, lookups: Lookups, entries: readonly UsageEntry[]): Awaitable<void> {
  const answer = store.touch(entries);
  const addWritten = (): void => {
    for (const { keyId, ...usage } of entries) lookups.addUsage(keyId, usage);
  };
  return isThenable(answer) ? Promise.resolve(answer).then(addWritten) : addWritten();
}

/**
 * Has as many parameters as the store's own method: `storeContract` uses that number to tell
 * whether the method accepts a time.
 */
function summarizeOf(store: KeyStore): KeyStore['summarize'] {
  const summarize = (now?: number) => store.summarize(now ?? Date.now());
  Object.defineProperty(summarize, 'length', { value: store.summarize.length });
  return summarize;
}
