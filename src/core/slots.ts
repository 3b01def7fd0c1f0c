/** Runs work a few at a time. */

/** A limited number of slots. */
export interface Slots {
  /** Runs the work in the order of the calls: at once if a slot is free. */
  take<T>(work: () => Promise<T>): Promise<T>;
  /** Returns the number of calls that wait for a slot. */
  waiting(): number;
}

/**
 * Makes slots for `max` pieces of work.
 *
 * @param hangsAfterMs After this time, work no longer takes a slot, although it continues.
 */
export function createSlots(max: number, hangsAfterMs?: number): Slots {
  const waiting: (() => void)[] = [];
  let taken = 0;

  /** Passes a slot directly to the next call, so that no later one takes it first. */
  function free(): void {
    const next = waiting.shift();
    if (next === undefined) taken -= 1;
    else next();
  }

  return {
    async take(work) {
      if (taken === max) await new Promise<void>((resolve) => waiting.push(resolve));
      else taken += 1;
      let isTaken = true;
      function leave(): void {
        if (isTaken) free();
        isTaken = false;
      }
      const timer = hangsAfterMs === undefined ? undefined : setTimeout(leave, hangsAfterMs);
      try {
        return await work();
      } finally {
        clearTimeout(timer);
        leave();
      }
    },
    waiting: () => waiting.length,
  };
}
