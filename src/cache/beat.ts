/** The beat: a message that a cache sends to itself to test whether its channel works. */

/**
 * The first characters of every beat: "keysco" in ASCII, then version 8, which RFC 9562 §5.8
 * reserves for custom UUIDs. Key ids are version 4, so a beat never equals a key id.
 */
const START = '6b657973-636f-8';

/** Checks whether a message is a beat, from any process. */
export function isBeat(message: string): boolean {
  return message.startsWith(START);
}

/**
 * How long each beat of another process postpones our next one, in milliseconds. All processes
 * together then send about two beats a second. Every process receives every beat: without this, a
 * thousand processes that beat every 5 s would receive 200,000 a second in total.
 */
const SHARE_MS = 500;

/** The beats of one process, and a count of the others'. */
export interface Beats {
  /** Checks whether this process sent a beat that arrived. Counts it if not. */
  isOwn(message: string): boolean;
  /**
   * Returns true if the other processes have sent enough beats since our last one, at `sentAt`, for
   * our next one to wait. Returns false once their beats stop arriving.
   */
  areEnough(sentAt: number): boolean;
  /** Returns the beat to send now. */
  next(): string;
}

/**
 * Starts counting beats. Our own beat has the form of a key id, so every channel carries it. A
 * process that does not know about beats takes it for the id of an unknown key.
 */
export function createBeats(now: () => number, beatMs: number): Beats {
  let own: string | undefined;
  let others = 0;
  let heardAt = Number.NEGATIVE_INFINITY;
  return {
    isOwn(message) {
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
      // Lazy, because Cloudflare Workers have no randomness outside a request.
      own ??= START + crypto.randomUUID().slice(START.length);
      return own;
    },
  };
}
