/** Figures that no stream may have, whatever happens. */
import type { Figures } from './stream.ts';

/**
 * Describes every broken promise; empty if there was none.
 *
 * @param mayLose Why the engine may lose acknowledged writes. All others still have to hold.
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
