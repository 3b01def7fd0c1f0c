import { describe, expect, it } from 'vitest';
import { addIfLive, type Summaries } from '../../src/stores/summaries.js';
import { RECORD } from '../support/records.ts';

describe('addIfLive', () => {
  const now = 1_000;
  const live = { ...RECORD, digest: 's1$a', revokedAt: null, retireAt: null, expiresAt: null };

  function summaryOf(...records: readonly Parameters<typeof addIfLive>[1][]) {
    const summaries: Summaries = new Map();
    for (const record of records) addIfLive(summaries, record, now);
    return [...summaries.values()];
  }

  it.each(['7', 7n, undefined, {}])('counts a record without its damaged last use', (damaged) => {
    const records = [
      { ...live, lastUsedAt: 5 },
      { ...live, lastUsedAt: damaged as number },
    ];
    expect(summaryOf(...records)).toEqual([{ scheme: 's1', live: 2, lastUsedAt: 5 }]);
  });

  it.each([
    ['has ended', { ...live, revokedAt: 1 }],
    ['expires now', { ...live, expiresAt: now }],
    ['retires now', { ...live, retireAt: now }],
    ['lacks its fields', {}],
  ])('leaves out a record that %s', (_, record) => {
    expect(summaryOf(record)).toEqual([]);
  });
});
