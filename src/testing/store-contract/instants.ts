/** Times that reveal a store that converts them through a clock or a calendar. */

/**
 * Times at the edges of clocks and calendars. Tests also use the adjacent millisecond that is
 * nearer to 1970.
 */
export const INSTANTS: readonly number[] = [
  -8_640_000_000_000_000, // the first that a `Date` can hold
  -62_135_596_800_001, // before the year 1
  -1,
  1,
  999,
  1_711_846_800_001, // 2024-03-31, Europe: 01:00 UTC, the clocks go forward
  1_711_852_200_007, // 02:30, which does not exist in those zones
  1_729_989_000_123, // 2024-10-27: 00:30 UTC, and 01:20, which is earlier in local time
  1_729_992_000_123,
  1_710_066_600_457, // 2024-03-10, America: 10:30 UTC
  1_730_611_800_999, // 2024-11-03: 05:30 UTC, and 06:20 likewise
  1_730_614_800_999,
  1_712_413_800_003, // 2024-04-06, Lord Howe: half an hour back
  2_147_483_647_999, // 2038-01-19, the last second in 32 bits, and the first that overflows
  2_147_483_648_001,
  4_294_967_295_997, // 2106
  253_402_300_799_999, // the last of the year 9999
  253_402_300_800_001,
  8_640_000_000_000_000, // the last that a `Date` can hold
];

/** The adjacent millisecond that is nearer to 1970. A `Date` can hold it too. */
export function besides(time: number): number {
  return time > 0 ? time - 1 : time + 1;
}
