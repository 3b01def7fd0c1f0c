/**
 * The subcommands: one table for parsing, help and the docs. Each is loaded only when it runs, so
 * that help and typos cost no more than Node itself. A file in `commands` with one subcommand
 * exports it as `run`; a file with several exports each by its name.
 */
import type { Run } from './call.js';
import { COMMON, OPTIONS, type OptionName, shownOption } from './options.js';

/** One subcommand. */
export interface Subcommand {
  /** The name and its operands, such as `show <key id>`. */
  readonly usage: string;
  /** One line for help. */
  readonly summary: string;
  /** Required options. */
  readonly needs?: readonly OptionName[];
  /** Optional ones, in addition to those that every subcommand takes. */
  readonly takes?: readonly OptionName[];
  /** Keeps stores from creating or changing tables, for a subcommand that reports on them. */
  readonly onlyLooks?: true;
  readonly load: () => Promise<Run>;
}

/** Who acts and why; and on which keyring, for a config with several. */
const WHO = ['actor', 'reason', 'prefix'] as const;

/** Whom a key without a secret trusts. */
const TRUSTED = [
  'github',
  'repository-id',
  'owner-id',
  'gitlab',
  'project-id',
  'branch',
  'tag',
  'environment',
  'event',
  'source',
  'kubernetes',
  'namespace',
  'service-account',
  'uid',
  'issuer',
  'claim',
] as const;

/** By name, in the order of help: set up, make, look, end, watch, search. */
export const SUBCOMMANDS: Readonly<Record<string, Subcommand>> = {
  init: {
    usage: 'init',
    summary: 'write a config, a guard for your framework and an example service',
    takes: ['framework', 'database', 'typescript', 'yes'],
    load: async () => (await import('./commands/init.js')).run,
  },
  migrate: {
    usage: 'migrate',
    summary: 'create the tables, or upgrade them to this release',
    load: async () => (await import('./commands/schema.js')).migrate,
  },
  schema: {
    usage: 'schema <dialect>',
    summary: 'print the tables as SQL for postgres, mysql or sqlite',
    takes: ['triggers'],
    load: async () => (await import('./commands/schema.js')).schema,
  },
  scopes: {
    usage: 'scopes',
    summary: 'list the scopes in the catalog',
    takes: ['prefix'],
    load: async () => (await import('./commands/scopes.js')).run,
  },
  issue: {
    usage: 'issue',
    summary: 'create a key and print it once',
    needs: ['entity', 'name', 'scopes', 'expires'],
    takes: ['entities', 'justification', 'metadata', 'out', ...WHO],
    load: async () => (await import('./commands/issue.js')).issue,
  },
  trust: {
    usage: 'trust',
    summary: 'create a key without a secret, for CI jobs and pods',
    needs: ['entity', 'name', 'scopes', 'expires'],
    takes: [...TRUSTED, 'audience', 'entities', 'justification', 'metadata', ...WHO],
    load: async () => (await import('./commands/trust.js')).run,
  },
  rotate: {
    usage: 'rotate <key id>',
    summary: 'replace a key with a new one, and print the new one once',
    needs: ['entity', 'overlap'],
    takes: ['name', 'scopes', 'entities', 'expires', 'justification', 'out', 'yes', ...WHO],
    load: async () => (await import('./commands/issue.js')).rotate,
  },
  list: {
    usage: 'list',
    summary: 'list keys, of one organization or of all',
    takes: ['entity', 'state', 'created-by', 'addressing', 'limit', ...WHO],
    load: async () => (await import('./commands/keys.js')).list,
  },
  show: {
    usage: 'show <key id>',
    summary: 'show everything about a key except the key itself',
    needs: ['entity'],
    takes: WHO,
    load: async () => (await import('./commands/keys.js')).show,
  },
  whois: {
    usage: 'whois',
    summary: 'find out whose key a string is; reads it from standard input',
    takes: WHO,
    load: async () => (await import('./commands/keys.js')).whois,
  },
  suspend: {
    usage: 'suspend <key id>',
    summary: 'stop a key from working until you resume it',
    needs: ['entity'],
    takes: ['yes', ...WHO],
    load: async () => (await import('./commands/keys.js')).suspend,
  },
  resume: {
    usage: 'resume <key id>',
    summary: 'let a suspended key work again',
    needs: ['entity'],
    takes: WHO,
    load: async () => (await import('./commands/keys.js')).resume,
  },
  revoke: {
    usage: 'revoke [key id]',
    summary: 'permanently end a key of --entity, or every key that you select',
    takes: ['entity', 'state', 'created-by', 'lineage', 'yes', ...WHO],
    load: async () => (await import('./commands/revoke.js')).run,
  },
  expiring: {
    usage: 'expiring',
    summary: 'list the keys that expire soon, in all organizations',
    takes: ['within'],
    load: async () => (await import('./commands/expiring.js')).run,
  },
  unused: {
    usage: 'unused',
    summary: "list the scopes that an organization's keys do not use",
    needs: ['entity'],
    takes: ['for', ...WHO],
    load: async () => (await import('./commands/unused.js')).run,
  },
  peppers: {
    usage: 'peppers',
    summary: 'count the live and suspended keys under each pepper',
    load: async () => (await import('./commands/peppers.js')).run,
  },
  lock: {
    usage: 'lock',
    summary: 'record who may call each route, and report what lets more callers in',
    takes: ['write', 'check', 'against', 'file', 'keys', 'sarif'],
    load: async () => (await import('./commands/lock.js')).run,
  },
  scan: {
    usage: 'scan [path…]',
    summary: 'find keys in files or on standard input (-); prints no key',
    takes: ['revoke', 'lineage', 'yes', ...WHO],
    load: async () => (await import('./commands/scan.js')).run,
  },
  rules: {
    usage: 'rules <scanner>',
    summary: 'print rules for gitleaks, GitHub, GitLab and other scanners',
    takes: ['prefix'],
    load: async () => (await import('./commands/rules.js')).run,
  },
  doctor: {
    usage: 'doctor',
    summary: 'check the config, the database and the peppers, and say what to fix',
    takes: ['prefix'],
    onlyLooks: true,
    load: async () => (await import('./commands/doctor.js')).run,
  },
};

// ── Help ────────────────────────────────────────────────────────────────────────────────────────

const EXITS = `Exit codes: 0 done, 1 refused or not found (scan: key found), 2 usage error,
3 config, 4 store or I/O, 5 unexpected error; 129, 130 and 143 after a signal.`;

/** Returns the help of one subcommand, or of all for `null`. */
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

Run keyscope <subcommand> --help for its options. Every subcommand takes:

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
