/** Look-ups of one turn of the event loop, sent as one query. */
import type { KeyRecord } from '../core/record.js';

type Find = (digests: readonly string[]) => Promise<readonly KeyRecord[]>;
type Waiting = {
  digests: readonly string[];
  resolve(rows: readonly KeyRecord[]): void;
  reject(error: unknown): void;
};

/** At most this many digests are sent as one query. */
const MOST = 1000;

/**
 * Combines the look-ups of one turn of the event loop into one query, without changing any answer:
 * each caller gets the rows of its own digests, compared byte for byte, and the query is sent after
 * all of them have asked.
 */
export function inBatches(find: Find): Find {
  let waiting: Waiting[] = [];

  async function send(): Promise<void> {
    const batch = waiting;
    waiting = [];
    const digests = [...new Set(batch.flatMap((each) => each.digests))];
    const chunks = Array.from({ length: Math.ceil(digests.length / MOST) }, (_, i) => i * MOST);
    try {
      const found = await Promise.all(
        chunks.map((start) => find(digests.slice(start, start + MOST))),
      );
      const rows = found.flat();
      for (const each of batch)
        each.resolve(rows.filter(({ digest }) => each.digests.includes(digest)));
    } catch (error) {
      for (const each of batch) each.reject(error);
    }
  }

  return (digests) =>
    new Promise((resolve, reject) => {
      if (waiting.push({ digests, resolve, reject }) === 1) nextTurn(send);
    });
}

// Requests arrive as separate events of one turn, so a microtask would come too early. Without
// `setImmediate`, a microtask gathers the look-ups of one event.
type Turn = (run: () => void) => unknown;
const nextTurn: Turn = (globalThis as { setImmediate?: Turn }).setImmediate ?? queueMicrotask;
