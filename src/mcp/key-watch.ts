/**
 * Watches the keys of open streams, which may stay open for days. It checks a key again when the
 * channel names it, at an interval, and when it expires.
 */
import type { AuthenticateOptions } from '../core/authenticate.js';
import { AccessError, StoreError } from '../core/errors.js';
import { createSubscription, type Invalidation } from '../core/invalidation.js';
import type { Principal } from '../core/principal.js';
import { startTimer, type Timer } from '../core/thenable.js';
import { sessionOwnerOf } from './session-owner.js';

/** The configuration of a watch. */
export interface WatchConfig {
  readonly recheckMs: number;
  /** The maximum number of streams per key. Above it, the oldest stream of the key ends. */
  readonly maxPerKey: number;
  /**
   * The maximum number of all streams. Above it, the entity with the most loses the newest stream
   * of the key with the most.
   */
  readonly maxWatched: number;
  readonly invalidation: Pick<Invalidation, 'subscribe'> | undefined;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
  /** Called with errors that prevent watching. Never throws. */
  readonly report: (error: unknown) => void;
}

/** The caller of a stream. */
export interface Watched {
  readonly principal: Principal;
  /** Checks the credential again. */
  readonly authenticate: (options: AuthenticateOptions) => Promise<Principal>;
  /** Aborted when the client disconnects. */
  readonly left: AbortSignal | undefined;
}

/** Starts to watch a key. Aborts the signal with the reason when the key ends. */
export type StartWatch = (watched: Watched) => AbortSignal;

/** A watched key. */
interface Watch {
  readonly signal: AbortSignal;
  /** Checks the key now. */
  check(options: AuthenticateOptions): void;
  end(reason: unknown): void;
  stop(): void;
}

/** Watches by signal, because callers have only the signal. */
const watches: WeakMap<AbortSignal, Watch> = new WeakMap();

/** Stops watching after a stream has ended. The signal is then never aborted. */
export function stopWatching(signal: AbortSignal): void {
  watches.get(signal)?.stop();
}

/** Makes the function that watches keys. Until the first call, it neither runs nor subscribes. */
export function createKeyWatch(config: WatchConfig): StartWatch {
  const open = createOpenStreams(config);
  const ensureSubscribed = createSubscription(
    () => config.invalidation?.subscribe(recheck),
    (error) => config.report(new StoreError('cannot subscribe to the changes of keys', error)),
  );

  function recheck(keyId: string): void {
    // Bypasses the cache, which may learn of the change later.
    for (const watch of open.of(keyId)) watch.check({ fresh: true });
  }

  return (watched) => {
    void ensureSubscribed(config.now());
    const { principal } = watched;
    const watch = startWatch(config, watched, (ended) => open.delete(principal, ended));
    watches.set(watch.signal, watch);
    watched.left?.addEventListener('abort', watch.stop, { once: true });
    open.add(principal, watch)?.end(new Error('too many streams are open'));
    // A client that has already disconnected sends no further event.
    if (watched.left?.aborted) watch.stop();
    return watch.signal;
  };
}

/** The owner of a stream. */
type Owner = Pick<Principal, 'keyId' | 'entityId'>;

/** The open streams by key. */
interface OpenStreams {
  /** Returns the streams of a key, oldest first. */
  of(keyId: string): readonly Watch[];
  /** Adds a stream. Returns the stream to end if there are too many. */
  add(owner: Owner, watch: Watch): Watch | undefined;
  delete(owner: Owner, watch: Watch): void;
}

/** The open streams of one key, and whose key it is. */
interface KeyStreams {
  readonly entityId: string;
  readonly streams: Set<Watch>;
}

