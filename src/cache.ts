/**
 * Look-ups kept in memory for a bounded time, so that most requests ask no database. What is kept are records, never
 * decisions: the keyring checks seal, marks, expiry, scopes and entities of a cached record on each request, so an
 * entry may outlive its key's expiry and the key does not.
 *
 * Only `findByDigest` is cached. `findById` feeds `revoke`, `rotate`, `get` and the parents of tokens, which are rare
 * or want the truth: it asks the store each time, as `list` and `summarize` do.
 *
 * What keeps an old answer from outliving a change: each change counts `generation` up. An entry knows the generation
 * in which its look-up was sent, and is dead once a change of its key, or of one of its digests, is younger. That goes
 * for look-ups under way too, and nothing need be searched for and taken out.
 */
import { expect, fields, isUuid, whole } from './errors.js';
import { type KeyRecord, readRecord, type Usage } from './record.js';
import type { Awaitable, KeyStore } from './store.js';
import { mergeUsage } from './stores/shared.js';

/** No entry is believed for longer, in milliseconds, whatever `maxStalenessMs` allows. */
const MOST_MS = 30_000;
/** How long "there is no such key" is believed, in milliseconds: then a key that was made elsewhere works. */
const ABSENT_MS = 5_000;
/** How many unknown look-ups are remembered, apart from the keys: a guess evicts only guesses. */
const MAX_ABSENT = 1_024;
/** How many look-ups under way can be joined, and for how long: one that hangs holds up nobody who comes later. */
const MAX_FLIGHTS = 1_024;
const JOIN_MS = 1_000;
/** How many changes are remembered one by one, in some 10 MB at most; at the next, every entry is dropped. */
const MAX_CHANGES = 10_000;
/** When a subscription that failed is tried again. */
const RETRY_MS = 1_000;
/** Between the digests in an entry's name. No digest has it; a look-up with a text that has is not cached. */
const SEPARATOR = '\n';

/**
 * Where look-ups are kept: anything bounded with these methods that answers at once, such as an `LRUCache` of
 * `lru-cache`. A plain `Map` has the methods and no bound. It may forget whenever it likes.
 */
export interface LookupCache {
  /** `name`: the digests that were asked for; with one pepper a digest. Never a key. */
  get(name: string): unknown;
  set(name: string, entry: object): unknown;
  delete(name: string): unknown;
}

/**
 * How one process tells the others that a key has ended: Redis pub/sub, LISTEN and NOTIFY, or anything alike. Carries
 * key ids and nothing else. May lose, repeat, delay and reorder what it carries. Whoever can publish can make a
 * process ask its database more often, and nothing worse.
 */
export interface Invalidation {
  /** Tells every process. Nobody waits for it; what it throws or rejects with is dropped, so log it in here. */
  publish(keyId: string): Awaitable<void>;
  /**
   * Calls `listener` with each key id that another process published, from now on; one's own may come too. Where it
   * throws or rejects it is called again beside a later look-up, once a second at most. Once it has succeeded, keeping
   * the subscription up is its own affair; what was missed while it was down is bounded by `maxStalenessMs`.
   */
  subscribe(listener: (keyId: string) => void): Awaitable<unknown>;
}

/** How look-ups are cached. */
export interface CacheOptions {
  /** Bounded. About 2 KiB a key. */
  readonly cache: LookupCache;
  /**
   * How old an answer may be, in milliseconds, 1 to 86,400,000: how long a key that was revoked elsewhere may still work.
   * From 30,000 on it is 30,000: nothing is remembered for longer, which keeps the promise of a longer time, too.
   */
  readonly maxStalenessMs: number;
  /** Carries revocations to other processes sooner than that. */
  readonly invalidation?: Invalidation | undefined;
  /** Milliseconds; for tests. An entry from the future is stale. Default: a clock that never goes back. */
  readonly now?: (() => number) | undefined;
}

type Rows = readonly KeyRecord[];
type Find = (digests: readonly string[]) => Awaitable<Rows>;
type Flight = { readonly since: number; readonly rows: Promise<Rows> };

/** The answer to one look-up: a record, or none. */
interface Entry {
  /** Whose it is: caches may share one `LRUCache`, and neither knows what the other's changes are. */
  readonly owner: object;
  readonly digests: readonly string[];
  rows: Rows;
  /** Before the look-up was sent. */
  readonly since: number;
  /** Up to which change it is known to be right. */
  generation: number;
}

const NONE: Rows = Object.freeze([]);

// ── What has changed ──────────────────────────────────────────────────────────────────────────────────

