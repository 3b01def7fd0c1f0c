/** Reads the values of options. What the keyring checks itself is not checked here. */
import { usageError } from './command-error.js';
import type { OptionName } from './options.js';

const UNITS: ReadonlyMap<string, number> = new Map([
  ['s', 1_000],
  ['min', 60_000],
  ['h', 3_600_000],
  ['d', 86_400_000],
  ['w', 7 * 86_400_000],
]);

/** Reads a span of time such as `90d`, in milliseconds; `0` needs no unit. */
export function readSpan(text: string, name: OptionName): number {
  if (text === '0') return 0;
  const [, count = '', unit = ''] = /^(\d{1,6})([a-z]+)$/.exec(text) ?? [];
  const ms = UNITS.get(unit);
  if (count !== '' && ms !== undefined) return Number(count) * ms;
  const units = [...UNITS.keys()].join(', ');
  throw usageError(`--${name}: write a number and a unit (${units}), such as 90d.`);
}

/** A day, or RFC 3339 with `Z` or an offset: a time without one would be read in some zone. */
const DATE = /^\d{4}-\d\d-\d\d(?:T\d\d:\d\d(?::\d\d(?:\.\d{1,3})?)?(?:Z|[+-]\d\d:\d\d))?$/;

/** Reads when a key ends by itself: a span from now, a day (its beginning in UTC), or `never`. */
export function readExpiry(text: string, now: number): Date | 'never' {
  if (text === 'never') return 'never';
  if (/^\d+[a-z]+$/.test(text)) return new Date(now + readSpan(text, 'expires'));
  const date = new Date(text);
  // V8 takes the 30th of February for the 2nd of March.
  const day = new Date(text.slice(0, 10));
  const isThere = !Number.isNaN(date.getTime()) && !Number.isNaN(day.getTime());
  const isDate = DATE.test(text) && isThere && day.toISOString().startsWith(text.slice(0, 10));
  if (isDate) return date;
  const instead = 'write 90d, 12h, 2w, 2027-01-01, 2027-01-01T12:00Z or never.';
  throw usageError(`--expires: ${instead}`);
}

/** Reads a list: elements by commas or spaces. */
export function readList(text: string): readonly string[] {
  return text.split(/[\s,]+/).filter((element) => element !== '');
}

/** Reads pairs by commas. A value may hold `=`. */
export function readPairs(text: string): Readonly<Record<string, string>> {
  const pairs = text.split(',').map((pair): [string, string] => {
    const [name = '', ...rest] = pair.split('=');
    if (name.trim() === '' || rest.length === 0) {
      throw usageError('--metadata: write pairs, such as team=siem,stage=live.');
    }
    return [name.trim(), rest.join('=').trim()];
  });
  if (new Set(pairs.map(([name]) => name)).size < pairs.length) {
    throw usageError('--metadata: a name is written twice.');
  }
  // `fromEntries` defines properties, so no name reaches a prototype.
  return Object.fromEntries(pairs);
}

/** Reads a whole number of at least 1. */
export function readCount(text: string, name: OptionName): number {
  const count = Number(text);
  if (/^\d+$/.test(text) && count >= 1 && Number.isSafeInteger(count)) return count;
  throw usageError(`--${name}: write a whole number of at least 1.`);
}