function createOpenStreams({ maxPerKey, maxWatched }: WatchConfig): OpenStreams {
  const byKey = new Map<string, KeyStreams>();
  let count = 0;

  /**
   * By entity first, because one can have more keys than there may be streams. The new stream ends
   * unless another entity, or another key of the same one, has more.
   */
  function newestOfMost(own: KeyStreams): Watch | undefined {
    const counts = new Map([[own.entityId, 0]]);
    for (const { entityId, streams } of byKey.values()) {
      counts.set(entityId, (counts.get(entityId) ?? 0) + streams.size);
    }
    const [entity] = largest([...counts], ([, ofEntity]) => ofEntity) ?? [];
    const keys = [own, ...byKey.values()].filter(({ entityId }) => entityId === entity);
    const most = largest(keys, ({ streams }) => streams.size);
    return [...(most?.streams ?? [])].at(-1);
  }

  return {
    of: (keyId) => [...(byKey.get(keyId)?.streams ?? [])],
    add({ keyId, entityId }, watch) {
      const own = byKey.get(keyId) ?? { entityId, streams: new Set() };
      byKey.set(keyId, own);
      own.streams.add(watch);
      count += 1;
      const [oldest] = own.streams;
      if (own.streams.size > maxPerKey) return oldest;
      return count > maxWatched ? newestOfMost(own) : undefined;
    },
    delete({ keyId }, watch) {
      const own = byKey.get(keyId);
      if (own?.streams.delete(watch) !== true) return;
      count -= 1;
      if (own.streams.size === 0) byKey.delete(keyId);
    },
  };
}

/** Returns the element with the largest size, the first of several. */
function largest<T>(list: readonly T[], sizeOf: (element: T) => number): T | undefined {
  let [most] = list;
  for (const each of list) if (most === undefined || sizeOf(each) > sizeOf(most)) most = each;
  return most;
}

function startWatch(config: WatchConfig, watched: Watched, onEnd: (watch: Watch) => void): Watch {
  const controller = new AbortController();
  let isOver = false;
  const checks = createChecks(config, watched, end);

  function stop(): void {
    isOver = true;
    checks.stop();
    onEnd(watch);
  }

  function end(reason: unknown): void {
    if (isOver) return;
    stop();
    // Outages too: a stream ends if its key cannot be checked, just as a request is denied.
    config.report(reason);
    controller.abort(reason);
  }

  const { signal } = controller;
  const watch: Watch = { signal, check: checks.check, end, stop };
  return watch;
}

type Checks = Pick<Watch, 'check' | 'stop'>;

/** Checks a key on request, when it expires and at the interval; one check at a time. */
function createChecks(
  config: WatchConfig,
  { principal, authenticate }: Watched,
  onFailure: (error: unknown) => void,
): Checks {
  let { expiresAt } = principal;
  let timer: Timer | undefined;
  let isStopped = false;
  let isChecking = false;
  /** A request during a running check, whose answer may be too old. */
  let next: AuthenticateOptions | undefined;

  function schedule(): void {
    timer = startTimer(() => check({}), untilNext(config, expiresAt));
  }

  async function run(options: AuthenticateOptions): Promise<void> {
    isChecking = true;
    clearTimeout(timer);
    try {
      expiresAt = await requireSame(config, principal, expiresAt, () => authenticate(options));
    } catch (error) {
      onFailure(error);
    }
    isChecking = false;
    if (isStopped) return;
    const asked = next;
    next = undefined;
    if (asked === undefined) schedule();
    else check(asked);
  }

  function check(options: AuthenticateOptions): void {
    if (isChecking) next = options;
    else void run(options);
  }

  function stop(): void {
    isStopped = true;
    clearTimeout(timer);
  }

  schedule();
  return { check, stop };
}

/** Returns the time until the key expires or the next check. */
function untilNext({ now, recheckMs }: WatchConfig, expiresAt: number | null): number {
  if (expiresAt === null) return recheckMs;
  const left = expiresAt - now();
  return Math.max(0, Math.min(left, recheckMs));
}

/**
 * Throws unless the credential still authenticates for the same entities and, if it is a token, the
 * same scopes, because the stream may contain data for any of them.
 *
 * @returns The current expiry, which a rotation may have moved forward.
 */
async function requireSame(
  { now }: WatchConfig,
  before: Principal,
  expiresAt: number | null,
  authenticate: () => Promise<Principal>,
): Promise<number | null> {
  const { keyId } = before;
  const isExpired = expiresAt !== null && now() >= expiresAt;
  if (isExpired) throw new AccessError('invalid_token', 'expired', { keyId });
  const principal = await authenticate();
  const isSame = sessionOwnerOf(principal) === sessionOwnerOf(before);
  if (!isSame) throw new AccessError('entity_forbidden', 'entity_not_accessible', { keyId });
  return principal.expiresAt;
}
