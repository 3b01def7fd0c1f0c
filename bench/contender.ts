/** What every contender can do, whoever wrote the library behind it. */
import type { Headers, HeaderValues } from './keys.ts';

/** A way from a header to a caller who holds one scope, filled with keys of its own. */
export interface Contender {
  readonly values: HeaderValues;
  /**
   * Lets each of a list in who holds the scope, one after another, and answers the last one's id;
   * throws or rejects where it does not. A list, so that a contender is charged for its own
   * promises and for none of the benchmark's.
   */
  enter(list: readonly Headers[], scope: string): string | Promise<string>;
  /** Whose key it is. */
  id(index: number): string;
}

/** Makes a contender that knows so many keys. */
export type Open = (count: number) => Contender | Promise<Contender>;
