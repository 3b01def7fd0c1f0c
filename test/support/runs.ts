/**
 * Sets the number of runs of each property: 500, or KEYSCOPE_TEST_RUNS, which `npm run lab -- laws`
 * sets. Vitest loads this before every test file.
 */
import fc from 'fast-check';

const { KEYSCOPE_TEST_RUNS } = process.env;

/** Returns the number of runs of a slow property: `usual`, or more if requested. */
export function runs(usual: number): number {
  return KEYSCOPE_TEST_RUNS === undefined ? usual : Math.max(usual, Number(KEYSCOPE_TEST_RUNS));
}

fc.configureGlobal({ numRuns: runs(500) });
