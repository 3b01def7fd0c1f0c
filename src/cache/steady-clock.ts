/** The clock by which entries age unless another is given. */

/**
 * The smallest gain, in milliseconds, that counts as sleep. `Date.now` has no fractions, so it can
 * seem to gain up to one millisecond although no time was lost. Such gains would add up, and the
 * clock would run at twice its speed.
 */
const MIN_GAIN_MS = 2;

/**
 * Makes a clock, in milliseconds, that never goes back when the time is set, and that advances
 * while the machine sleeps. `performance.now` may stop during sleep, so the clock adds what
 * `Date.now` gains on it. A gain counts from the last loss, so a time that is set ahead and then
 * corrected hides no sleep.
 */
export function createSteadyClock(): () => number {
  let sleptMs = 0;
  // How far `Date.now` is ahead of `performance.now`.
  let lead = Date.now() - performance.now();

  return () => {
    const steady = performance.now();
    const gain = Date.now() - steady - lead;
    if (Math.abs(gain) >= MIN_GAIN_MS) {
      lead += gain;
      sleptMs += Math.max(gain, 0);
    }
    return steady + sleptMs;
  };
}
