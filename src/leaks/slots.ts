/** How many keys are looked at at once, whoever sends them. */

/** Reports next to ordinary traffic may take no more of the store than this. */
const AT_ONCE = 4;

/** Those who may wait for a place. Strangers beyond are told to come again. */
const MOST_WAITING = 1_000;

/** Places for so many. */
export interface Slots {
  /** Does the work when there is a place. First come, first served. */
  take<T>(work: () => Promise<T>): Promise<T>;
  /** Whether a stranger has to be sent away. */
  isFull(): boolean;
}

/** Makes them. */
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

  /** Hands the place on, or gives it up. */
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
