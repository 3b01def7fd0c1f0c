/** What a cache publishes to hear whether its channel works. */

/**
 * How every beat begins: "keysco" in ASCII, then version 8 of a UUID, which is for uses like this
 * (RFC 9562 §5.8). Key ids are of version 4.
 */
const START = '6b657973-636f-8';

/** Whether a message is a beat, of any process. */
export function isBeat(message: string): boolean {
  return message.startsWith(START);
}

/**
 * What each beat of another process adds to the time until one's own, in milliseconds, so that all
 * of them together send two a second. Every process hears every beat: a thousand, each every 5 s,
 * would hear 200,000 a second.
 */
const SHARE_MS = 500;

/** The beats of one process, beside those of others. */
export interface Beats {
  /** Notes a beat that arrived. True if it is one's own. */
  hear(message: string): boolean;
  /**
   * Whether others have sent so many since one's own, at `sentAt`, that another can wait. Never if
   * none of them is heard any more.
   */
  areEnough(sentAt: number): boolean;
  /** One's own, to be sent now. */
  next(): string;
}

/**
 * Begins to count. One's own beat has the form of a key id, so that every channel carries it, also
 * to processes that do not know it: for them it is a key that nobody has.
 */
export function createBeats(now: () => number, beatMs: number): Beats {
  let own: string | undefined;
  let others = 0;
  let heardAt = Number.NEGATIVE_INFINITY;
  return {
    hear(message) {
      if (message === own) return true;
      others += 1;
      heardAt = now();
      return false;
    },
    areEnough(sentAt) {
      const time = now();
      return time - heardAt < beatMs && time - sentAt < others * SHARE_MS;
    },
    next() {
      others = 0;
      // Not made before: Cloudflare Workers have no randomness outside of a request.
      own ??= START + crypto.randomUUID().slice(START.length);
      return own;
    },
  };
}
