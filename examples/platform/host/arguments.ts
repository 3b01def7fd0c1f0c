/** The command line of the demo and of the servers. */
import type { ParseArgsOptionsConfig } from 'node:util';
import { parseArgs } from 'node:util';
import { ADDRESSES } from './open-store.ts';

const ENVIRONMENT =
  'The environment variables PORT (8787) and PUBLIC_URL, how clients reach the service, ' +
  'are read as well; so are the secrets KEYSCOPE_PEPPER and KEYSCOPE_SIGNING_KEY: ' +
  'see examples/platform/README.md.';

const HELP = `
  --store <address>         keep the keys there: ${ADDRESSES}
  --help                    print this

${ENVIRONMENT}`;

const COMMON = {
  store: { type: 'string' },
  help: { type: 'boolean' },
} as const satisfies ParseArgsOptionsConfig;

export interface Arguments {
  readonly store?: string;
  /** The demo's own. */
  readonly check?: boolean;
  readonly instance?: string;
}

/**
 * Reads the command line. If it asks for help, or has unknown arguments, prints the usage and
 * returns `null`: nothing is to be started. It does not repeat what was written, because an address
 * may contain a password.
 *
 * @param own Flags accepted in addition to those that all have.
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
