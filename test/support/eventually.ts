/** Waiting for what comes true, however long that takes where the machine is busy. */
import { setTimeout as sleep } from 'node:timers/promises';

/** Waits until `holds`, which may also throw until it does. */
export async function eventually(
  holds: () => Promise<boolean>,
  what: string,
  // Shortly before vitest ends the test, so that what is missing is said.
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
