/**
 * Caches look-ups in memory for a bounded time, so that most requests need no database. It keeps
 * records, never decisions: the keyring checks the marks, expiry, scopes and entities of a cached
 * record on each request (its seal once, because it is frozen), so an entry may outlive its key's
 * expiry, but the key does not.
 *
 * Only `findByDigest` is cached. `findById` serves `revoke`, `rotate`, `get`, `advise` and the
 * parents of tokens, which are rare or need the current state: it asks the store each time, as do
 * `list` and `summarize`.
 *
 * An old answer cannot outlive a change: each change increments `generation`. An entry knows the
 * generation in which its look-up was sent, and is dead once a change of its key, or of one of its
 * digests, is newer. This covers look-ups in progress too, and nothing needs to be searched for and
 * removed.
 */
import { assert, readFields, readInteger } from '../core/input.js';
import type { Invalidation } from '../core/invalidation.js';
import { type KeyRecord, readRecord, type Usage } from '../core/record.js';
import type { Awaitable, KeyStore } from '../core/store.js';
import { mergeUsage } from '../core/usage.js';
import { isUuid } from '../core/uuid.js';

/** No entry is trusted for longer, in milliseconds, whatever `maxStalenessMs` allows. */
const MOST_MS = 30_000;
/**
 * How long "no such key" is trusted, in milliseconds; after that, a key that was made elsewhere
 * works.
 */
const ABSENT_MS = 5_000;
/**
 * How many look-ups of unknown keys are remembered, apart from the known keys: a guess evicts only
 * guesses.
 */
const MAX_ABSENT = 1_024;
/**
 * How many look-ups in progress can be joined, and for how long: one that hangs does not hold up
 * later requests.
 */
const MAX_FLIGHTS = 1_024;
const JOIN_MS = 1_000;
/** How many changes are remembered individually; the next one drops every entry. */
const MAX_CHANGES = 10_000;
/**
 * Of how many keys usage is remembered, in about 10 MB (more if they use many scopes); the next
 * drops all of it.
 */
const MAX_USED = 10_000;
/** How long to wait before a failed subscription is tried again. */
const RETRY_MS = 1_000;
/**
 * Separates the digests in an entry's name. No digest contains it; a look-up with a text that does
 * is not cached.
 */
const SEPARATOR = '\n';

/**
 * Where look-ups are kept: any bounded cache with these methods that answers synchronously, such as
 * an `LRUCache` of `lru-cache`. A plain `Map` has the methods but no bound. The cache may drop
 * entries at any time.
 */
export interface LookupCache {
  /** `name`: the digests of a look-up; with one pepper, a single digest. Never a key. */
  get(name: string): unknown;
  set(name: string, entry: object): unknown;
  delete(name: string): unknown;
}

/** How look-ups are cached. */
export interface CacheOptions {
  /** Bounded. About 2 KiB per key. */
  readonly cache: LookupCache;
  /**
   * The maximum age of an answer, in milliseconds, 1 to 86,400,000: how long a key that was revoked
   * elsewhere may still work. Above 30,000 it is 30,000: nothing is kept for longer, which
   * satisfies a longer limit, too.
   */
  readonly maxStalenessMs: number;
  /** Carries revocations to other processes sooner than that. */
  readonly invalidation?: Invalidation | undefined;
  /**
   * Milliseconds; for tests. An entry from the future is stale. Default: a clock that never goes
   * back.
   */
  readonly now?: (() => number) | undefined;
}

type Rows = readonly KeyRecord[];
type Find = (digests: readonly string[]) => Awaitable<Rows>;
type Flight = { readonly since: number; readonly rows: Promise<Rows> };

/** The answer to one look-up: a record, or none. */
interface Entry {
  /**
   * The cache that it belongs to: caches may share one `LRUCache`, but do not know each other's
   * changes.
   */
  readonly owner: object;
  readonly digests: readonly string[];
  rows: Rows;
  /** The time before the look-up was sent. */
  readonly since: number;
  /** The last change up to which it is known to be correct. */
  generation: number;
}

const NONE: Rows = Object.freeze([]);

