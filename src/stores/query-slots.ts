/** How many queries of look-ups are sent at a time, so that others find a connection, and when. */
import { readInteger } from '../core/input.js';

/** By measurement: more are no faster, and take more of the service's connections. */
const DEFAULT_QUERIES = 4;

/**
 * After this long, in milliseconds, a query no longer counts. It may never be answered, as on a
 * half-open connection, and must not hold up those on others for as long as callers wait.
 */
const HANGS_AFTER_MS = 1_000;

/** Sends a query, and settles when it is answered. Never rejects. */
export type SendQuery = () => Promise<void>;

/** The places of queries in flight. */
export interface QuerySlots {
  /** Sends at once if there is a place, otherwise when there is one. First come, first served. */
  enter(send: SendQuery): void;
}

/** Reads the option `maxLookUpQueries` of a store. */
export function readMaxQueries(value: unknown, where: string): number {
  const count = value === undefined ? DEFAULT_QUERIES : value;
  return readInteger(count, 1, 1_000, `${where}: maxLookUpQueries`);
}

/** Makes places for `max` queries. */
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
 * Runs something in the next turn, after all events of this one. Without `setImmediate`, a
 * microtask still comes after what the present event does.
 */
export const nextTurn: Turn =
  (globalThis as { setImmediate?: Turn }).setImmediate ?? queueMicrotask;
