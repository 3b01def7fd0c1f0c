/** Watches the turns of the event loop: how long they are, and how many. */
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { setTimeout as sleep } from 'node:timers/promises';

/** Runs `act`, and returns the longest turn of the event loop meanwhile, in milliseconds. */
export async function longestTurnOf(act: () => Promise<unknown>): Promise<number> {
  const turns = monitorEventLoopDelay({ resolution: 1 });
  turns.enable();
  try {
    // The first measurement starts when the timer fires.
    await sleep(5);
    await act();
    await sleep(5);
  } finally {
    turns.disable();
  }
  return turns.max / 1e6;
}

/** Runs `act`, and counts the turns of the event loop meanwhile, in which other work can run. */
export async function countTurns<T>(
  act: () => Promise<T>,
): Promise<{ readonly result: T; readonly turns: number }> {
  let turns = 0;
  function count(): void {
    turns += 1;
    counting = setImmediate(count);
  }
  let counting = setImmediate(count);
  const result = await act();
  clearImmediate(counting);
  return { result, turns };
}