// ── What has changed ──────────────────────────────────────────────────────────────────────────────────

function createChanges() {
  let generation = 0;
  // Entries of an earlier generation are dead, whatever they hold.
  let floor = 0;
  // By key id or digest: the generation of the last change that invalidates an entry.
  const changed = new Map<string, number>();
  // By key id: its recorded usage, which is merged into entries. If it counted as a change, every
  // key in use would be looked up after every batch.
  const used = new Map<string, { readonly usage: Usage; readonly generation: number }>();

  function use(keyId: string, more: Usage): void {
    // Not worth dropping entries for: no decision depends on it, and the next look-up brings it.
    if (used.size >= MAX_USED) used.clear();
    const usage = mergeUsage(used.get(keyId)?.usage, more);
    generation += 1;
    used.set(keyId, { generation, usage });
  }

  /** Whether `entry` is current, once the usage of its key is merged into it. */
  function holds(entry: Entry): boolean {
    if (entry.generation === generation) return true;
    const [record] = entry.rows;
    const isOld = (name: string) => (changed.get(name) ?? 0) > entry.generation;
    if (entry.generation < floor || entry.digests.some(isOld) || (record && isOld(record.keyId)))
      return false;
    const use = record && used.get(record.keyId);
    if (use && use.generation > entry.generation && !bringIn(entry, record, use.usage))
      return false;
    entry.generation = generation;
    return true;
  }

  function change(name: string): void {
    generation += 1;
    if (changed.size >= MAX_CHANGES) {
      changed.clear();
      floor = generation;
    }
    changed.set(name, generation);
    // The next look-up brings its usage; and usage that was reported before the key was made is
    // void.
    used.delete(name);
  }

  return { current: () => generation, change, use, holds };
}

function bringIn(entry: Entry, record: KeyRecord, usage: Usage): boolean {
  const merged = readRecord({ ...record, ...mergeUsage(record, usage) });
  if (merged === null) return false;
  entry.rows = Object.freeze([merged]);
  return true;
}

// ── Look-ups ──────────────────────────────────────────────────────────────────────────────────────────

type Changes = ReturnType<typeof createChanges>;

/** Answered look-ups: known keys in the user's cache, unknown ones in a separate ring. */
function createEntries({ cache, maxStalenessMs, now }: Settings, changes: Changes) {
  const owner = {};
  const absent = new Map<string, Entry>();

  const open = (digests: readonly string[]): Entry => {
    return {
      owner,
      digests: [...digests],
      rows: NONE,
      since: now(),
      generation: changes.current(),
    };
  };

  const isWithin = (ms: number, since: number): boolean => {
    const age = now() - since;
    return age >= 0 && age < Math.min(ms, maxStalenessMs);
  };

  function held(name: string): Entry | undefined {
    const entry = cache.get(name) as Entry | undefined;
    return entry?.owner === owner ? entry : absent.get(name);
  }

  function drop(name: string): void {
    cache.delete(name);
    absent.delete(name);
  }

  function recall(name: string): Entry | undefined {
    const entry = held(name);
    if (entry === undefined) return undefined;
    const limit = entry.rows.length > 0 ? maxStalenessMs : ABSENT_MS;
    if (isWithin(limit, entry.since) && changes.holds(entry)) return entry;
    drop(name);
    return undefined;
  }

  function keep(name: string, entry: Entry): void {
    // A look-up that was sent later but answered sooner knows more.
    if ((held(name)?.since ?? entry.since) > entry.since) return;
    drop(name);
    if (entry.rows.length > 0) cache.set(name, entry);
    else put(absent, name, entry, MAX_ABSENT);
  }

  return { open, isWithin, recall, keep };
}

type Memory = { find: Find; change(name: string): void; use(keyId: string, usage: Usage): void };

// On Cloudflare Workers a query ends with the request that sent it: others that joined it would
// wait in vain.
const mayJoin = () => globalThis.navigator?.userAgent !== 'Cloudflare-Workers';

