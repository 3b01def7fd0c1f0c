/** Fixtures of the cache's tests: caches over stores that record or delay their calls. */
import type { CallOptions, IssuedKey, KeyRecord, KeyStore, Principal, RevokeMark } from 'keyscope';
import { isAccessError } from 'keyscope';
import type { CacheOptions, Invalidation } from 'keyscope/cache';
import { cacheStore } from 'keyscope/cache';
import { memoryStore } from 'keyscope/stores/memory';
import { LRUCache } from 'lru-cache';
import type { Method, Ring } from './keyring.ts';
import { AUTHORITY, OTHER, PLAIN, recording, setUp, stoppedClock, wrap } from './keyring.ts';
import { RECORD } from './records.ts';

/** The default `maxStalenessMs` of the caches here. */
export const MAX_MS = 10_000;

/** Makes a bounded cache, as users pass one. */
export function lru(max: number = 100): LRUCache<string, object> {
  return new LRUCache<string, object>({ max });
}

/** Waits until everything due in this turn of the event loop has happened. */
export function turn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

/** Makes a record of a new key. */
export function freshRecord(given: Partial<KeyRecord> = {}): KeyRecord {
  const keyId = crypto.randomUUID();
  return { ...RECORD, keyId, digest: `s1$${keyId}`, ...given };
}

/** Counts the look-ups by digest among the calls of a store. */
export function countLookUps(calls: readonly Method[]): number {
  return calls.filter((name) => name === 'findByDigest').length;
}

/** Makes a keyring over a cache over a store that records its calls, all with one clock. */
export function cachedRing(inner: KeyStore = memoryStore(), options: Partial<CacheOptions> = {}) {
  const clock = stoppedClock();
  const { store: noted, calls } = recording(inner);
  const cache = lru();
  const store = cacheStore(noted, { cache, maxStalenessMs: MAX_MS, now: clock.now, ...options });
  const lookUps = () => countLookUps(calls);
  return { ...setUp({ store, now: clock.now }), clock, cache, calls, lookUps, inner };
}

/**
 * Look-ups read the store when they are sent, and answer when the test releases them: all in order,
 * or one by its number.
 */
export function holdLookUps(inner: KeyStore, held: 'findByDigest' | 'findById' = 'findByDigest') {
  const waiting: (() => void)[] = [];
  const store = wrap(inner, (method, _args, call) => {
    if (method !== held) return call();
    const seen = call();
    return new Promise((resolve) => waiting.push(() => resolve(seen)));
  });
  const letGo = async (index?: number) => {
    const released = index === undefined ? waiting.splice(0) : waiting.splice(index, 1);
    for (const answer of released) answer();
    await turn();
  };
  return { store, letGo, waiting };
}

/** Says why a pending request was refused, or that it passed. */
export function outcome(request: Promise<unknown>): Promise<string> {
  return request.then(
    () => 'passed',
    (error: unknown) => (isAccessError(error) ? error.reason : String(error)),
  );
}

/** Makes the keyring of one process, with its cache over a shared store. */
function ringOver(inner: KeyStore, options: Pick<CacheOptions, 'now' | 'invalidation'>) {
  const { store: noted, calls } = recording(inner);
  const store = cacheStore(noted, { cache: lru(), maxStalenessMs: MAX_MS, ...options });
  return { ...setUp({ store, now: options.now }), calls };
}

/** Makes two processes over one database, with or without a channel between them. */
export function twoProcesses(invalidation?: Invalidation) {
  const inner = memoryStore();
  const clock = stoppedClock();
  const options = { now: clock.now, invalidation };
  return { here: ringOver(inner, options), there: ringOver(inner, options), clock };
}

/** A channel that delivers each message to everybody at once. */
export function openChannel() {
  const listeners: ((keyId: string) => void)[] = [];
  const sent: unknown[] = [];
  const channel: Invalidation = {
    subscribe: (listener) => listeners.push(listener),
    publish(keyId) {
      sent.push(keyId);
      for (const listener of listeners) listener(keyId);
    },
  };
  return { channel, sent, listeners };
}

/** Records the options of each look-up by digest. */
export function noteOptions(inner: KeyStore) {
  const noted: (CallOptions | undefined)[] = [];
  const store: KeyStore = {
    ...inner,
    findByDigest(digests, options) {
      noted.push(options);
      return inner.findByDigest(digests, options);
    },
  };
  return { store, noted };
}

/** A store that records the signal of each look-up. */
export function noteSignals(inner: KeyStore) {
  const signals: (AbortSignal | undefined)[] = [];
  const store: KeyStore = {
    ...inner,
    findByDigest(digests, options) {
      signals.push(options?.signal);
      return inner.findByDigest(digests, options);
    },
  };
  return { store, signals };
}

/** The minimal mark that revokes a key in a store. */
export const REVOKE: RevokeMark = { kind: 'revoke', at: 1, by: null, reason: null, seal: null };

// ── Marks ────────────────────────────────────────────────────────────────────────────────────────

/** Issues a key that can address its own entity and {@link OTHER}. */
export function issueForTwo(keyring: Ring): Promise<IssuedKey> {
  const input = { ...PLAIN, accessibleEntities: [OTHER] };
  return keyring.issue(input, { ...AUTHORITY, entities: [OTHER] });
}

/** Says which entities a key for two can address, or why a pending request was refused. */
export function standing(request: Promise<Principal>): Promise<string> {
  return request.then(
    ({ accessibleEntities }) => (accessibleEntities.includes(OTHER) ? 'two entities' : 'its own'),
    (error: unknown) => (isAccessError(error) ? error.reason : String(error)),
  );
}

type Act = (keyring: Ring, keyId: string) => Promise<unknown>;

/** A change to a key for two entities. */
export interface Marking {
  /** The state of the key afterwards. */
  readonly what: string;
  /** The steps before the mark. */
  readonly prepare: Act;
  /** The {@link standing} of the key before the mark. */
  readonly before: string;
  readonly mark: Act;
  readonly after: string;
}

const nothing: Act = async () => {};
const revoke: Act = (keyring, keyId) => keyring.revoke(keyId, AUTHORITY);
const suspend: Act = (keyring, keyId) => keyring.suspend(keyId, AUTHORITY);
const resume: Act = (keyring, keyId) => keyring.resume(keyId, AUTHORITY);
const retire: Act = (keyring, keyId) =>
  keyring.rotate(keyId, { overlapMs: 0 }, { ...AUTHORITY, entities: [OTHER] });
const withdraw: Act = (keyring, keyId) => keyring.withdraw(keyId, { entityId: OTHER });

/** Every kind of mark. */
export const MARKINGS: readonly Marking[] = [
  { what: 'revoked', prepare: nothing, before: 'two entities', mark: revoke, after: 'revoked' },
  {
    what: 'suspended',
    prepare: nothing,
    before: 'two entities',
    mark: suspend,
    after: 'suspended',
  },
  { what: 'resumed', prepare: suspend, before: 'suspended', mark: resume, after: 'two entities' },
  { what: 'retired', prepare: nothing, before: 'two entities', mark: retire, after: 'retired' },
  {
    what: 'withdrawn from',
    prepare: nothing,
    before: 'two entities',
    mark: withdraw,
    after: 'its own',
  },
];