function createChanges() {
  let generation = 0;
  // Entries of an earlier generation are dead, whatever they hold.
  let floor = 0;
  // By key id or digest: the generation of the last change that makes an entry wrong.
  const changed = new Map<string, number>();
  // By key id: what was recorded of its use, which is brought into entries. As a change it would make every key that is
  // in use be looked up after every batch.
  const used = new Map<string, { readonly usage: Usage; readonly generation: number }>();

  function next(): number {
    generation += 1;
    if (changed.size + used.size < MAX_CHANGES) return generation;
    changed.clear();
    used.clear();
    floor = generation;
    return generation;
  }

  function use(keyId: string, more: Usage): void {
    const usage = mergeUsage(used.get(keyId)?.usage, more);
    used.set(keyId, { generation: next(), usage });
  }

  /** Whether `entry` is right up to now, once the use of its key is brought into it. */
  function holds(entry: Entry): boolean {
    if (entry.generation === generation) return true;
    const [record] = entry.rows;
    const isOld = (name: string) => (changed.get(name) ?? 0) > entry.generation;
    if (entry.generation < floor || entry.digests.some(isOld) || (record && isOld(record.keyId))) return false;
    const use = record && used.get(record.keyId);
    if (use && use.generation > entry.generation && !bringIn(entry, record, use.usage)) return false;
    entry.generation = generation;
    return true;
  }

  function change(name: string): void {
    changed.set(name, next());
    // It is looked up again, use and all; and what was said to be used before it was made, was not.
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

/** What is remembered of look-ups that have been answered: keys in the user's cache, unknown ones in a ring of ours. */
function createEntries({ cache, maxStalenessMs, now }: Settings, changes: Changes) {
  const owner = {};
  const absent = new Map<string, Entry>();

  const open = (digests: readonly string[]): Entry => {
    return { owner, digests: [...digests], rows: NONE, since: now(), generation: changes.current() };
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
    // A look-up that was sent later, and was faster, knows more.
    if ((held(name)?.since ?? entry.since) > entry.since) return;
    drop(name);
    if (entry.rows.length > 0) cache.set(name, entry);
    else put(absent, name, entry, MAX_ABSENT);
  }

  return { open, isWithin, recall, keep };
}

type Memory = { find: Find; change(name: string): void; use(keyId: string, usage: Usage): void };

// On Cloudflare Workers a query ends with the request that sent it: whoever had joined would wait in vain.
const mayJoin = () => globalThis.navigator?.userAgent !== 'Cloudflare-Workers';

function createMemory(ask: Find, settings: Settings): Memory {
  const changes = createChanges();
  const { open, isWithin, recall, keep } = createEntries(settings, changes);
  const [flights, joins] = [new Map<string, Flight>(), mayJoin()];

  function land(name: string, entry: Entry, answer: Rows): Rows {
    const rows = readAnswer(answer, entry.digests);
    // For the core to refuse, and not to be remembered.
    if (rows === undefined) return answer;
    entry.rows = rows;
    // What has changed meanwhile is an answer to those who asked before, and to nobody else.
    if (changes.holds(entry)) keep(name, entry);
    return entry.rows;
  }

  function send(name: string, digests: readonly string[]): Awaitable<Rows> {
    // Opened before it is sent: its age counts from here, and so do the changes that it may have missed.
    const entry = open(digests);
    const answer = ask(digests);
    if (!isPromise(answer)) return land(name, entry, answer);
    const flight = { since: entry.since, rows: Promise.resolve(answer).then((rows) => land(name, entry, rows)) };
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
    return flight !== undefined && isWithin(JOIN_MS, flight.since) ? flight.rows : send(name, digests);
  }

  function change(name: string): void {
    changes.change(name);
    // Whose keys they are is not known before they land, so all of them: who asks from now on sees the change.
    flights.clear();
  }

  return { find, change, use: changes.use };
}

/** One name for the digests of one look-up, or none where they are not fit for one. */
function nameOf(digests: readonly string[]): string | undefined {
  const fit = digests.every((digest) => typeof digest === 'string' && !digest.includes(SEPARATOR));
  return fit && digests.length > 0 ? digests.join(SEPARATOR) : undefined;
}

/** The rows to remember: none, or one that is well-formed and was asked for. `undefined` for any other answer. */
function readAnswer(answer: unknown, digests: readonly string[]): Rows | undefined {
  if (!Array.isArray(answer) || answer.length > 1) return undefined;
  if (answer.length === 0) return NONE;
  // A frozen copy, the same object for every hit: the keyring then checks its seal once.
  const record = readRecord(answer[0]);
  return record !== null && digests.includes(record.digest) ? Object.freeze([record]) : undefined;
}

/** Puts an entry where at most `limit` are; the one that was put there first makes room. */
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

function createChannel(invalidation: Invalidation | undefined, change: Memory['change'], now: () => number): Channel {
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

/** Waits for nothing and lets no error out. */
async function attempt(act: () => unknown, failed: () => void = () => {}): Promise<void> {
  try {
    await act();
  } catch {
    failed();
  }
}

// ── Options ───────────────────────────────────────────────────────────────────────────────────────────

const OPTIONS = ['cache', 'maxStalenessMs', 'invalidation', 'now'] as const;
const METHODS = ['insert', 'findByDigest', 'findById', 'list', 'markEnded', 'touch', 'summarize'] as const;

type Settings = CacheOptions & { readonly now: () => number };

const has = (value: unknown, methods: readonly string[]): boolean =>
  methods.every((name) => typeof Object(value)[name] === 'function');

function readOptions(options: CacheOptions): Settings {
  const given = fields(options, OPTIONS, 'cacheStore') as Partial<CacheOptions>;
  const { cache, maxStalenessMs, invalidation, now = steadyClock() } = given;
  expect(has(cache, ['get', 'set', 'delete']), 'cache: pass something bounded with get, set and delete');
  const allowed = whole(maxStalenessMs, 1, 86_400_000, 'maxStalenessMs, in milliseconds');
  const channel = invalidation === undefined || has(invalidation, ['publish', 'subscribe']);
  expect(channel, 'invalidation: pass { publish, subscribe } or leave it out');
  expect(typeof now === 'function', 'now: pass a function or leave it out');
  return { ...(given as CacheOptions), maxStalenessMs: Math.min(allowed, MOST_MS), now };
}

/**
 * Never goes back when the time is set, and goes on while the machine sleeps, as `performance.now` need not: by whatever
 * `Date.now` gains on it. A gain counts from the last loss: a time that was set ahead and then right hides no sleep.
 */
function steadyClock(): () => number {
  let slept = 0;
  let lead = Date.now() - performance.now();
  return () => {
    const steady = performance.now();
    const gain = Date.now() - steady - lead;
    // The fractions that `Date.now` lacks are no gain, and would add up: the clock would run at twice the speed.
    if (Math.abs(gain) >= 2) {
      lead += gain;
      slept += Math.max(gain, 0);
    }
    return steady + slept;
  };
}

// ── The store ─────────────────────────────────────────────────────────────────────────────────────────

const isPromise = <T>(answer: Awaitable<T>): answer is PromiseLike<T> => typeof Object(answer).then === 'function';

/** `write`, and `after` it whatever became of it, before anybody sees the answer. */
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
 * A store that remembers look-ups. A key that is revoked, retired or made through this store is seen to be so at once
 * by whoever asks it. Through any other store or process it is seen within `maxStalenessMs`, and a new key that was
 * tried before it existed within 5 s. With `invalidation` an end is seen as soon as its message arrives; while the
 * channel is down, the bound holds. An answer that is remembered comes at once, without a promise.
 *
 * Concurrent look-ups of one key share one query; on Cloudflare Workers, where a query belongs to one request, they do
 * not. Errors are not remembered. While the store is down, keys pass for as long as their entries live and no longer.
 * Use that other processes record shows late in `findByDigest`; `list` and `get` show it at once.
 *
 * Not checked: that `cache` is bounded; that the store's own answers are current, as those of a replica are not.
 *
 * @param store The store that keeps the keys.
 * @param options `cache`: where look-ups are kept. `maxStalenessMs`: how old they get, in milliseconds.
 * @throws TypeError that says what to pass instead.
 * @example
 * const cache = new LRUCache<string, object>({ max: 10_000 });
 * const store = cacheStore(postgresStore(pool), { cache, maxStalenessMs: 10_000 });
 */
export function cacheStore(store: KeyStore, options: CacheOptions): KeyStore {
  for (const name of METHODS) expect(has(store, [name]), `cacheStore: the store has no method ${name}; see KeyStore`);
  const settings = readOptions(options);
  const ask: Find = (digests) => {
    channel.keepUp();
    return store.findByDigest(digests);
  };
  const { find, change, use } = createMemory(ask, settings);
  const channel = createChannel(settings.invalidation, change, settings.now);
  channel.keepUp();

  // Before it, because its failure leaves open whether it was written; and after it, because a look-up that was sent
  // meanwhile may have been answered from before it.
  function changing<T>(names: readonly string[], write: () => Awaitable<T>): Awaitable<T> {
    names.forEach(change);
    return followed(write, () => names.forEach(change));
  }

  const summarize = (now?: number) => store.summarize(now ?? Date.now());
  // As many parameters as the store's has: by them `storeContract` knows whether it takes a time.
  Object.defineProperty(summarize, 'length', { value: store.summarize.length });

  return {
    findByDigest: find,
    findById: (keyId) => store.findById(keyId),
    list: (query) => store.list(query),
    summarize,
    // The digest may have been tried, and be known as absent.
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
