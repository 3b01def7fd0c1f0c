/** The input of a subcommand, and how subcommands read the parts that they share. */
import { userInfo } from 'node:os';
import type { Catalog } from '../../core/catalog.js';
import { isUuid } from '../../core/uuid.js';
import type { Authority } from '../../management/authority.js';
import type { Keyring } from '../../management/keyring.js';
import { type CommandError, suggest, usageError } from './command-error.js';
import { type CommandConfig, isPrefix, keyringsOf } from './define-config.js';
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
  /** How long the config or a report may take, in milliseconds. */
  readonly timeoutMs: number;
  /** Loads the config. Its `close` is called when the command ends. */
  config(): Promise<CommandConfig>;
}

const IN_MEMORY =
  'The store in your config is in memory: this command cannot see keys of other processes, ' +
  'and its changes are lost when it ends.';

/** Loads the config for a command that looks for keys; warns if the store is in memory. */
export async function configWithKeys({ config, output }: Call): Promise<CommandConfig> {
  const loaded = await config();
  if (loaded.store.isInProcess === true) output.say(IN_MEMORY);
  return loaded;
}

/** A config with the one keyring that a command uses. */
export interface ChosenConfig extends CommandConfig {
  readonly keyring: Keyring;
}

/** Does the same for a command that uses a keyring. */
export async function configWithKeyring(call: Call): Promise<ChosenConfig> {
  return chooseKeyring(call, await configWithKeys(call));
}

/** Takes the only keyring of the config, or that of `--prefix`. */
export function chooseKeyring({ given }: Call, config: CommandConfig): ChosenConfig {
  const keyrings = keyringsOf(config);
  const prefix = given.text('prefix') ?? (keyrings.length === 1 ? keyrings[0]?.prefix : undefined);
  const keyring = keyrings.find((each) => each.prefix === prefix);
  if (keyring !== undefined) return { ...config, keyring };
  const known = keyrings.map((each) => each.prefix);
  throw usageError(`--prefix: the config has keyrings for ${known.join(', ')}. Choose one.`);
}

/** A subcommand. Returns the exit code; `undefined` means 0. */
export type Run = (call: Call) => Promise<number | undefined>;

/** Reads the authority from the command line alone. */
export function authorityOf(call: Call): Authority {
  const { given } = call;
  return { entityId: given.required('entity'), ...whoOf(call) };
}

/** Reads `--entities`. */
export function entitiesOf({ given }: Call): readonly string[] | undefined {
  const text = given.text('entities');
  if (text === undefined) return undefined;
  return readList(text);
}

/**
 * Reads who acts and why, for records and events.
 *
 * @param reason The default of `--reason`.
 */
export function whoOf({ given }: Call, reason?: string): Pick<Authority, 'actor' | 'reason'> {
  return { actor: given.text('actor') ?? loginName(), reason: given.text('reason') ?? reason };
}

/**
 * Reads scopes or patterns.
 *
 * @throws CommandError that names the one that the catalog does not have.
 */
export function requireScopes(text: string, catalog: Catalog): readonly string[] {
  const patterns = readList(text);
  for (const pattern of patterns) {
    if (!matchesSome(pattern, catalog)) throw unknownScope(pattern, catalog);
  }
  return patterns;
}

function matchesSome(pattern: string, catalog: Catalog): boolean {
  try {
    return catalog.expand([pattern]).length > 0;
  } catch {
    return false;
  }
}

function unknownScope(pattern: string, { all }: Catalog): CommandError {
  // Quotes only what has the shape of a scope, because anything else could be a secret.
  const isScope = /^[a-z*][a-z0-9_*-]{0,30}(?::[a-z0-9_*-]{0,30})?$/i.test(pattern);
  const shown = isScope ? ` ${pattern}` : ' like that';
  const nearest = suggest(pattern, all);
  return usageError(
    `--scopes: the catalog has no scope${shown}.${nearest} Run \`keyscope scopes\` for a list.`,
  );
}

/** The login name. In a container, the user may have none. */
function loginName(): string {
  try {
    return userInfo().username;
  } catch {
    throw usageError('Your login has no name. Say who you are with --actor <text>.');
  }
}

/** Reads the key id, which is the operand. */
export function keyIdOf({ given }: Call): string {
  const { operand } = given;
  const lower = operand.toLowerCase();
  if (isUuid(operand)) return operand;
  const instead = isUuid(lower) ? `Write ${lower}.` : '`keyscope list` shows those in use.';
  throw usageError(`The key id is not a UUID in lower case. ${instead}`);
}

/** Reads `--prefix`; null if it is not given. */
export function readPrefixes(given: Given): readonly string[] | null {
  const text = given.text('prefix');
  if (text === undefined) return null;
  const prefixes = readList(text);
  if (prefixes.length === 0 || !prefixes.every(isPrefix)) {
    const instead = '1 to 20 of a-z, 0-9 and inner _, starting with a letter';
    throw usageError(`--prefix takes comma-separated prefixes, each ${instead}.`);
  }
  return [...new Set(prefixes)];
}

/** Returns the prefixes in the config, or those of its keyrings. */
export function prefixesOf(config: CommandConfig): readonly string[] {
  return config.prefixes ?? keyringsOf(config).map(({ prefix }) => prefix);
}
