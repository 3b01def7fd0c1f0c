import { describe, expect, it } from 'vitest';
import { createHashReader, toHash } from '../../src/stores/redis/schema.js';
import { rememberRows } from '../../src/stores/remembered-rows.js';
import { numbered, RECORD } from '../support/records.ts';

describe('remembered rows', () => {
  const read = () => rememberRows((row: typeof RECORD) => ({ ...row }), Object.is);

  it('are the thousand that were read last', () => {
    const remembered = read();
    const rows = Array.from({ length: 1_001 }, (_, index) => numbered(RECORD)(index));
    const [first, second] = rows.map((row) => remembered(row.keyId, row));
    const [firstRow = RECORD, secondRow = RECORD] = rows;
    expect(remembered(secondRow.keyId, secondRow)).toBe(second);
    const again = remembered(firstRow.keyId, firstRow);
    expect(again).not.toBe(first);
    expect(again).toEqual(first);
    expect(remembered(firstRow.keyId, firstRow)).toBe(again);
  });

  // A row kept the place of its first reading, and was dropped before rows that nobody had asked
  // for.
  it.each(['is read again', 'has changed'])('keep a row that %s longer than older ones', (how) => {
    const remembered = read();
    const rows = Array.from({ length: 1_001 }, (_, index) => numbered(RECORD)(index));
    const [first = RECORD, second = RECORD, ...others] = rows;
    remembered(first.keyId, first);
    const forgotten = remembered(second.keyId, second);
    for (const row of others.slice(0, 997)) remembered(row.keyId, row);
    const row = how === 'has changed' ? { ...first, lastUsedAt: 7 } : first;
    const kept = remembered(row.keyId, row);
    for (const other of others.slice(997)) remembered(other.keyId, other);
    expect(remembered(row.keyId, row)).toBe(kept);
    expect(remembered(second.keyId, second)).not.toBe(forgotten);
  });

  it('never include malformed rows, which pass through unchanged', () => {
    const remembered = read();
    const damaged = { ...RECORD, scopes: ['*:*'] };
    const first = remembered('name', damaged);
    expect(first).toEqual(damaged);
    expect(Object.isFrozen(first)).toBe(false);
    expect(remembered('name', damaged)).not.toBe(first);
    expect(remembered('name', RECORD)).toEqual(RECORD);
  });

  it('are replaced by newer readings', () => {
    const remembered = read();
    const first = remembered('name', RECORD);
    const changed = { ...RECORD, lastUsedAt: 7 };
    expect(remembered('name', changed)).toEqual(changed);
    expect(remembered('name', RECORD)).not.toBe(first);
  });
});

describe('a remembered hash', () => {
  const hash = toHash({ ...RECORD, scopesUsed: { 'threats:read': 5 } });

  it('gives the same frozen record', () => {
    const read = createHashReader();
    const first = read(RECORD.digest, hash);
    expect(first).toEqual({ ...RECORD, scopesUsed: { 'threats:read': 5 } });
    expect(read(RECORD.digest, [...hash])).toBe(first);
  });

  it('is read again if one of its texts differs, or if it has more or fewer', () => {
    const read = createHashReader();
    const first = read(RECORD.digest, hash);
    for (const index of hash.keys()) {
      expect(read(RECORD.digest, hash.with(index, '7')), hash[index]).not.toBe(first);
      read(RECORD.digest, hash);
    }
    const last = read(RECORD.digest, hash);
    expect(read(RECORD.digest, [...hash, 'used:users:read', '6'])).not.toBe(last);
    const again = read(RECORD.digest, hash);
    expect(read(RECORD.digest, hash.slice(0, -2))).not.toBe(again);
  });
});
