/** The command line of the demo and of the servers. */
import type { ParseArgsOptionsConfig } from 'node:util';
import { parseArgs } from 'node:util';
import { ADDRESSES } from './open-store.ts';

const ENVIRONMENT =
  'The environment variables PORT (default: 8787) and PUBLIC_URL, the origin at which clients ' +
  'reach the service, are optional. So are the secrets PEPPER and KEYSCOPE_SIGNING_KEY: see ' +
  'examples/platform/README.md.';

const HELP = `
  --store <address>         keep the keys in this store: ${ADDRESSES}
  --help                    print this help

${ENVIRONMENT}`;

const COMMON = {
  store: { type: 'string' },
  help: { type: 'boolean' },
} as const satisfies ParseArgsOptionsConfig;

export interface Arguments {
  readonly store?: string;
  /** Only the demo has this and the next one. */
  readonly check?: boolean;
  readonly instance?: string;
}

/**
 * Reads the command line. For `--help` and for unknown arguments it prints the usage and returns
 * `null`; then start nothing. It does not repeat the arguments, because an address may contain a
 * password.
 *
 * @param own The flags of this program, in addition to the common ones.
 */
export function readArguments(
  usage: string,
  own: ParseArgsOptionsConfig = {},
  args: readonly string[] = process.argv.slice(2),
): Arguments | null {
  try {
    const { help, ...given } = parseArgs({ args, options: { ...own, ...COMMON } }).values;
    if (!help) return given;
    console.log(`Usage: ${usage}${HELP}`);
  } catch {
    console.error(`Usage: ${usage}${HELP}`);
    process.exitCode = 1;
  }
  return null;
}
