/** The safeguards of look-ups, of what is remembered of them, and against growth. */
import type { Safeguard } from './safeguard.ts';

const QUERIES: readonly Safeguard[] = [
  {
    name: 'look-ups: limits concurrent queries',
    file: 'src/stores/query-slots.ts',
    text: 'if (taken >= max) return;',
    instead: '',
    tests: 'test/stores',
  },
  {
    name: 'look-ups: a hanging query frees its slot',
    file: 'src/stores/query-slots.ts',
    text: 'setTimeout(leave, HANGS_AFTER_MS)',
    instead: 'setTimeout(() => {}, HANGS_AFTER_MS)',
    tests: 'test/stores',
  },
  {
    name: 'look-ups: a query frees only one slot',
    file: 'src/stores/query-slots.ts',
    text: 'if (!isTaken) return;',
    instead: '',
    tests: 'test/stores',
  },
  {
    name: 'look-ups: skips a query that no caller waits for',
    file: 'src/stores/look-ups.ts',
    text: 'caller.since < before && isGone(caller)',
    instead: 'false && isGone(caller)',
    tests: 'test/stores',
  },
];

const REMEMBERED_ROWS: readonly Safeguard[] = [
  {
    name: 'remembered rows: compares every column',
    file: 'src/stores/rows.ts',
    text: 'COLUMNS.every((name)',
    instead: 'COLUMNS.slice(1).every((name)',
    tests: 'test/stores',
  },
  {
    name: 'remembered rows: compares every field of a hash',
    file: 'src/stores/redis/schema.ts',
    text: 'hash.length === last.length &&',
    instead: '',
    tests: 'test/stores',
  },
  {
    name: 'remembered rows: checks the seal of what was read',
    file: 'src/stores/remembered-rows.ts',
    text: 'last !== undefined && isSame(row, last.row)',
    instead: 'last !== undefined',
    tests: 'test/stores',
  },
  {
    name: 'remembered rows: remembers at most a thousand',
    file: 'src/stores/remembered-rows.ts',
    text: 'known.size === REMEMBERED',
    instead: 'false',
    tests: 'test/stores',
  },
];

const GROWTH: readonly Safeguard[] = [
  {
    name: 'growth: looks up withdrawn entities in a set',
    file: 'src/core/record.ts',
    text: '!gone.has(entity)',
    instead: '!withdrawn.includes(entity)',
    tests: 'test/core',
  },
  {
    name: 'growth: a purge continues where the last batch ended',
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
    name: 'growth: remembers parsed answers from PostgreSQL',
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
];

export const LOOK_UPS: readonly Safeguard[] = [...QUERIES, ...REMEMBERED_ROWS, ...GROWTH];
