/**
 * The options of all subcommands, with their help texts, and the parsers of their values. Anything
 * that the keyring checks is not checked here.
 */
import { usageError } from './command-error.js';

/** One option of the command line. */
export interface Option {
  /** The placeholder for its value in help; absent for a switch. */
  readonly value?: string;
  /** Whether it may be given several times. */
  readonly isList?: true;
  /** A sentence for help. */
  readonly help: string;
}

/** By name. A name means the same in every subcommand. */
export const OPTIONS = {
  config: { value: '<path>', help: 'the config file; default: keyscope.config.{mjs,js,ts,mts}' },
  json: { help: 'print JSON, one object per line' },
  timeout: { value: '<seconds>', help: 'time limit for the config, and for a report; default: 30' },
  help: { help: 'show this help; -h for short' },
  version: { help: 'print the version' },
  entity: { value: '<id>', help: 'the organization that owns the keys' },
  actor: { value: '<text>', help: 'who does this, for the audit log; default: your login name' },
  reason: { value: '<text>', help: 'why, kept on the record' },
  yes: { help: 'ask no questions' },
  name: { value: '<text>', help: 'the display name' },
  scopes: { value: '<list>', help: 'comma-separated scopes or patterns; "" for none' },
  expires: { value: '<when>', help: '90d, 12h, 2w, 2027-01-01, 2027-01-01T12:00Z or never' },
  entities: { value: '<list>', help: 'other organizations that the key may address, with commas' },
  justification: { value: '<text>', help: 'why the key needs reserved scopes' },
  metadata: { value: '<name=value,…>', help: 'comma-separated pairs for your integration' },
  github: { value: '<owner/repo>', help: 'trust jobs of GitHub Actions' },
  'repository-id': { value: '<number>', help: 'the number of the repository' },
  'owner-id': { value: '<number>', help: 'the number of its owner' },
  gitlab: { value: '<group/project>', help: 'trust jobs of GitLab CI/CD' },
  'project-id': { value: '<number>', help: 'the number of the project' },
  branch: { value: '<name>', help: 'only jobs of this branch' },
  tag: { value: '<name>', help: 'only jobs of this tag; tags can be moved' },
  environment: { value: '<name>', help: 'only jobs of this environment, as its rules admit them' },
  event: {
    value: '<list>',
    help: 'only these events; default: push,workflow_dispatch,schedule,release',
  },
  source: { value: '<list>', help: 'only these pipelines; default: push,web,schedule' },
  kubernetes: { help: 'trust pods of a service account' },
  namespace: { value: '<name>', help: 'the namespace of the service account' },
  'service-account': { value: '<name>', help: 'the service account' },
  uid: { value: '<uid>', help: 'the uid of the service account' },
  issuer: {
    value: '<url>',
    help: 'the issuer of the tokens: your own GitLab, a cluster, or another for --claim',
  },
  claim: {
    value: '<name=value>',
    isList: true,
    help: 'trust tokens with this claim; repeat it for more claims, or more values of one',
  },
  audience: {
    value: '<url>',
    help: 'the audience of createKeylessVerifier, for the lines that are printed',
  },
  out: { value: '<file>', help: 'write the key to a new file that only you can read' },
  overlap: { value: '<time>', help: 'how long the old key keeps working, such as 7d or 0' },
  lineage: { help: 'also revoke its rotations, and the keys that any of them issued' },
  addressing: { help: "list other organizations' keys that can address this one" },
  state: { value: '<list>', help: 'only keys in these states, such as live,suspended' },
  'created-by': { value: '<text>', help: 'only keys that this actor created' },
  limit: { value: '<number>', help: 'print at most this many' },
  within: { value: '<time>', help: 'how far ahead to look; default: 14d' },
  for: { value: '<time>', help: 'how long a scope must have been unused; default: 90d' },
  triggers: { value: '<yes|no>', help: 'no leaves out the triggers, only for mysql; default: yes' },
  write: { help: 'write the lock, and keep the reasons in it' },
  check: { help: 'exit with 1 if the service and its lock differ in any character' },
  against: {
    value: '<file>',
    help: 'compare with another lock (- for stdin); exit with 1 if unguarded',
  },
  file: { value: '<path>', help: 'the lock file; default: keyscope.lock.json' },
  keys: { help: 'name the live keys that gain access' },
  typescript: { help: 'write TypeScript, even if Node or package.json lacks it' },
  framework: {
    value: '<name>',
    help: 'express, fastify, hono, nest, koa, next, elysia, trpc or none',
  },
  database: { value: '<name>', help: 'sqlite, postgres, mysql or redis' },
  prefix: {
    value: '<list>',
    help: 'key prefixes; with several keyrings in the config, the one to use',
  },
  sarif: { help: 'print a SARIF 2.1.0 log' },
  revoke: { help: 'revoke the keys found that still work, after asking' },
} as const satisfies Readonly<Record<string, Option>>;

