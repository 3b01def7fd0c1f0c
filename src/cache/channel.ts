/**
 * The channel to other processes. It may fail in any way: failures go to `onError`, and nothing
 * here waits for the channel.
 *
 * A beat tests whether it works: a message that the cache publishes and must receive itself. The
 * cache sends beats and retries failed subscriptions alongside look-ups, so it needs no timer.
 */
import { createSubscription, type Invalidation } from '../core/invalidation.js';
import { isUuid } from '../core/uuid.js';
import { createBeats, isBeat } from './beat.js';
import type { CacheSettings } from './cache-options.js';

/**
 * The shortest time between a beat (or the subscription) and the next beat, in milliseconds. A beat
 * that has not come back by then counts as lost.
 */
const BEAT_MS = 5_000;

const SILENT = `cacheStore: the invalidation channel is silent: received nothing for ${BEAT_MS} ms`;

/**
 * The state of the channel to other processes.
 *
 * - `none`: there is no channel.
 * - `starting`: it has not subscribed yet.
 * - `up`: it has subscribed, and every beat since has come back.
 * - `silent`: a beat did not come back, or `subscribe` does not answer.
 * - `down`: `subscribe` or `publish` failed.
 *
 * Unless the state is `up`, a mark made by another process shows within `maxStalenessMs`, and no
 * sooner.
 */
export type ChannelState = 'none' | 'starting' | 'up' | 'silent' | 'down';

/** A channel whose failures never reach callers. */
export interface Channel {
  /** Announces to other processes that a key has changed. */
  publish(keyId: string): void;
  /** Subscribes or sends a beat if that is due. Called alongside each look-up. */
  maintain(): void;
  /** Returns the current state. */
  state(): ChannelState;
}

/** The callbacks of a channel. */
export interface ChannelEvents {
  /** Receives each key id that arrives. Other messages are ignored. */
  readonly onChange: (keyId: string) => void;
  /** Called whenever the channel comes up, because messages from before may be missing. */
  readonly onUp: () => void;
}

/** Makes a channel that has not subscribed yet. */
export function createChannel(settings: CacheSettings, events: ChannelEvents): Channel {
  const { invalidation } = settings;
  if (invalidation === undefined) return { publish() {}, maintain() {}, state: () => 'none' };
  return connect(invalidation, settings, events);
}

/** Tracks whether the channel works. */
interface Health {
  current(): ChannelState;
  /** When the last beat was sent or the subscription was requested. */
  askedAt(): number;
  /** Something is sent that must be answered. */
  expectAnswer(): void;
  /** The answer arrived: the channel is up. */
  confirm(): void;
  /** The next beat is due. If the last one is unanswered, the channel is silent. */
  checkAnswer(): void;
  /** The channel is down. */
  fail(error: unknown): void;
}

function createHealth({ now, report }: CacheSettings, onUp: () => void): Health {
  let state: ChannelState = 'starting';
  let askedAt = 0;
  let isAwaited = false;
  return {
    current: () => state,
    askedAt: () => askedAt,
    expectAnswer() {
      askedAt = now();
      isAwaited = true;
    },
    confirm() {
      isAwaited = false;
      if (state === 'up') return;
      state = 'up';
      onUp();
    },
    checkAnswer() {
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
  const beats = createBeats(now, BEAT_MS);
  const ensureSubscribed = createSubscription(subscribe, health.fail);

  async function subscribe(): Promise<void> {
    health.expectAnswer();
    await invalidation.subscribe(listener);
    health.confirm();
  }

  function listener(message: unknown): void {
    if (!isUuid(message)) return;
    if (!isBeat(message)) onChange(message);
    else if (beats.isOwn(message)) health.confirm();
  }

  function maintain(): void {
    const time = now();
    // A subscription counts as a beat, so none follows at once.
    void ensureSubscribed(time);
    if (time - health.askedAt() < BEAT_MS) return;
    health.checkAnswer();
    if (health.current() === 'up' && beats.areEnough(health.askedAt())) return;
    health.expectAnswer();
    void send(invalidation, beats.next(), health);
  }

  function state(): ChannelState {
    maintain();
    return health.current();
  }

  return { publish: (keyId) => void send(invalidation, keyId, health), maintain, state };
}

/** Publishes a message. Not awaited, because the channel may hang. */
async function send(invalidation: Invalidation, message: string, health: Health): Promise<void> {
  try {
    await invalidation.publish(message);
  } catch (error) {
    // The other processes now see the change within `maxStalenessMs`.
    health.fail(error);
  }
}
