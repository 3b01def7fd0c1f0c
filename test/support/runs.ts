/**
 * Runs each property 500 times, or as often as KEYSCOPE_TEST_RUNS says (`npm run test:laws` sets
 * it). Loaded before every test file.
 */
import fc from 'fast-check';

const { KEYSCOPE_TEST_RUNS } = process.env;

/** The number of runs for a slow property: `usual`, unless more are configured. */
export function runs(usual: number): number {
  return KEYSCOPE_TEST_RUNS === undefined ? usual : Math.max(usual, Number(KEYSCOPE_TEST_RUNS));
}

fc.configureGlobal({ numRuns: runs(500) });
