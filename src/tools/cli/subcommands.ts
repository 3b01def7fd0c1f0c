/**
 * The subcommands: one table for parsing, help and the documentation. Each is loaded only when it
 * runs, so that help and a typing mistake cost no more than Node itself.
 */
import type { Run } from './call.js';
import type { OptionName } from './options.js';

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
  readonly load: () => Promise<{ readonly run: Run }>;
}

const WHO = ['actor', 'reason'] as const;

/** By name, in the order of help: set up, make, look, end, watch, search. */
export const SUBCOMMANDS: Readonly<Record<string, Subcommand>> = {
  init: {
    usage: 'init',
    summary: 'write a config, a guard for your framework and a service to start',
    takes: ['framework', 'database', 'yes'],
    load: () => import('./commands/init.js'),
  },
  migrate: {
    usage: 'migrate',
    summary: 'create the tables, or bring them to the version of this release',
    load: () => import('./commands/migrate.js'),
  },
  schema: {
    usage: 'schema <dialect>',
    summary: 'print the tables as SQL: postgres, mysql or sqlite',
    takes: ['triggers'],
    load: () => import('./commands/schema.js'),
  },
  issue: {
    usage: 'issue',
    summary: 'make a key, which is printed this once',
    needs: ['entity', 'name', 'scopes', 'expires'],
    takes: ['entities', 'justification', 'metadata', 'out', ...WHO],
    load: () => import('./commands/issue.js'),
  },
  rotate: {
    usage: 'rotate <key id>',
    summary: 'replace a key by a new one, which is printed this once',
    needs: ['entity', 'overlap'],
    takes: ['name', 'scopes', 'entities', 'expires', 'justification', 'out', 'yes', ...WHO],
    load: () => import('./commands/rotate.js'),
  },
  list: {
    usage: 'list',
    summary: 'list the keys of an organization, newest first',
    needs: ['entity'],
    takes: ['addressing', 'limit', ...WHO],
    load: () => import('./commands/list.js'),
  },
  show: {
    usage: 'show <key id>',
    summary: 'show all of a key but the key itself',
    needs: ['entity'],
    takes: WHO,
    load: () => import('./commands/show.js'),
  },
  whois: {
    usage: 'whois',
    summary: 'tell whose key a string is; reads it from standard input',
    load: () => import('./commands/whois.js'),
  },
  suspend: {
    usage: 'suspend <key id>',
    summary: 'take a key out of use until it is resumed',
    needs: ['entity'],
    takes: ['yes', ...WHO],
    load: () => import('./commands/suspend.js'),
  },
  resume: {
    usage: 'resume <key id>',
    summary: 'end a suspension',
    needs: ['entity'],
    takes: WHO,
    load: () => import('./commands/resume.js'),
  },
  revoke: {
    usage: 'revoke <key id>',
    summary: 'end a key at once and for good',
    needs: ['entity'],
    takes: ['lineage', 'yes', ...WHO],
    load: () => import('./commands/revoke.js'),
  },
  expiring: {
    usage: 'expiring',
    summary: 'list the keys of all organizations that expire soon',
    takes: ['within'],
    load: () => import('./commands/expiring.js'),
  },
  unused: {
    usage: 'unused',
    summary: "list the scopes that an organization's keys have not used",
    needs: ['entity'],
    takes: ['for', ...WHO],
    load: () => import('./commands/unused.js'),
  },
  peppers: {
    usage: 'peppers',
    summary: 'count the live keys under each pepper',
    load: () => import('./commands/peppers.js'),
  },
  lock: {
    usage: 'lock',
    summary: 'say who may call each route, and what a change of that widens',
    takes: ['write', 'check', 'against', 'file', 'keys', 'sarif'],
    load: () => import('./commands/lock.js'),
  },
  scan: {
    usage: 'scan [path…]',
    summary: 'find keys in files, a diff or standard input (-); shows none',
    takes: ['prefix', 'diff', 'sarif', 'revoke', 'lineage', 'yes', ...WHO],
    load: () => import('./commands/scan.js'),
  },
  rules: {
    usage: 'rules <scanner>',
    summary: 'print rules that find keys: gitleaks, github, gitlab and others',
    takes: ['prefix'],
    load: () => import('./commands/rules.js'),
  },
  doctor: {
    usage: 'doctor',
    summary: 'check the config, the database and the peppers, and say what to do',
    load: () => import('./commands/doctor.js'),
  },
};
