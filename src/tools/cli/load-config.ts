/** Finds and loads the config of a service. */
import { Console } from 'node:console';
import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { within } from '../../core/thenable.js';
import { CommandError } from './command-error.js';
import { type CommandConfig, isConfig } from './define-config.js';
import { adviceOn, textOf, withoutSecrets } from './explain.js';

/** In the working directory. */
const NAMES: readonly string[] = [
  'keyscope.config.ts',
  'keyscope.config.mts',
  'keyscope.config.mjs',
  'keyscope.config.js',
];

/**
 * Loads the config. From then on, anything that it or the keyring logs goes to standard error, so
 * that standard output has only results, such as a new key.
 *
 * @param given The path from the command line; undefined to search the working directory.
 * @param timeoutMs How long loading may take, including a promise that the config exports.
 * @throws CommandError that says what to do.
 */
export async function loadConfig(
  given: string | undefined,
  timeoutMs: number,
): Promise<CommandConfig> {
  const path = given === undefined ? findConfig() : resolve(given);
  if (!existsSync(path))
    throw new CommandError('config', `Cannot find the config ${path}. ${NAME_IT}`);
  globalThis.console = new Console(process.stderr, process.stderr);
  const config = await within(timeoutMs, importDefault(path), () => {
    const cause = 'Does it wait for a database that does not answer?';
    throw new CommandError(
      'config',
      `${path} did not load within ${timeoutMs / 1_000} s. ${cause}`,
    );
  });
  const found = isConfig(config);
  if (found === 'config') return config as CommandConfig;
  const instead =
    found === 'newer'
      ? 'was made by a newer keyscope. With npx, run the command of the package that it imports'
      : 'must default-export the result of defineConfig from keyscope/cli';
  throw new CommandError('config', `${path} ${instead}.`);
}

const NAME_IT = 'Write one with `keyscope init`, or name yours with --config <path>.';

function findConfig(): string {
  const found = NAMES.map((name) => resolve(name)).filter((path) => existsSync(path));
  const [path, another] = found;
  if (path === undefined) {
    const names = NAMES.join(', ');
    throw new CommandError('config', `Cannot find a config here (${names}). ${NAME_IT}`);
  }
  if (another === undefined) return path;
  throw new CommandError(
    'config',
    `Found more than one config: ${found.join(', ')}. Keep one, or use --config <path>.`,
  );
}

/** Advice for error codes of Node. */
const ADVICE: ReadonlyMap<unknown, string> = new Map([
  [
    'ERR_UNKNOWN_FILE_EXTENSION',
    `Node ${process.version} cannot load TypeScript. Use Node 22.18 or later, rename the config ` +
      'to keyscope.config.mjs and remove its types, or set NODE_OPTIONS="--import tsx"',
  ],
  [
    'ERR_UNSUPPORTED_TYPESCRIPT_SYNTAX',
    'Node only strips types. Remove enums, namespaces and parameter properties',
  ],
]);

async function importDefault(path: string): Promise<unknown> {
  try {
    const module = (await import(pathToFileURL(path).href)) as { readonly default?: unknown };
    return await module.default;
  } catch (error) {
    const { code } = Object(error) as { readonly code?: unknown };
    const advice = ADVICE.get(code);
    const problem = advice ?? `it threw: ${withoutSecrets(textOf(error))}${adviceOn(error)}`;
    throw new CommandError('config', `Cannot load ${path}: ${problem}`);
  }
}
