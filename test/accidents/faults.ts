/** What must not be in the figures of a stream, whatever happens. */
import type { Figures } from './stream.ts';

/**
 * In words; empty where all is as promised.
 *
 * @param mayLose Why an engine may lose what it has answered. What is not lost has to hold even so.
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
