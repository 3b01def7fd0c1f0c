/**
 * Watches the keys of open streams. A request is checked once, but a stream may stay open for days:
 * its key is checked again whenever the channel names it, in an interval, and when it expires.
 */
import type { AuthenticateOptions } from '../core/authenticate.js';
import { AccessError, StoreError } from '../core/errors.js';
import type { Invalidation } from '../core/invalidation.js';
import type { Principal } from '../core/principal.js';
import { startTimer, type Timer } from '../core/thenable.js';
import { sessionOwnerOf } from './session-owner.js';

/** How long to wait before a failed subscription is tried again, in milliseconds. */
const RETRY_MS = 1_000;

/** How keys are watched. */
export interface WatchConfig {
  readonly recheckMs: number;
  /** The most streams of one key. Beyond it, the one that the key opened first is ended. */
  readonly maxPerKey: number;
  /** The most streams of all keys. Beyond it, the key that has most loses its newest. */
  readonly maxWatched: number;
  readonly invalidation: Pick<Invalidation, 'subscribe'> | undefined;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
  /** Told of what hinders the watching. Never throws. */
  readonly report: (error: unknown) => void;
}

/** Whose stream it is. */
export interface Watched {
  readonly principal: Principal;
  /** Checks the credential again. */
  readonly authenticate: (options: AuthenticateOptions) => Promise<Principal>;
  /** Aborted when the client has gone. */
  readonly left: AbortSignal | undefined;
}

/** Starts to watch a key. The signal is aborted when the key ends, with the reason. */
export type StartWatch = (watched: Watched) => AbortSignal;

/** A key that is watched. */
interface Watch {
  readonly signal: AbortSignal;
  /** Checks the key now. */
  check(options: AuthenticateOptions): void;
  end(reason: unknown): void;
  stop(): void;
}

/** By the signal: the only thing that callers have. */
const watches: WeakMap<AbortSignal, Watch> = new WeakMap();

/** Ends the watching, because the stream has ended. The signal is then never aborted. */
export function stopWatching(signal: AbortSignal): void {
  watches.get(signal)?.stop();
}

/** Makes what starts to watch keys. Nothing runs, and nothing is subscribed to, before that. */
export function createKeyWatch(config: WatchConfig): StartWatch {
  const open = createOpenStreams(config);
  const ensureSubscribed = createSubscription(config, (keyId) => {
    // Not from a cache, which may hear of the change only after this.
    for (const watch of open.of(keyId)) watch.check({ fresh: true });
  });

  return (watched) => {
    ensureSubscribed();
    const { keyId } = watched.principal;
    const watch = startWatch(config, watched, (ended) => open.delete(keyId, ended));
    watches.set(watch.signal, watch);
    watched.left?.addEventListener('abort', watch.stop, { once: true });
    open.add(keyId, watch)?.end(new Error('too many streams are open'));
    // The event of a client that has gone already does not come again.
    if (watched.left?.aborted) watch.stop();
    return watch.signal;
  };
}

/** The streams that are open, by key. */
interface OpenStreams {
  /** Those of a key, in the order in which they were opened. */
  of(keyId: string): readonly Watch[];
  /** Adds one, and returns the one that is too many now. */
  add(keyId: string, watch: Watch): Watch | undefined;
  delete(keyId: string, watch: Watch): void;
}

function createOpenStreams({ maxPerKey, maxWatched }: WatchConfig): OpenStreams {
  const byKey = new Map<string, Set<Watch>>();
  let count = 0;

  return {
    of: (keyId) => [...(byKey.get(keyId) ?? [])],
    add(keyId, watch) {
      const own = byKey.get(keyId) ?? new Set();
      byKey.set(keyId, own.add(watch));
      count += 1;
      const [oldest] = own;
      if (own.size > maxPerKey) return oldest;
      if (count <= maxWatched) return undefined;
      // Whoever opens a stream loses it unless another key has more: no key can push others out.
      let most = own;
      for (const others of byKey.values()) if (others.size > most.size) most = others;
      return [...most].at(-1);
    },
    delete(keyId, watch) {
      const own = byKey.get(keyId);
      if (own?.delete(watch) !== true) return;
      count -= 1;
      if (own.size === 0) byKey.delete(keyId);
    },
  };
}

/** Subscribes once; after a failure again, at most once a second. */
function createSubscription(
  { invalidation, now, report }: WatchConfig,
  onChange: (keyId: string) => void,
): () => void {
  let isSubscribed = invalidation === undefined;
  let triedAt: number | undefined;

  async function subscribe(): Promise<void> {
    isSubscribed = true;
    triedAt = now();
    try {
      await invalidation?.subscribe(onChange);
    } catch (error) {
      isSubscribed = false;
      report(new StoreError('the changes of keys cannot be subscribed to', error));
    }
  }
  return () => {
    const hasJustTried = triedAt !== undefined && now() - triedAt < RETRY_MS;
    if (!isSubscribed && !hasJustTried) void subscribe();
  };
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
    // An outage, too: a stream whose key cannot be checked ends, as a request is refused.
    config.report(reason);
    controller.abort(reason);
  }

  const { signal } = controller;
  const watch: Watch = { signal, check: checks.check, end, stop };
  return watch;
}

type Checks = Pick<Watch, 'check' | 'stop'>;

/** Checks a key when asked, when it expires, and in the interval; one check at a time. */
function createChecks(
  config: WatchConfig,
  { principal, authenticate }: Watched,
  onFailure: (error: unknown) => void,
): Checks {
  let { expiresAt } = principal;
  let timer: Timer | undefined;
  let isStopped = false;
  let isChecking = false;
  /** Asked for while a check was under way, whose answer may be older. */
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

/** Until the key expires, or until it is checked again. */
function untilNext({ now, recheckMs }: WatchConfig, expiresAt: number | null): number {
  if (expiresAt === null) return recheckMs;
  const left = expiresAt - now();
  return Math.max(0, Math.min(left, recheckMs));
}

/**
 * Throws unless the credential still authenticates, for the same entities and, if it is a token,
 * the same scopes: what was sent on the stream may be for any of them.
 *
 * @returns When it ends now: a key that was rotated ends earlier than before.
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
