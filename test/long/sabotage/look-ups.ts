/** The safeguards of look-ups, of remembered rows, and against growth. */
import type { Safeguard } from './safeguard.ts';

const QUERIES: readonly Safeguard[] = [
  {
    name: 'look-ups: the number of queries at once',
    file: 'src/core/slots.ts',
    text: 'if (taken === max)',
    instead: 'if (taken < 0)',
    tests: 'test/stores',
  },
  {
    name: 'look-ups: a query that hangs leaves its place',
    file: 'src/stores/look-ups.ts',
    text: 'createSlots(maxQueries, HANGS_AFTER_MS)',
    instead: 'createSlots(maxQueries)',
    tests: 'test/stores',
  },
  {
    name: 'look-ups: a query leaves one place',
    file: 'src/core/slots.ts',
    text: 'if (isTaken) free();',
    instead: 'free();',
    tests: 'test/stores',
  },
  {
    name: 'look-ups: a caller that has given up',
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
    text: 'COLUMNS.every(',
    instead: 'COLUMNS.slice(1).every(',
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
    text: '{ row, record }, REMEMBERED)',
    instead: '{ row, record }, Number.POSITIVE_INFINITY)',
    tests: 'test/stores',
  },
];

const GROWTH: readonly Safeguard[] = [
  {
    name: 'growth: revoking a lineage lets other work run',
    file: 'src/management/lineage.ts',
    text: 'if (start > 0) await',
    instead: 'if (start < 0) await',
  },
  {
    name: 'growth: withdrawals are looked up in a set',
    file: 'src/core/record.ts',
    text: '!gone.has(entity)',
    instead: '!withdrawn.includes(entity)',
    tests: 'test/core',
  },
  {
    name: 'growth: a purge starts where the last batch ended',
    file: 'src/stores/purge.ts',
    text: 'position = last;',
    instead: 'if (due.length === 0) return deleted;',
    tests: 'test/stores',
  },
  {
    name: 'growth: a summary continues after the last key of a part',
    file: 'src/stores/summaries.ts',
    text: 'if (keys < PART_SIZE) return',
    instead: 'return',
    tests: 'test/stores',
  },
  {
    name: 'growth: an answer of PostgreSQL is remembered',
    file: 'src/stores/postgres/reads.ts',
    text: 'texts.map((text) => read(text, text))',
    instead: 'texts.map((text) => readRow(parseText(text)))',
    tests: 'test/servers/postgres/remembered-rows.test.ts',
  },
  {
    name: 'growth: PostgreSQL has an index on the end of a key',
    file: 'src/stores/postgres/read-statements.ts',
    text: `ORDER BY \${endOf('old.')}, old.key_id LIMIT`,
    instead: `ORDER BY \${endOf('old.')} + 0, old.key_id LIMIT`,
    tests: 'test/servers/postgres/statements.test.ts',
  },
  {
    name: 'growth: PostgreSQL has an index on each half of a lineage',
    file: 'src/stores/postgres/read-statements.ts',
    text: `ORDER BY \${column}, key_id LIMIT`,
    instead: `ORDER BY \${column}, key_id DESC LIMIT`,
    tests: 'test/servers/postgres/statements.test.ts',
  },
];

export const LOOK_UPS: readonly Safeguard[] = [...QUERIES, ...REMEMBERED_ROWS, ...GROWTH];
