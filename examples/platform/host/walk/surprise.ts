/** What the walk says, and how it notices that something is not as it should be. */
import { redactKeys } from 'keyscope';
import { PREFIX } from '../boot.ts';

/** Something is not as expected; the message says what. */
export class Surprise extends Error {}

/**
 * Everything that the walk prints goes through here: no key reaches a terminal's scroll-back or a
 * CI log.
 */
export function say(text: string): void {
  console.log(redactKeys(text, { prefix: PREFIX }));
}

/** Throws a {@link Surprise} unless both are the same as JSON. */
export function assertSame(got: unknown, expected: unknown): void {
  const actual = JSON.stringify(got);
  const wanted = JSON.stringify(expected);
  if (actual !== wanted) throw new Surprise(`expected ${wanted}\n       but got ${actual}`);
}
