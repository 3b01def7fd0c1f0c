/** The output of the walk, and its assertions. */
import { redactKeys } from 'keyscope';
import { PREFIX } from '../boot.ts';

/** Thrown when an answer is not as expected. */
export class Surprise extends Error {}

/**
 * Prints a line with all keys redacted. The walk prints everything with it, so that no key ends up
 * in a terminal's scroll-back or a CI log.
 */
export function say(text: string): void {
  console.log(redactKeys(text, { prefix: PREFIX }));
}

/** Throws a {@link Surprise} unless both values are equal as JSON. */
export function assertSame(got: unknown, expected: unknown): void {
  const actual = JSON.stringify(got);
  const wanted = JSON.stringify(expected);
  if (actual !== wanted) throw new Surprise(`expected ${wanted}\n       but got ${actual}`);
}
