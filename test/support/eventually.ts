/** Waits for a condition, however long a busy machine takes. */
import { setTimeout as sleep } from 'node:timers/promises';

/** Waits until `holds` returns true; until then it may throw. */
export async function eventually(
  holds: () => Promise<boolean>,
  what: string,
  // Shortly before vitest ends the test, so that the message says what is missing.
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
