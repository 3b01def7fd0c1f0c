/** Bounds expensive work: so much at a time, so much waiting, and each for so long. */

/** Thrown instead of beginning the work: nothing of it was done. */
export class Busy extends Error {
  constructor() {
    super('Too much of this is under way.');
  }
}

export interface TurnsOptions {
  /** How many are at work at a time. */
  readonly atOnce: number;
  /** How many may wait for that: of those who come first, and of all others. */
  readonly waiting: number;
  /** For how long each of those waits, in milliseconds. */
  readonly patienceMs: number;
}

export interface Turn {
  /** Before all who are not: a crowd of others does not keep this one from its turn. */
  readonly isFirst?: boolean | undefined;
}

/** Runs the work when it is its turn. Rejects with {@link Busy} if that does not come in time. */
export type Turns = <T>(work: () => Promise<T>, turn?: Turn) => Promise<T>;

/** Those who wait, in the order in which they came. */
type Queue = Set<() => void>;

export function createTurns({ atOnce, waiting, patienceMs }: TurnsOptions): Turns {
  let working = 0;
  const first: Queue = new Set();
  const others: Queue = new Set();

  function waitForTurn(queue: Queue): Promise<void> {
    if (queue.size >= waiting) return Promise.reject(new Busy());
    return new Promise((resolve, reject) => {
      const begin = (): void => {
        clearTimeout(timer);
        queue.delete(begin);
        resolve();
      };
      const giveUp = (): void => {
        queue.delete(begin);
        reject(new Busy());
      };
      const timer = setTimeout(giveUp, patienceMs);
      queue.add(begin);
    });
  }

  /** Hands the turn to whoever has waited longest; nobody can come in between. */
  function pass(): void {
    const [next] = first.size > 0 ? first : others;
    if (next === undefined) working -= 1;
    else next();
  }

  return async (work, { isFirst = false } = {}) => {
    if (working < atOnce) working += 1;
    else await waitForTurn(isFirst ? first : others);
    try {
      return await work();
    } finally {
      pass();
    }
  };
}