function createMemory(ask: Find, settings: Settings): Memory {
  const changes = createChanges();
  const { open, isWithin, recall, keep } = createEntries(settings, changes);
  const [flights, joins] = [new Map<string, Flight>(), mayJoin()];

  function land(name: string, entry: Entry, answer: Rows): Rows {
    const rows = readAnswer(answer, entry.digests);
    // Left for the core to refuse, and not kept.
    if (rows === undefined) return answer;
    entry.rows = rows;
    // If it has changed meanwhile, this answers those who asked before, and nobody else.
    if (changes.holds(entry)) keep(name, entry);
    return entry.rows;
  }

  function send(name: string, digests: readonly string[]): Awaitable<Rows> {
    // Opened before the look-up is sent: its age counts from here, as do the changes that it may
    // have missed.
    const entry = open(digests);
    const answer = ask(digests);
    if (!isPromise(answer)) return land(name, entry, answer);
    const flight = {
      since: entry.since,
      rows: Promise.resolve(answer).then((rows) => land(name, entry, rows)),
    };
    if (joins) put(flights, name, flight, MAX_FLIGHTS);
    const landed = () => flights.get(name) === flight && flights.delete(name);
    flight.rows.then(landed, landed);
    return flight.rows;
  }

  function find(digests: readonly string[]): Awaitable<Rows> {
    const name = nameOf(digests);
    if (name === undefined) return ask(digests);
    const entry = recall(name);
    if (entry !== undefined) return entry.rows;
    const flight = flights.get(name);
    return flight !== undefined && isWithin(JOIN_MS, flight.since)
      ? flight.rows
      : send(name, digests);
  }

  function change(name: string): void {
    changes.change(name);
    // Until they land, their keys are unknown, so all of them are dropped: who asks from now on
    // sees the change.
    flights.clear();
  }

  return { find, change, use: changes.use };
}

/** One name for the digests of one look-up; none if they are unfit for one. */
function nameOf(digests: readonly string[]): string | undefined {
  const fit = digests.every((digest) => typeof digest === 'string' && !digest.includes(SEPARATOR));
  return fit && digests.length > 0 ? digests.join(SEPARATOR) : undefined;
}

/**
 * The rows to remember: none, or one that is well-formed and was asked for. `undefined` for any
 * other answer.
 */
function readAnswer(answer: unknown, digests: readonly string[]): Rows | undefined {
  if (!Array.isArray(answer) || answer.length > 1) return undefined;
  if (answer.length === 0) return NONE;
  // A frozen copy, the same object for every hit, so the keyring checks its seal only once.
  const record = readRecord(answer[0]);
  return record !== null && digests.includes(record.digest) ? Object.freeze([record]) : undefined;
}

/** Adds an entry to a ring of at most `limit`; the one that was added first makes room. */
function put<T>(ring: Map<string, T>, name: string, entry: T, limit: number): void {
  ring.set(name, entry);
  if (ring.size <= limit) return;
  for (const oldest of ring.keys()) {
    ring.delete(oldest);
    return;
  }
}

// ── Other processes ───────────────────────────────────────────────────────────────────────────────────

type Channel = { publish(keyId: string): void; keepUp(): void };

function createChannel(
  invalidation: Invalidation | undefined,
  change: Memory['change'],
  now: () => number,
): Channel {
  if (invalidation === undefined) return { publish() {}, keepUp() {} };
  let subscribed = false;
  let tried = Number.NEGATIVE_INFINITY;
  const listener = (keyId: unknown) => {
    if (isUuid(keyId)) change(keyId);
  };
  function keepUp(): void {
    if (subscribed || now() - tried < RETRY_MS) return;
    [subscribed, tried] = [true, now()];
    attempt(
      () => invalidation?.subscribe(listener),
      () => {
        subscribed = false;
      },
    );
  }
  return { publish: (keyId) => attempt(() => invalidation.publish(keyId)), keepUp };
}

/** Not awaited by its callers, and never rejects. */
async function attempt(act: () => unknown, failed: () => void = () => {}): Promise<void> {
  try {
    await act();
  } catch {
    failed();
  }
}

// ── Options ───────────────────────────────────────────────────────────────────────────────────────────

