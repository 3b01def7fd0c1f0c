/**
 * `.keyscopeignore`: paths to skip. It supports a small part of the syntax of `.gitignore` and
 * rejects the rest, so that no pattern is misread.
 *
 * One pattern per line. Empty lines and lines that start with `#` are skipped. `*` matches any
 * characters except `/`, `?` matches one of them, `**` any number of folders. A pattern with a `/`
 * at its start or in its middle is relative to the folder of the file; any other matches at any
 * depth. A `/` at the end matches folders only. Everything in an ignored folder is ignored.
 */
import { existsSync, readFileSync } from 'node:fs';
import { usageError } from '../command-error.js';

/** In the working directory, to which its patterns are relative. */
const IGNORE_FILE = '.keyscopeignore';

/** Whether a path, relative to the working directory and with `/`, is ignored. */
export type Ignored = (path: string) => boolean;

/** Reads the file in the working directory; without one, ignores nothing. */
export function ignoredHere(): Ignored {
  return readIgnored(existsSync(IGNORE_FILE) ? readFileSync(IGNORE_FILE, 'utf8') : '');
}

/**
 * Parses the patterns.
 *
 * @throws CommandError that names the invalid line.
 */
export function readIgnored(text: string): Ignored {
  const patterns = text.split(/\r?\n/).flatMap(readLine);
  return (path) => patterns.some((pattern) => pattern.test(path));
}

function readLine(line: string, index: number): readonly RegExp[] {
  const pattern = line.trim();
  if (pattern === '' || pattern.startsWith('#')) return [];
  if (/^!|[[\]\\{}]/.test(pattern)) {
    const instead = 'only *, ?, ** and / are special; !, [, ], {, } and \\ are not supported';
    throw usageError(`${IGNORE_FILE}, line ${index + 1}: ${instead}.`);
  }
  // Each further wildcard multiplies the matching time by the length of the path.
  const isPlain = pattern.split('**').length <= 3 && pattern.split('*').length <= 7;
  if (!isPlain) {
    throw usageError(
      `${IGNORE_FILE}, line ${index + 1}: use at most two ** and six * in one pattern.`,
    );
  }
  return [expressionOf(pattern)];
}

/** Makes an expression that matches the path itself or a folder above it. */
function expressionOf(pattern: string): RegExp {
  const isFolder = pattern.endsWith('/');
  const bare = pattern.replace(/\/$/, '');
  const isRooted = bare.includes('/');
  const parts = bare.replace(/^\//, '').split('/');
  const source = parts.map(sourceOf).join('/').replaceAll('<folders>/', '(?:[^/]+/)*');
  // At the end, it matches everything in a folder.
  const whole = source.replaceAll('<folders>', '[^]+');
  return new RegExp(`^${isRooted ? '' : '(?:[^/]+/)*'}${whole}${isFolder ? '/' : '(?:/|$)'}`);
}

function sourceOf(part: string): string {
  if (part === '**') return '<folders>';
  const escaped = part.replace(/[.+^$()|]/g, String.raw`\$&`);
  return escaped.replace(/\*+/g, '[^/]*').replaceAll('?', '[^/]');
}
