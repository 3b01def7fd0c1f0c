/** Finds and loads the config of a service, which is code of its own. */
import { Console } from 'node:console';
import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { within } from '../../core/thenable.js';
import { CommandError } from './command-error.js';
import { type CommandConfig, isConfig } from './define-config.js';
import { textOf, withoutSecrets } from './explain.js';

/** In the working directory. */
const NAMES: readonly string[] = [
  'keyscope.config.ts',
  'keyscope.config.mts',
  'keyscope.config.mjs',
  'keyscope.config.js',
];

/**
 * Loads the config. What it and the keyring print from now on, such as an audit log, goes to
 * standard error: standard output is for results, and a key that was made stands there alone.
 *
 * @param given The path that was written; undefined to look in the working directory.
 * @param timeoutMs How long it may take, a promise that it exports included.
 * @throws CommandError that says what to do.
 */
export async function loadConfig(
  given: string | undefined,
  timeoutMs: number,
): Promise<CommandConfig> {
  const path = given === undefined ? findConfig() : resolve(given);
  if (!existsSync(path)) throw new CommandError('config', `There is no config ${path}.`);
  globalThis.console = new Console(process.stderr, process.stderr);
  const config = await within(timeoutMs, importDefault(path), () => {
    const cause = 'does it await what never comes, such as a database that does not answer?';
    throw new CommandError(
      'config',
      `${path} has not loaded within ${timeoutMs / 1_000} s: ${cause}`,
    );
  });
  const found = isConfig(config);
  if (found === 'config') return config as CommandConfig;
  const instead =
    found === 'newer'
      ? 'was made by a newer keyscope: run the command of the package that it imports, with npx'
      : 'has to default-export what defineConfig of keyscope/cli returns';
  throw new CommandError('config', `${path} ${instead}.`);
}

function findConfig(): string {
  const found = NAMES.map((name) => resolve(name)).filter((path) => existsSync(path));
  const [path, another] = found;
  if (path === undefined) {
    const names = NAMES.join(', ');
    const instead = 'Write one with `keyscope init`, or name it with --config <path>.';
    throw new CommandError('config', `There is no config here (${names}). ${instead}`);
  }
  if (another === undefined) return path;
  throw new CommandError(
    'config',
    `There are two configs, ${found.join(' and ')}: keep one, or --config.`,
  );
}

/** What to do about an error of Node's own. */
const ADVICE: ReadonlyMap<unknown, string> = new Map([
  [
    'ERR_UNKNOWN_FILE_EXTENSION',
    `this Node (${process.version}) reads no TypeScript: use 22.18 or later, name the config ` +
      'keyscope.config.mjs and write it without types, or set NODE_OPTIONS="--import tsx"',
  ],
  [
    'ERR_UNSUPPORTED_TYPESCRIPT_SYNTAX',
    'Node only takes types off: leave out enums, namespaces and parameter properties',
  ],
]);

async function importDefault(path: string): Promise<unknown> {
  try {
    const module = (await import(pathToFileURL(path).href)) as { readonly default?: unknown };
    return await module.default;
  } catch (error) {
    const { code } = Object(error) as { readonly code?: unknown };
    const advice = ADVICE.get(code);
    const problem = advice ?? `it threw: ${withoutSecrets(textOf(error))}`;
    throw new CommandError('config', `${path} cannot be loaded: ${problem}`);
  }
}
