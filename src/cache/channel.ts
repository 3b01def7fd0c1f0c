/** The channel to other processes: it may fail in any way, and nothing here waits for it. */
import type { Invalidation } from '../core/invalidation.js';
import { isUuid } from '../core/uuid.js';
import type { CacheSettings } from './options.js';

/** How long to wait before a failed subscription is tried again, in milliseconds. */
const RETRY_MS = 1_000;

/** A channel whose failures nobody notices. */
export interface Channel {
  /** Tells other processes that a key has changed. */
  publish(keyId: string): void;
  /** Subscribes, unless that is done, in progress, or was tried less than a second ago. */
  keepUp(): void;
}

/**
 * Makes a channel that does not subscribe yet.
 *
 * @param change Called with each key id that arrives; anything else that arrives is ignored.
 */
export function createChannel(settings: CacheSettings, change: (keyId: string) => void): Channel {
  const { invalidation, now } = settings;
  if (invalidation === undefined) return { publish() {}, keepUp() {} };
  return connect(invalidation, now, change);
}

function connect(
  invalidation: Invalidation,
  now: () => number,
  change: (keyId: string) => void,
): Channel {
  let isSubscribed = false;
  let triedAt: number | undefined;

  function listener(keyId: unknown): void {
    if (isUuid(keyId)) change(keyId);
  }

  async function subscribe(): Promise<void> {
    // Before it has succeeded, so that it is not called a second time meanwhile.
    isSubscribed = true;
    triedAt = now();
    try {
      await invalidation.subscribe(listener);
    } catch {
      isSubscribed = false;
    }
  }

  function keepUp(): void {
    if (isSubscribed) return;
    if (triedAt !== undefined && now() - triedAt < RETRY_MS) return;
    void subscribe();
  }

  function publish(keyId: string): void {
    // Whoever waits for the promise waits for as long as the channel hangs.
    void tryPublish(invalidation, keyId);
  }

  return { publish, keepUp };
}

async function tryPublish(invalidation: Invalidation, keyId: string): Promise<void> {
  try {
    await invalidation.publish(keyId);
  } catch {
    // Without the message, the others see the change within `maxStalenessMs`.
  }
}
