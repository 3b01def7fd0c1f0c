/**
 * How often each property is tried: 500 times, and as often as KEYSCOPE_TEST_RUNS says where it
 * says so, which is what `npm run test:laws` does. Loaded before every file of tests.
 */
import fc from 'fast-check';

const { KEYSCOPE_TEST_RUNS } = process.env;

/** For a property that takes its time: `usual` runs, unless more are asked for. */
export function runs(usual: number): number {
  return KEYSCOPE_TEST_RUNS === undefined ? usual : Math.max(usual, Number(KEYSCOPE_TEST_RUNS));
}

fc.configureGlobal({ numRuns: runs(500) });
