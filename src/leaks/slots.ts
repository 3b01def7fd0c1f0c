/** Limits how many reports use the store at once. */

/** The limit, which leaves the store free for ordinary traffic. */
const AT_ONCE = 4;

/** How many may wait for a slot. Strangers beyond this get 503. */
const MOST_WAITING = 1_000;

/** A limited number of slots for work. */
export interface Slots {
  /** Runs the work when a slot is free, in the order of the calls. */
  take<T>(work: () => Promise<T>): Promise<T>;
  /** Whether to turn strangers away. */
  isFull(): boolean;
}

/** Makes {@link AT_ONCE} slots. */
export function createSlots(): Slots {
  const waiting: (() => void)[] = [];
  let taken = 0;

  function enter(): Promise<void> {
    if (taken < AT_ONCE) {
      taken += 1;
      return Promise.resolve();
    }
    return new Promise((resolve) => waiting.push(resolve));
  }

  /** Passes the slot to the next call, or frees it. */
  function leave(): void {
    const next = waiting.shift();
    if (next === undefined) taken -= 1;
    else next();
  }

  return {
    async take(work) {
      await enter();
      try {
        return await work();
      } finally {
        leave();
      }
    },
    isFull: () => waiting.length >= MOST_WAITING,
  };
}
