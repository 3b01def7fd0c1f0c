/** The clock by which entries age unless another is given. */

/**
 * The smallest gain, in milliseconds, that counts as sleep. `Date.now` has no fractions, so on its
 * own it seems to gain up to one millisecond. Those would add up: the clock would run at twice the
 * speed.
 */
const LEAST_GAIN_MS = 2;

/**
 * Makes a clock, in milliseconds, that never goes back when the time is set, and that advances
 * while the machine sleeps. `performance.now` need not advance then, so the clock adds what
 * `Date.now` gains on it. A gain counts from the last loss: a time that is set ahead and then right
 * hides no sleep.
 */
export function createSteadyClock(): () => number {
  let sleptMs = 0;
  // How far `Date.now` is ahead of `performance.now`.
  let lead = Date.now() - performance.now();

  return () => {
    const steady = performance.now();
    const gain = Date.now() - steady - lead;
    if (Math.abs(gain) >= LEAST_GAIN_MS) {
      lead += gain;
      sleptMs += Math.max(gain, 0);
    }
    return steady + sleptMs;
  };
}
