/** Measures how long the event loop was blocked. */
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { setTimeout as sleep } from 'node:timers/promises';

/** Runs `act` and returns the longest turn of the event loop in that time, in milliseconds. */
export async function longestTurnOf(act: () => Promise<unknown>): Promise<number> {
  const turns = monitorEventLoopDelay({ resolution: 1 });
  turns.enable();
  try {
    // Measuring begins when the timer fires.
    await sleep(5);
    await act();
    await sleep(5);
  } finally {
    turns.disable();
  }
  return turns.max / 1e6;
}
