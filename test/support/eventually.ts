/** Waits until something becomes true, with enough time for a busy machine. */
import { setTimeout as sleep } from 'node:timers/promises';

/** Waits until `holds` returns true. It may throw until then. */
export async function eventually(
  holds: () => Promise<boolean>,
  what: string,
  // Just under vitest's timeout, so that the message names what is missing.
  limitMs = 25_000,
): Promise<void> {
  const deadline = Date.now() + limitMs;
  let cause: unknown;
  while (Date.now() < deadline) {
    try {
      if (await holds()) return;
    } catch (error) {
      cause = error;
    }
    await sleep(20);
  }
  throw new Error(`never came true: ${what}`, { cause });
}
