/**
 * The channel to other processes. It may fail in any way, which `onError` hears of, and nothing
 * here waits for it.
 *
 * Whether it works is found out by a beat: a message that the cache publishes and must hear itself.
 * Beats are sent alongside look-ups, as failed subscriptions are tried again, so nothing here needs
 * a timer.
 */
import type { Invalidation } from '../core/invalidation.js';
import { isUuid } from '../core/uuid.js';
import { createBeats, isBeat } from './beat.js';
import type { CacheSettings } from './cache-options.js';

/** How long to wait before a failed subscription is tried again, in milliseconds. */
const RETRY_MS = 1_000;

/**
 * How long after a beat, or after the subscription, the next beat is due at the earliest, in
 * milliseconds. What was not heard until then is missed.
 */
const BEAT_MS = 5_000;

const SILENT = `cacheStore: the invalidation channel is silent: nothing heard for ${BEAT_MS} ms`;

/**
 * How the channel to other processes stands.
 *
 * - `none`: there is none.
 * - `starting`: it has not subscribed yet.
 * - `up`: it has subscribed, and every beat since was heard.
 * - `silent`: a beat was not heard, or `subscribe` does not answer.
 * - `down`: `subscribe` or `publish` failed.
 *
 * Unless it is `up`, a mark of another process shows within `maxStalenessMs`, and not sooner.
 */
export type ChannelState = 'none' | 'starting' | 'up' | 'silent' | 'down';

/** A channel that hides its failures from callers. */
export interface Channel {
  /** Tells other processes that a key has changed. */
  publish(keyId: string): void;
  /** Subscribes and beats if it is time to. Called alongside each look-up. */
  tend(): void;
  /** How it stands now. */
  state(): ChannelState;
}

/** What a channel calls. */
export interface ChannelEvents {
  /** With each key id that arrives; any other message is ignored. */
  readonly onChange: (keyId: string) => void;
  /** When it comes up, for the first time or again: messages from before may be missing. */
  readonly onUp: () => void;
}

/** Makes a channel that does not subscribe yet. */
export function createChannel(settings: CacheSettings, events: ChannelEvents): Channel {
  const { invalidation } = settings;
  if (invalidation === undefined) return { publish() {}, tend() {}, state: () => 'none' };
  return connect(invalidation, settings, events);
}

/** What is known of a channel. */
interface Health {
  current(): ChannelState;
  /** When the last beat was sent, or the subscription was asked for. */
  askedAt(): number;
  /** Something is sent that must be answered. */
  ask(): void;
  /** It was answered. */
  rise(): void;
  /** The next is due. If the last one was not answered, the channel is silent. */
  judge(): void;
  fail(error: unknown): void;
}

function createHealth({ now, report }: CacheSettings, onUp: () => void): Health {
  let state: ChannelState = 'starting';
  let askedAt = 0;
  let isAwaited = false;
  return {
    current: () => state,
    askedAt: () => askedAt,
    ask() {
      askedAt = now();
      isAwaited = true;
    },
    rise() {
      isAwaited = false;
      if (state === 'up') return;
      state = 'up';
      onUp();
    },
    judge() {
      if (isAwaited && (state === 'up' || state === 'starting')) {
        state = 'silent';
        report(new Error(SILENT));
      }
    },
    fail(error) {
      state = 'down';
      report(error);
    },
  };
}

function connect(
  invalidation: Invalidation,
  settings: CacheSettings,
  { onChange, onUp }: ChannelEvents,
): Channel {
  const { now } = settings;
  const health = createHealth(settings, onUp);
  const subscribe = createSubscribe(invalidation, settings, health, listener);
  const beats = createBeats(now, BEAT_MS);

  function listener(message: unknown): void {
    if (!isUuid(message)) return;
    if (!isBeat(message)) onChange(message);
    else if (beats.hear(message)) health.rise();
  }

  async function send(message: string): Promise<void> {
    try {
      await invalidation.publish(message);
    } catch (error) {
      // Without the message, the others see the change within `maxStalenessMs`.
      health.fail(error);
    }
  }

  function tend(): void {
    if (!subscribe() || now() - health.askedAt() < BEAT_MS) return;
    health.judge();
    if (health.current() === 'up' && beats.areEnough(health.askedAt())) return;
    health.ask();
    void send(beats.next());
  }

  function state(): ChannelState {
    tend();
    return health.current();
  }

  // Not awaited: the channel may hang.
  return { publish: (keyId) => void send(keyId), tend, state };
}

/**
 * Subscribes, unless it has subscribed, is subscribing, or tried less than a second ago. True if it
 * had before.
 */
function createSubscribe(
  invalidation: Invalidation,
  { now }: CacheSettings,
  health: Health,
  listener: (message: unknown) => void,
): () => boolean {
  let isSubscribed = false;
  let triedAt: number | undefined;

  async function subscribe(): Promise<void> {
    // Set before it succeeds, so that it is not called a second time in the meantime.
    isSubscribed = true;
    triedAt = now();
    health.ask();
    try {
      await invalidation.subscribe(listener);
      health.rise();
    } catch (error) {
      isSubscribed = false;
      health.fail(error);
    }
  }

  return () => {
    if (isSubscribed) return true;
    if (triedAt === undefined || now() - triedAt >= RETRY_MS) void subscribe();
    return false;
  };
}
