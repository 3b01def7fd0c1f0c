/**
 * The options of all subcommands: what is read, what help says and what the documentation has, and
 * how values are read. What the keyring checks itself is not checked here.
 */
import { usageError } from './command-error.js';

/** One option of the command line. */
export interface Option {
  /** What stands for its value in help; without one it is a switch. */
  readonly value?: string;
  /** A sentence for help. */
  readonly help: string;
}

/** By name. One name means the same wherever it is taken. */
export const OPTIONS = {
  config: { value: '<path>', help: 'the config; default: keyscope.config.ts, .mjs or .js here' },
  json: { help: 'print JSON: one object a line' },
  timeout: { value: '<seconds>', help: 'how long to wait for the config and for a report; 30' },
  help: { help: 'print help' },
  version: { help: 'print the version of keyscope' },
  entity: { value: '<uuid>', help: 'on whose behalf: the organization that the keys belong to' },
  actor: { value: '<text>', help: 'who acts, kept on the record; default: your login name' },
  reason: { value: '<text>', help: 'why, kept on the record' },
  yes: { help: 'ask nothing' },
  name: { value: '<text>', help: 'what people call the key' },
  scopes: { value: '<list>', help: 'scopes and patterns, by commas; "" for none' },
  expires: { value: '<when>', help: '90d, 12h, 2w, 2027-01-01, a date-time with Z, or never' },
  entities: { value: '<list>', help: 'other organizations that the key can address, by commas' },
  justification: { value: '<text>', help: 'why reserved scopes are needed' },
  metadata: { value: '<name=value,…>', help: 'pairs that belong to the integration, by commas' },
  out: { value: '<file>', help: 'write the key to a new file that only you can read' },
  overlap: { value: '<time>', help: 'how long the old key keeps working, such as 7d; 0 ends it' },
  lineage: { help: 'with what it was rotated from and what was rotated from it' },
  addressing: { help: 'the keys of others that address this organization' },
  limit: { value: '<number>', help: 'print at most so many' },
  within: { value: '<time>', help: 'how far ahead to look; 14d' },
  for: { value: '<time>', help: 'how long a scope has to be unused; 90d' },
  triggers: { value: '<yes|no>', help: 'with triggers or, for servers that have none, without' },
  write: { help: 'write the lock; reasons that are in it stay' },
  check: { help: 'compare the service with its lock, text for text; 1 if they differ' },
  against: { value: '<file>', help: 'compare it with another lock, - for input; 1 if unguarded' },
  file: { value: '<path>', help: 'the lock; default: keyscope.lock.json' },
  keys: { help: 'name the live keys that may do more' },
  framework: { value: '<name>', help: 'express, fastify or hono; default: what package.json has' },
  database: { value: '<name>', help: 'sqlite, postgres, mysql or redis; default: likewise' },
  prefix: { value: '<list>', help: 'prefixes of keys, by commas; default: those of the config' },
  diff: { help: 'standard input is a diff: look through what it adds, and through messages' },
  sarif: { help: 'print a SARIF 2.1.0 log' },
  revoke: { help: 'end the keys that were found and still work, after a question' },
} as const satisfies Readonly<Record<string, Option>>;

/** The name of an option. */
export type OptionName = keyof typeof OPTIONS;

/** Taken by every subcommand. */
export const COMMON: readonly OptionName[] = ['config', 'json', 'timeout', 'help'];

/** An option as help and the documentation show it. */
export function shownOption(name: OptionName): string {
  const { value }: Option = OPTIONS[name];
  return value === undefined ? `--${name}` : `--${name} ${value}`;
}

/** What was written behind the name of a subcommand. */
export interface Given {
  /** What stands behind the name; an empty text if it takes nothing. */
  readonly operand: string;
  /** All of them, where several may stand there. */
  readonly operands: readonly string[];
  /** The value of an option that has one. */
  text(name: OptionName): string | undefined;
  /** The same for one without which the subcommand is refused. */
  required(name: OptionName): string;
  /** Whether a switch was written. */
  flag(name: OptionName): boolean;
}

// ── Values ──────────────────────────────────────────────────────────────────────────────────────

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
