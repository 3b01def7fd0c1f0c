/** Limits how many look-up queries are in flight, so that other queries find a connection. */
import { readInteger } from '../core/input.js';

/** Measured: more queries are not faster, and take more of the service's connections. */
const DEFAULT_QUERIES = 4;

/**
 * After this many milliseconds, a query no longer counts. On a half-open connection it may never be
 * answered, and it must not block queries on other connections that long.
 */
const HANGS_AFTER_MS = 1_000;

/** Sends a query, and settles when it is answered. Never rejects. */
export type SendQuery = () => Promise<void>;

/** The slots of queries in flight. */
export interface QuerySlots {
  /** Sends as soon as a slot is free, at once if one is. First come, first served. */
  enter(send: SendQuery): void;
}

/** Validates the option `maxLookUpQueries` of a store. */
export function readMaxQueries(value: unknown, where: string): number {
  const count = value === undefined ? DEFAULT_QUERIES : value;
  return readInteger(count, 1, 1_000, `${where}: maxLookUpQueries`);
}

/** Makes slots for `max` queries. */
export function createQuerySlots(max: number = DEFAULT_QUERIES): QuerySlots {
  const waiting: SendQuery[] = [];
  let taken = 0;

  function sendNext(): void {
    if (taken >= max) return;
    const send = waiting.shift();
    if (send !== undefined) take(send);
  }

  function take(send: SendQuery): void {
    taken += 1;
    let isTaken = true;
    function leave(): void {
      if (!isTaken) return;
      isTaken = false;
      clearTimeout(timer);
      taken -= 1;
      sendNext();
    }
    const timer = setTimeout(leave, HANGS_AFTER_MS);
    void send().then(leave);
  }

  return {
    enter(send) {
      waiting.push(send);
      sendNext();
    },
  };
}

// ── The next turn of the event loop ─────────────────────────────────────────────────────────────

type Turn = (run: () => void) => unknown;

/**
 * Runs a function in the next turn, after all events of this one. Without `setImmediate`, it runs
 * in a microtask, which still comes after the current event.
 */
export const nextTurn: Turn =
  (globalThis as { setImmediate?: Turn }).setImmediate ?? queueMicrotask;

/** Resolves in the next turn: what waits meanwhile is served first. */
export function untilNextTurn(): Promise<void> {
  return new Promise((resolve) => {
    nextTurn(resolve);
  });
}
