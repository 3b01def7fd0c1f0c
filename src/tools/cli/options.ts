/** The options of all subcommands: what is read, what help says and what the documentation has. */

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
  git: { help: 'look through the whole history: every commit, file and message' },
  staged: { help: 'look through what is staged for the next commit' },
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
