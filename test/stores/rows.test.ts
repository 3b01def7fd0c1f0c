import type { KeyRecord } from 'keyscope';
import { describe, expect, it } from 'vitest';
import {
  COLUMN_LIST,
  createRowReader,
  toInteger,
  toRecord,
  toValues,
} from '../../src/stores/rows.js';
import { columnOf } from '../support/columns.ts';
import { OTHER } from '../support/keyring.ts';
import { RECORD } from '../support/records.ts';

const COLUMNS = COLUMN_LIST.split(', ');

/** A record without a null, in which all texts and all numbers differ. */
const FULL: KeyRecord = {
  ...RECORD,
  justification: 'because',
  expiresAt: 2,
  rotatedFrom: OTHER,
  issuedUnder: '00000000-0000-4000-8000-00000000000f',
  trust: '{"subject":"ci"}',
  revokedAt: 3,
  suspendedAt: 4,
  retireAt: 5,
  withdrawn: [OTHER],
  endedBy: 'grace',
  endReason: 'leaked',
  changedAt: 6,
  lastUsedAt: 7,
  scopesUsed: { 'threats:read': 8 },
};

/** The row as a driver returns it that parses nothing. */
function rowOf(record: KeyRecord): Record<string, unknown> {
  const values = toValues(record);
  return Object.fromEntries(COLUMNS.map((column, index) => [column, values[index]]));
}

describe('a row', () => {
  it('has a column for every field of the record, in its order', () => {
    expect(COLUMNS).toEqual(Object.keys(RECORD).map(columnOf));
    expect(toValues(RECORD)).toHaveLength(COLUMNS.length);
  });

  it.each([
    ['of a live key', RECORD],
    ['without a null', FULL],
  ])(
    '%s has its values in the order of its columns, and gives the same record',
    (_what, record) => {
      const row = rowOf(record);
      for (const [field, value] of Object.entries(record)) {
        const isJson = typeof value === 'object' && value !== null;
        expect(row[columnOf(field)], field).toEqual(isJson ? JSON.stringify(value) : value);
      }
      expect(toRecord(row)).toEqual(record);
    },
  );

  it('gives the same record if the driver has parsed JSON', () => {
    const { accessibleEntities, scopes, metadata, withdrawn, scopesUsed } = FULL;
    const parsed = { scopes, metadata, withdrawn };
    const names = { accessible_entities: accessibleEntities, scopes_used: scopesUsed };
    expect(toRecord({ ...rowOf(FULL), ...parsed, ...names })).toEqual(FULL);
  });

  it.each([
    ['text', String],
    ['bigint', (time: number) => BigInt(time)],
  ])('gives the same record if the driver returns whole numbers as %s', (_what, as) => {
    const entries = Object.entries(rowOf(FULL)).map(([column, value]) => {
      return [column, typeof value === 'number' ? as(value) : value] as const;
    });
    expect(toRecord(Object.fromEntries(entries))).toEqual(FULL);
  });

  it('keeps a numeric text as text in text fields', () => {
    const row = { ...rowOf(FULL), name: '7', hint: '0000', end_reason: '8', prefix: '9' };
    expect(toRecord(row)).toMatchObject({ name: '7', hint: '0000', endReason: '8', prefix: '9' });
  });

  it('keeps invalid JSON unchanged, and a missing column undefined', () => {
    for (const column of [
      'accessible_entities',
      'scopes',
      'metadata',
      'withdrawn',
      'scopes_used',
    ]) {
      const damaged = toRecord({ ...rowOf(FULL), [column]: '[' }) as unknown;
      expect(Object.values(damaged as object), column).toContain('[');
    }
    const fields = Object.values(toRecord({}));
    expect(fields).toHaveLength(COLUMNS.length);
    expect(fields.filter((value) => value !== undefined)).toEqual([]);
  });

  it('ignores a column that the service has added', () => {
    expect(toRecord({ ...rowOf(FULL), tenant: 1 })).toEqual(FULL);
  });
});

describe('a remembered row', () => {
  it('gives the same frozen record, on which a seal was already checked', () => {
    const read = createRowReader();
    const first = read(rowOf(FULL));
    expect(first).toEqual(FULL);
    expect(Object.isFrozen(first.scopes)).toBe(true);
    expect(read(rowOf(FULL))).toBe(first);
    expect(read({ ...rowOf(FULL), tenant: 1 })).toBe(first);
  });

  it.each(COLUMNS.filter((column) => column !== 'digest'))(
    'is read again if %s differs',
    (column) => {
      const read = createRowReader();
      read(rowOf(FULL));
      for (const value of [null, '[]', 'another', 9]) {
        const row = { ...rowOf(FULL), [column]: value };
        expect({ ...read(row) }, String(value)).toEqual(toRecord(row));
      }
    },
  );

  it('belongs to another key if its digest differs', () => {
    const read = createRowReader();
    const first = read(rowOf(FULL));
    const other = { ...FULL, digest: `s1$${'cd'.repeat(32)}` };
    expect(read(rowOf(other))).toEqual(other);
    expect(read(rowOf(FULL))).toBe(first);
  });
});

describe('toInteger', () => {
  it.each([
    [1_700_000_000_000, 1_700_000_000_000],
    ['1700000000000', 1_700_000_000_000],
    ['-5', -5],
    [5n, 5],
    ['8640000000000000', 8_640_000_000_000_000],
    [null, null],
    // Anything but a whole number up to 2^53 is left for the core to reject.
    ['9'.repeat(19), '9'.repeat(19)],
    [2n ** 60n, 2n ** 60n],
    ['', ''],
    ['1.5', '1.5'],
    ['1e3', '1e3'],
    [' 1', ' 1'],
    [undefined, undefined],
    [true, true],
  ])('converts %o to %o', (value, expected) => {
    expect(toInteger(value)).toBe(expected);
  });
});
