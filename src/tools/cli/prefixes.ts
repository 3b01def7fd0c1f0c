/** Which prefixes are looked for: those on the command line, or those of the config. */
import { CommandError, usageError } from './command-error.js';
import type { CommandConfig } from './define-config.js';
import type { Given } from './given.js';
import { isPrefix } from './is-prefix.js';
import { readList } from './values.js';

/** Reads `--prefix`; null where it is not written. */
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

/** Those that the config names. */
export function prefixesOf({ prefixes }: CommandConfig): readonly string[] {
  if (prefixes !== undefined) return prefixes;
  throw new CommandError(
    'config',
    'The config names no prefixes: write --prefix acme, or prefixes in defineConfig.',
  );
}