const OPTIONS = ['cache', 'maxStalenessMs', 'invalidation', 'now'] as const;
const METHODS = [
  'insert',
  'findByDigest',
  'findById',
  'list',
  'markEnded',
  'touch',
  'summarize',
] as const;

type Settings = CacheOptions & { readonly now: () => number };

const has = (value: unknown, methods: readonly string[]): boolean =>
  methods.every((name) => typeof Object(value)[name] === 'function');

function readOptions(options: CacheOptions): Settings {
  const given = readFields(options, OPTIONS, 'cacheStore') as Partial<CacheOptions>;
  const { cache, maxStalenessMs, invalidation, now = steadyClock() } = given;
  assert(
    has(cache, ['get', 'set', 'delete']),
    'cache: pass something bounded with get, set and delete',
  );
  const allowed = readInteger(maxStalenessMs, 1, 86_400_000, 'maxStalenessMs, in milliseconds');
  const channel = invalidation === undefined || has(invalidation, ['publish', 'subscribe']);
  assert(channel, 'invalidation: pass { publish, subscribe } or leave it out');
  assert(typeof now === 'function', 'now: pass a function or leave it out');
  return { ...(given as CacheOptions), maxStalenessMs: Math.min(allowed, MOST_MS), now };
}

/**
 * Never goes back when the time is set, and advances while the machine sleeps, which
 * `performance.now` need not: it adds what `Date.now` gains on it. A gain counts from the last
 * loss: a time set ahead, then right, hides no sleep.
 */
function steadyClock(): () => number {
  let slept = 0;
  let lead = Date.now() - performance.now();
  return () => {
    const steady = performance.now();
    const gain = Date.now() - steady - lead;
    // The fractions that `Date.now` lacks are not a gain. They would add up: the clock would run at
    // twice the speed.
    if (Math.abs(gain) >= 2) {
      lead += gain;
      slept += Math.max(gain, 0);
    }
    return steady + slept;
  };
}

// ── The store ─────────────────────────────────────────────────────────────────────────────────────────

const isPromise = <T>(answer: Awaitable<T>): answer is PromiseLike<T> =>
  typeof Object(answer).then === 'function';

/** Runs `write`, then `after` whatever the outcome, before anybody sees the answer. */
function followed<T>(write: () => Awaitable<T>, after: () => void): Awaitable<T> {
  let later = false;
  try {
    const answer = write();
    later = isPromise(answer);
    return isPromise(answer) ? Promise.resolve(answer).finally(after) : answer;
  } finally {
    if (!later) after();
  }
}

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
  for (const name of METHODS)
    assert(has(store, [name]), `cacheStore: the store has no method ${name}; see KeyStore`);
  const settings = readOptions(options);
  const ask: Find = (digests) => {
    channel.keepUp();
    return store.findByDigest(digests);
  };
  const { find, change, use } = createMemory(ask, settings);
  const channel = createChannel(settings.invalidation, change, settings.now);
  channel.keepUp();

  // Before the write, because its failure leaves open whether it happened; and after it, because a
  // look-up that was sent meanwhile may have been answered from before it.
  function changing<T>(names: readonly string[], write: () => Awaitable<T>): Awaitable<T> {
    names.forEach(change);
    return followed(write, () => names.forEach(change));
  }

  const summarize = (now?: number) => store.summarize(now ?? Date.now());
  // The same number of parameters as the store's: from it, `storeContract` knows whether it accepts
  // a time.
  Object.defineProperty(summarize, 'length', { value: store.summarize.length });

  return {
    findByDigest: find,
    findById: (keyId) => store.findById(keyId),
    list: (query) => store.list(query),
    summarize,
    // The digest may have been tried before, and be known as absent.
    insert: (record) => changing([record.digest, record.keyId], () => store.insert(record)),
    markEnded: (keyId, ending) =>
      followed(
        () => changing([keyId], () => store.markEnded(keyId, ending)),
        () => channel.publish(keyId),
      ),
    touch(entries) {
      const answer = store.touch(entries);
      const written = () => {
        for (const { keyId, ...usage } of entries) use(keyId, usage);
      };
      return isPromise(answer) ? Promise.resolve(answer).then(written) : written();
    },
  };
}
