/** Bounds how many keys are looked at at once, whoever sends them. */

/** Reports beside ordinary traffic may take no more of the store than this. */
const AT_ONCE = 4;

/** Holders who may wait for a place. Those beyond are told to come again. */
const MOST_WAITING = 64;

/** The places. */
export interface Places {
  /** Does the work when there is a place. First come, first served. */
  take<T>(work: () => Promise<T>): Promise<T>;
  /** Whether a stranger has to be sent away. */
  isFull(): boolean;
}

/** Makes the places of one handler. */
export function createPlaces(): Places {
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
