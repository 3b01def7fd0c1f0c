/** What a subcommand gets, and what several of them make of it. */
import { userInfo } from 'node:os';
import { isUuid } from '../../core/uuid.js';
import type { Authority } from '../../management/authority.js';
import { CommandError, usageError } from './command-error.js';
import { type CommandConfig, isPrefix } from './define-config.js';
import type { Interrupts } from './interrupts.js';
import { type Given, readList } from './options.js';
import type { Output } from './output.js';
import type { Terminal } from './terminal.js';

/** One run of a subcommand. */
export interface Call {
  readonly given: Given;
  readonly output: Output;
  readonly terminal: Terminal;
  readonly interrupts: Interrupts;
  /** How long the config and a report may take, in milliseconds. */
  readonly timeoutMs: number;
  /** Loads the config. What it opened is closed when the command ends. */
  config(): Promise<CommandConfig>;
}

const IN_MEMORY =
  'The store of the config is in memory: this command sees no key of any other process, ' +
  'and what it changes ends with it.';

/** Loads the config for a command that looks for keys; says where it can find none. */
export async function configWithKeys({ config, output }: Call): Promise<CommandConfig> {
  const loaded = await config();
  if (loaded.store.isInProcess === true) output.say(IN_MEMORY);
  return loaded;
}

/** A subcommand. What it returns is what the process exits with; by default 0. */
export type Run = (call: Call) => Promise<number | undefined>;

/** On whose behalf and who: from the command line alone. */
export function authorityOf(call: Call): Authority {
  const { given } = call;
  const entityUuid = given.required('entity');
  if (!isUuid(entityUuid)) throw usageError('--entity: write a UUID in lower case.');
  return { entityUuid, ...whoOf(call) };
}

/**
 * Who acts and why, for records and events.
 *
 * @param reason Why, where `--reason` is not written.
 */
export function whoOf({ given }: Call, reason?: string): Pick<Authority, 'actor' | 'reason'> {
  return { actor: given.text('actor') ?? loginName(), reason: given.text('reason') ?? reason };
}

/** Who is logged in. Not in a container whose user has no name. */
function loginName(): string {
  try {
    return userInfo().username;
  } catch {
    throw usageError('Your login has no name: say who you are with --actor <text>.');
  }
}

/** The key id behind the name of a subcommand. */
export function keyIdOf({ given }: Call): string {
  if (isUuid(given.operand)) return given.operand;
  throw usageError('A key id is a UUID in lower case, as `keyscope list` shows it.');
}

/** Reads the prefixes that `--prefix` names; null where it is not written. */
export function readPrefixes(given: Given): readonly string[] | null {
  const text = given.text('prefix');
  if (text === undefined) return null;
  const prefixes = readList(text);
  if (prefixes.length === 0 || !prefixes.every(isPrefix)) {
    const instead = '1 to 20 of a-z, 0-9 and inner _, beginning with a letter; several by commas';
    throw usageError(`--prefix: ${instead}.`);
  }
  return [...new Set(prefixes)];
}

/** The prefixes that the config names. */
export function prefixesOf({ prefixes }: CommandConfig): readonly string[] {
  if (prefixes !== undefined) return prefixes;
  throw new CommandError(
    'config',
    'The config names no prefixes: write --prefix acme, or prefixes in defineConfig.',
  );
}
