/**
 * The subcommands: one table for parsing, help and the documentation. Each is loaded only when it
 * runs, so that help and a typing mistake cost no more than Node itself. A file of `commands` that
 * has one of them exports it as `run`; one that has several exports each by its name.
 */
import type { Run } from './call.js';
import { COMMON, OPTIONS, type OptionName, shownOption } from './options.js';

/** One subcommand. */
export interface Subcommand {
  /** What is written, with what has to stand behind it, such as `show <key id>`. */
  readonly usage: string;
  /** A line for help. */
  readonly summary: string;
  /** Without these it is refused. */
  readonly needs?: readonly OptionName[];
  /** Taken beside those that all take. */
  readonly takes?: readonly OptionName[];
  /** Whether stores create and change no tables for it, because it says whether they are there. */
  readonly onlyLooks?: true;
  readonly load: () => Promise<Run>;
}

const WHO = ['actor', 'reason'] as const;

/** By name, in the order of help: set up, make, look, end, watch, search. */
export const SUBCOMMANDS: Readonly<Record<string, Subcommand>> = {
  init: {
    usage: 'init',
    summary: 'write a config, a guard for your framework and a service to start',
    takes: ['framework', 'database', 'yes'],
    load: async () => (await import('./commands/init.js')).run,
  },
  migrate: {
    usage: 'migrate',
    summary: 'create the tables, or bring them to the version of this release',
    load: async () => (await import('./commands/schema.js')).migrate,
  },
  schema: {
    usage: 'schema <dialect>',
    summary: 'print the tables as SQL: postgres, mysql or sqlite',
    takes: ['triggers'],
    load: async () => (await import('./commands/schema.js')).schema,
  },
  issue: {
    usage: 'issue',
    summary: 'make a key, which is printed this once',
    needs: ['entity', 'name', 'scopes', 'expires'],
    takes: ['entities', 'justification', 'metadata', 'out', ...WHO],
    load: async () => (await import('./commands/issue.js')).issue,
  },
  rotate: {
    usage: 'rotate <key id>',
    summary: 'replace a key by a new one, which is printed this once',
    needs: ['entity', 'overlap'],
    takes: ['name', 'scopes', 'entities', 'expires', 'justification', 'out', 'yes', ...WHO],
    load: async () => (await import('./commands/issue.js')).rotate,
  },
  list: {
    usage: 'list',
    summary: 'list the keys of an organization, newest first',
    needs: ['entity'],
    takes: ['addressing', 'limit', ...WHO],
    load: async () => (await import('./commands/keys.js')).list,
  },
  show: {
    usage: 'show <key id>',
    summary: 'show all of a key but the key itself',
    needs: ['entity'],
    takes: WHO,
    load: async () => (await import('./commands/keys.js')).show,
  },
  whois: {
    usage: 'whois',
    summary: 'tell whose key a string is; reads it from standard input',
    takes: WHO,
    load: async () => (await import('./commands/keys.js')).whois,
  },
  suspend: {
    usage: 'suspend <key id>',
    summary: 'take a key out of use until it is resumed',
    needs: ['entity'],
    takes: ['yes', ...WHO],
    load: async () => (await import('./commands/keys.js')).suspend,
  },
  resume: {
    usage: 'resume <key id>',
    summary: 'end a suspension',
    needs: ['entity'],
    takes: WHO,
    load: async () => (await import('./commands/keys.js')).resume,
  },
  revoke: {
    usage: 'revoke <key id>',
    summary: 'end a key at once and for good',
    needs: ['entity'],
    takes: ['lineage', 'yes', ...WHO],
    load: async () => (await import('./commands/keys.js')).revoke,
  },
  expiring: {
    usage: 'expiring',
    summary: 'list the keys of all organizations that expire soon',
    takes: ['within'],
    load: async () => (await import('./commands/expiring.js')).run,
  },
  unused: {
    usage: 'unused',
    summary: "list the scopes that an organization's keys have not used",
    needs: ['entity'],
    takes: ['for', ...WHO],
    load: async () => (await import('./commands/unused.js')).run,
  },
  peppers: {
    usage: 'peppers',
    summary: 'count the keys under each pepper that work or can be resumed',
    load: async () => (await import('./commands/peppers.js')).run,
  },
  lock: {
    usage: 'lock',
    summary: 'say who may call each route, and what a change of that widens',
    takes: ['write', 'check', 'against', 'file', 'keys', 'sarif'],
    load: async () => (await import('./commands/lock.js')).run,
  },
  scan: {
    usage: 'scan [path…]',
    summary: 'find keys in files, a diff or standard input (-); shows none',
    takes: ['prefix', 'diff', 'sarif', 'revoke', 'lineage', 'yes', ...WHO],
    load: async () => (await import('./commands/scan.js')).run,
  },
  rules: {
    usage: 'rules <scanner>',
    summary: 'print rules that find keys: gitleaks, github, gitlab and others',
    takes: ['prefix'],
    load: async () => (await import('./commands/rules.js')).run,
  },
  doctor: {
    usage: 'doctor',
    summary: 'check the config, the database and the peppers, and say what to do',
    onlyLooks: true,
    load: async () => (await import('./commands/doctor.js')).run,
  },
};

// ── Help ────────────────────────────────────────────────────────────────────────────────────────

const EXITS = `Exit codes: 0 done, 1 refused or not found (scan: found), 2 wrong usage,
3 config, 4 store, input or output, 5 a fault; 129, 130 and 143 after a signal.`;

/** What `keyscope --help` prints, or `keyscope <subcommand> --help`. */
export function helpFor(subcommand: Subcommand | null): string {
  return subcommand === null ? helpForAll() : helpForOne(subcommand);
}

function helpForAll(): string {
  const lines = Object.entries(SUBCOMMANDS).map(([name, { summary }]): [string, string] => [
    name,
    summary,
  ]);
  return `Usage: keyscope <subcommand> [options]

${columns(lines)}

keyscope <subcommand> --help lists its options. Every one takes:

${optionsOf(COMMON)}

${EXITS}
`;
}

function helpForOne({ usage, summary, needs = [], takes = [] }: Subcommand): string {
  const words = ['keyscope', usage, ...needs.map(shownOption), '[options]'];
  return `Usage: ${words.join(' ')}

  ${summary}

${optionsOf([...needs, ...takes, ...COMMON])}
`;
}

function optionsOf(names: readonly OptionName[]): string {
  return columns(names.map((name): [string, string] => [shownOption(name), OPTIONS[name].help]));
}

function columns(lines: readonly (readonly [string, string])[]): string {
  const width = Math.max(...lines.map(([left]) => left.length));
  return lines.map(([left, right]) => `  ${left.padEnd(width)}  ${right}`).join('\n');
}