/** The name of an option. */
export type OptionName = keyof typeof OPTIONS;

/** Whether there is an option of this name. */
export function isOption(name: string): name is OptionName {
  return Object.hasOwn(OPTIONS, name);
}

/** Every subcommand takes these. */
export const COMMON: readonly OptionName[] = ['config', 'json', 'timeout', 'help'];

/** An option as help and the docs show it. */
export function shownOption(name: OptionName): string {
  const { value }: Option = OPTIONS[name];
  return value === undefined ? `--${name}` : `--${name} ${value}`;
}

/** The operands and options of a subcommand. */
export interface Given {
  /** The first operand, or an empty text. */
  readonly operand: string;
  /** All operands. */
  readonly operands: readonly string[];
  /** Returns the value of an option. */
  text(name: OptionName): string | undefined;
  /** Returns the values of an option that may be given several times. */
  texts(name: OptionName): readonly string[];
  /** Returns the value of an option that the subcommand requires. */
  required(name: OptionName): string;
  /** Whether an option is given. */
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

/** Parses a time span such as `90d` into milliseconds; `0` needs no unit. */
export function readSpan(text: string, name: OptionName): number {
  if (text === '0') return 0;
  const [, count = '', unit = ''] = /^(\d{1,6})([a-z]+)$/.exec(text) ?? [];
  const ms = UNITS.get(unit);
  if (count !== '' && ms !== undefined) return Number(count) * ms;
  const units = [...UNITS.keys()].join(', ');
  throw usageError(`--${name} takes a number and a unit (${units}), such as 90d.`);
}

/** Formats a time span as `readSpan` parses it, rounded down to a whole second. */
export function shownSpan(ms: number): string {
  const seconds = Math.floor(ms / 1_000);
  // Days read better than weeks.
  const units = [...UNITS].filter(([unit]) => unit !== 'w').reverse();
  const [unit, size] = units.find(([, each]) => seconds % (each / 1_000) === 0) ?? ['s', 1_000];
  return `${(seconds * 1_000) / size}${unit}`;
}

/** A day, or RFC 3339 with `Z` or an offset: without one, the time zone would be a guess. */
const DATE = /^\d{4}-\d\d-\d\d(?:T\d\d:\d\d(?::\d\d(?:\.\d{1,3})?)?(?:Z|[+-]\d\d:\d\d))?$/;

/** Parses an expiry: a span from now, a day (its start in UTC), a date-time, or `never`. */
export function readExpiry(text: string, now: number): Date | 'never' {
  if (text === 'never') return 'never';
  const end = readEnd(text, now);
  if (end.getTime() > now) return end;
  throw usageError('--expires must be in the future.');
}

function readEnd(text: string, now: number): Date {
  if (/^\d+[a-z]+$/.test(text)) return new Date(now + readSpan(text, 'expires'));
  const date = new Date(text);
  // V8 reads February 30 as March 2.
  const day = new Date(text.slice(0, 10));
  const isThere = !Number.isNaN(date.getTime()) && !Number.isNaN(day.getTime());
  const isDate = DATE.test(text) && isThere && day.toISOString().startsWith(text.slice(0, 10));
  if (isDate) return date;
  throw usageError('--expires takes 90d, 12h, 2w, 2027-01-01, 2027-01-01T12:00Z or never.');
}

/** Parses a list separated by commas or spaces. */
export function readList(text: string): readonly string[] {
  return text.split(/[\s,]+/).filter((element) => element !== '');
}

/** Parses comma-separated pairs. A value may contain `=`. */
export function readPairs(text: string): Readonly<Record<string, string>> {
  const pairs = text.split(',').map((pair): [string, string] => {
    const [name = '', ...rest] = pair.split('=');
    if (name.trim() === '' || rest.length === 0) {
      throw usageError('--metadata takes pairs, such as team=siem,stage=live.');
    }
    return [name.trim(), rest.join('=').trim()];
  });
  if (new Set(pairs.map(([name]) => name)).size < pairs.length) {
    throw usageError('--metadata has the same name twice. Remove one.');
  }
  // `fromEntries` defines properties, so no name reaches a prototype.
  return Object.fromEntries(pairs);
}

/** Parses a whole number of at least 1. */
export function readCount(text: string, name: OptionName): number {
  const count = Number(text);
  if (/^\d+$/.test(text) && count >= 1 && Number.isSafeInteger(count)) return count;
  throw usageError(`--${name} takes a whole number of at least 1.`);
}
