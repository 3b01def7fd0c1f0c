/** Times, in milliseconds since the epoch. */

/** Returns the time of a `Date`; NaN if it is not a valid one. */
export function timeOf(date: unknown): number {
  return date instanceof Date ? new Date(date).getTime() : Number.NaN;
}

/** Returns the earlier of two times; null means never. */
export function earliest(first: number | null, second: number | null): number | null {
  return oneOf(first, second, Math.min);
}

/** Returns the later of two times; null means that there is none. */
export function latest(first: number | null, second: number | null): number | null {
  return oneOf(first, second, Math.max);
}

type Choose = (first: number, second: number) => number;

function oneOf(first: number | null, second: number | null, choose: Choose): number | null {
  if (first === null) return second;
  return second === null ? first : choose(first, second);
}
