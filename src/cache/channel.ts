/** The channel to other processes. It may fail in any way, and nothing here waits for it. */
import type { Invalidation } from '../core/invalidation.js';
import { isUuid } from '../core/uuid.js';
import type { CacheSettings } from './options.js';

/** How long to wait before a failed subscription is tried again, in milliseconds. */
const RETRY_MS = 1_000;

/** A channel that hides its failures from callers. */
export interface Channel {
  /** Tells other processes that a key has changed. */
  publish(keyId: string): void;
  /** Subscribes, unless it has subscribed, is subscribing, or tried less than a second ago. */
  ensureSubscribed(): void;
}

/**
 * Makes a channel that does not subscribe yet.
 *
 * @param onChange Called with each key id that arrives; any other message is ignored.
 */
export function createChannel(settings: CacheSettings, onChange: (keyId: string) => void): Channel {
  const { invalidation, now } = settings;
  if (invalidation === undefined) return { publish() {}, ensureSubscribed() {} };
  return connect(invalidation, now, onChange);
}

function connect(
  invalidation: Invalidation,
  now: () => number,
  onChange: (keyId: string) => void,
): Channel {
  let isSubscribed = false;
  let triedAt: number | undefined;

  function listener(keyId: unknown): void {
    if (isUuid(keyId)) onChange(keyId);
  }

  async function subscribe(): Promise<void> {
    // Set before it succeeds, so that it is not called a second time in the meantime.
    isSubscribed = true;
    triedAt = now();
    try {
      await invalidation.subscribe(listener);
    } catch {
      isSubscribed = false;
    }
  }

  function ensureSubscribed(): void {
    if (isSubscribed) return;
    if (triedAt !== undefined && now() - triedAt < RETRY_MS) return;
    void subscribe();
  }

  function publish(keyId: string): void {
    // Not awaited: the channel may hang.
    void tryPublish(invalidation, keyId);
  }

  return { publish, ensureSubscribed };
}

async function tryPublish(invalidation: Invalidation, keyId: string): Promise<void> {
  try {
    await invalidation.publish(keyId);
  } catch {
    // Without the message, the others see the change within `maxStalenessMs`.
  }
}
