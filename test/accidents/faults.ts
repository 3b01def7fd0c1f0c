/** Checks the figures of a stream for anything that must never happen. */
import type { Figures } from './stream.ts';

/**
 * Returns the faults in words, or an empty list.
 *
 * @param mayLose Why the engine may lose answered writes. Those that it keeps still have to hold.
 */
export function faultsOf(figures: Figures, mayLose?: string): string[] {
  const { denied, unanswered, letIn, letInLate, lostKeys, lostRevocations } = figures;
  const { letInThoughKept, deniedThoughKept } = figures;
  const never = { deniedThoughKept, unanswered, letInThoughKept };
  const unlessLost = { denied, letIn, letInLate, lostKeys, lostRevocations };
  const counts = mayLose === undefined ? { ...never, ...unlessLost } : never;
  return Object.entries(counts).flatMap(([what, count]) =>
    count > 0 ? [`${what}: ${count}`] : [],
  );
}
