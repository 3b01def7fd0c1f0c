/** What is answered while the store fails: what was known before, if the operator says so. */
import type { Awaitable } from '../core/store.js';
import { isThenable, within } from '../core/thenable.js';

/** How long the store is waited for where there is something else to answer, in milliseconds. */
const PATIENCE_MS = 1_000;

/** What may be answered in place of the store. */
export interface Substitute<Answer> {
  /** What was known shortly before; `undefined` if nothing may be answered. */
  recall(): { readonly answer: Answer } | undefined;
  /** Tells the store that nobody waits any more. */
  giveUp(): void;
}

/** Asks the store. If it throws, rejects or does not answer in time, answers the substitute. */
export function askOrRecall<Answer>(
  ask: () => Awaitable<Answer>,
  substitute: Substitute<Answer>,
): Answer | Promise<Answer> {
  function recallOrThrow(error: unknown): Answer {
    const recalled = substitute.recall();
    if (recalled === undefined) throw error;
    return recalled.answer;
  }

  let answer: Awaitable<Answer>;
  try {
    answer = ask();
  } catch (error) {
    return recallOrThrow(error);
  }
  if (!isThenable(answer)) return answer;
  const settled = Promise.resolve(answer).catch(recallOrThrow);
  if (substitute.recall() === undefined) return settled;
  return within(PATIENCE_MS, settled, () => {
    const recalled = substitute.recall();
    // It has changed in the meantime: only the store knows.
    if (recalled === undefined) return settled;
    substitute.giveUp();
    return recalled.answer;
  });
}
