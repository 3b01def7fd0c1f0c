/** The safeguards of look-ups: how many at a time, and what is remembered of them. */
import type { Safeguard } from './safeguard.ts';

const QUERIES: readonly Safeguard[] = [
  {
    name: 'look-ups: so many queries at once',
    file: 'src/stores/query-slots.ts',
    text: 'if (taken >= max) return;',
    instead: '',
    tests: 'test/stores',
  },
  {
    name: 'look-ups: a query that hangs leaves its place',
    file: 'src/stores/query-slots.ts',
    text: 'setTimeout(leave, HANGS_AFTER_MS)',
    instead: 'setTimeout(() => {}, HANGS_AFTER_MS)',
    tests: 'test/stores',
  },
  {
    name: 'look-ups: a query leaves one place',
    file: 'src/stores/query-slots.ts',
    text: 'if (!isTaken) return;',
    instead: '',
    tests: 'test/stores',
  },
  {
    name: 'look-ups: nobody waits any more',
    file: 'src/stores/look-ups.ts',
    text: 'caller.since < before && isGone(caller)',
    instead: 'false && isGone(caller)',
    tests: 'test/stores',
  },
];

const REMEMBERED_ROWS: readonly Safeguard[] = [
  {
    name: 'remembered rows: every column',
    file: 'src/stores/rows.ts',
    text: 'COLUMNS.every((name)',
    instead: 'COLUMNS.slice(1).every((name)',
    tests: 'test/stores',
  },
  {
    name: 'remembered rows: every field of a hash',
    file: 'src/stores/redis/schema.ts',
    text: 'hash.length === last.length &&',
    instead: '',
    tests: 'test/stores',
  },
  {
    name: 'remembered rows: the seal is checked of what was read',
    file: 'src/stores/remembered-rows.ts',
    text: 'last !== undefined && isSame(row, last.row)',
    instead: 'last !== undefined',
    tests: 'test/stores',
  },
  {
    name: 'remembered rows: no more than a thousand',
    file: 'src/stores/remembered-rows.ts',
    text: 'known.size === REMEMBERED',
    instead: 'false',
    tests: 'test/stores',
  },
];

export const LOOK_UPS: readonly Safeguard[] = [...QUERIES, ...REMEMBERED_ROWS];
