/** Sends the look-ups of one turn of the event loop as one query. */
import type { KeyRecord } from '../core/record.js';

/** Looks records up by their digests. */
type Find = (digests: readonly string[]) => Promise<readonly KeyRecord[]>;

/** A caller that waits for the next query. */
interface Waiting {
  readonly digests: readonly string[];
  resolve(rows: readonly KeyRecord[]): void;
  reject(error: unknown): void;
}

/** At most this many digests are sent as one query. */
const MAX_DIGESTS = 1000;

/**
 * Combines the look-ups of one turn of the event loop into one query, without changing any answer:
 * each caller gets the rows of its own digests, compared byte for byte, and the query is sent after
 * all of them have asked.
 */
export function batchLookUps(find: Find): Find {
  let waiting: Waiting[] = [];

  function send(): void {
    const batch = waiting;
    waiting = [];
    void answerAll(batch, find);
  }

  return (digests) =>
    new Promise((resolve, reject) => {
      waiting.push({ digests, resolve, reject });
      if (waiting.length === 1) nextTurn(send);
    });
}

/** Resolves every caller in a batch, or rejects every caller. Never rejects itself. */
async function answerAll(batch: readonly Waiting[], find: Find): Promise<void> {
  try {
    const wanted = new Set(batch.flatMap((each) => each.digests));
    const chunks = inChunks([...wanted]);
    const found = await Promise.all(chunks.map((chunk) => find(chunk)));
    const rows = found.flat();
    for (const each of batch) {
      each.resolve(rows.filter((row) => each.digests.includes(row.digest)));
    }
  } catch (error) {
    for (const each of batch) each.reject(error);
  }
}

function inChunks(digests: readonly string[]): string[][] {
  const chunks: string[][] = [];
  for (let start = 0; start < digests.length; start += MAX_DIGESTS) {
    chunks.push(digests.slice(start, start + MAX_DIGESTS));
  }
  return chunks;
}

type Turn = (run: () => void) => unknown;

// Requests arrive as separate events of one turn, so a microtask would be too early for the others.
// Without `setImmediate`, a microtask still gathers the look-ups of one event.
const nextTurn: Turn = (globalThis as { setImmediate?: Turn }).setImmediate ?? queueMicrotask;
