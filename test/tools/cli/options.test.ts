/** Parsing of option values. */
import { describe, expect, it } from 'vitest';
import {
  readCount,
  readExpiry,
  readList,
  readPairs,
  readSpan,
  shownSpan,
} from '../../../src/tools/cli/options.js';

const NOW = Date.parse('2026-03-01T00:00:00Z');

describe('readExpiry', () => {
  it.each([
    ['90d', '2026-05-30T00:00:00.000Z'],
    ['12h', '2026-03-01T12:00:00.000Z'],
    ['2w', '2026-03-15T00:00:00.000Z'],
    ['2027-01-01', '2027-01-01T00:00:00.000Z'],
    ['2028-02-29', '2028-02-29T00:00:00.000Z'],
    ['2027-01-01T12:00Z', '2027-01-01T12:00:00.000Z'],
    ['2027-01-01T12:00:30+02:00', '2027-01-01T10:00:30.000Z'],
  ])('reads %s as %s', (text, expected) => {
    expect(readExpiry(text, NOW)).toEqual(new Date(expected));
  });

  it('reads never', () => {
    expect(readExpiry('never', NOW)).toBe('never');
  });

  it.each(['2026-03-01', '2020-01-01', '0d'])('rejects %s, which is not in the future', (text) => {
    expect(() => readExpiry(text, NOW)).toThrow('--expires must be in the future.');
  });

  it.each([
    '',
    '90',
    'd',
    '-1d',
    '1.5d',
    '90 d',
    '1y',
    '2027',
    '2027-02-29',
    '2027-02-30T00:00Z',
    '2027-13-01',
    '2027-01-01T12:00',
    '2027-01-01 12:00Z',
    '01/02/2027',
    'Never',
    '9999999d',
  ])('rejects %j', (text) => {
    expect(() => readExpiry(text, NOW)).toThrow(/--expires takes/);
  });
});

describe('readSpan', () => {
  it('reads a number and a unit, or 0', () => {
    const units = ['30s', '5min', '2h', '7d', '1w', '0'].map((text) => readSpan(text, 'overlap'));
    expect(units).toEqual([30_000, 300_000, 7_200_000, 604_800_000, 604_800_000, 0]);
    expect(() => readSpan('7', 'overlap')).toThrow('--overlap takes a number and a unit');
    expect(() => readSpan('7constructor', 'overlap')).toThrow('--overlap');
  });
});

describe('shownSpan', () => {
  it.each([
    [30 * 86_400_000, '30d'],
    [36 * 3_600_000, '36h'],
    [90_000, '90s'],
    [120_999, '2min'],
  ])('writes %i ms as %s, which readSpan takes', (ms, text) => {
    expect(shownSpan(ms)).toBe(text);
    expect(readSpan(text, 'expires')).toBeLessThanOrEqual(ms);
  });
});

describe('readList, readPairs and readCount', () => {
  it('split lists at commas and spaces', () => {
    expect(readList(' a:b, c:d  e:f,')).toEqual(['a:b', 'c:d', 'e:f']);
    expect(readList('')).toEqual([]);
  });

  it('read pairs, whose values may contain =', () => {
    expect(readPairs('team=siem, url=a=b')).toEqual({ team: 'siem', url: 'a=b' });
    expect(Object.keys(readPairs('__proto__=own'))).toEqual(['__proto__']);
    for (const text of ['', 'team', '=x', 'a=1,a=2']) {
      expect(() => readPairs(text), text).toThrow('--metadata');
    }
  });

  it('read whole numbers of at least 1', () => {
    expect(readCount('20', 'limit')).toBe(20);
    for (const text of ['0', '-1', '1.5', '1e3', '', '99999999999999999']) {
      expect(() => readCount(text, 'limit'), text).toThrow('--limit');
    }
  });
});
