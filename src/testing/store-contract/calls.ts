/** Functions that call a store: expecting errors, in parallel, or overlapping. */
import type { Awaitable, KeyStore } from '../../core/store.js';
import { uuid } from './fixture.js';

/** Returns `true` if `act` succeeds, `false` if it throws or rejects. */
export async function succeeds(act: () => Awaitable<unknown>): Promise<boolean> {
  try {
    await act();
    return true;
  } catch {
    return false;
  }
}

/**
 * Starts all calls before awaiting any. A call that throws rejects the promise.
 */
export function parallel<Answer>(
  count: number,
  act: (index: number) => Awaitable<Answer>,
): Promise<Answer[]> {
  const calls = Array.from({ length: count }, async (_, index) => act(index));
  return Promise.all(calls);
}

/**
 * Starts calls while earlier ones may still be running: the first two at once, then one after an
 * answer of the store, one after a second answer, and one after a timer.
 */
export async function overlap(
  store: KeyStore,
  calls: readonly (() => Awaitable<unknown>)[],
): Promise<void> {
  const running: Promise<unknown>[] = [];
  for (const [index, call] of calls.entries()) {
    if (index === 2 || index === 3) await store.findById(uuid());
    if (index === 4) await new Promise((resolve) => setTimeout(resolve, 1));
    const started = (async () => call())();
    // Awaited below, which rethrows the error.
    started.catch(() => {});
    running.push(started);
  }
  await Promise.all(running);
}
