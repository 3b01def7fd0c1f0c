/**
 * `.keyscopeignore`: what is not looked through. A small part of what git has for `.gitignore`, so
 * that the whole of it can be said; what is not part of it is refused, and never misread.
 *
 * One pattern a line. Empty lines and lines that begin with `#` say nothing. `*` is any characters
 * but `/`, `?` is one of them, `**` is any number of folders. A pattern with a `/` at its beginning
 * or in its middle counts from the folder of the file, any other at any depth. With a `/` at its
 * end it is for folders alone. What is in an ignored folder is ignored.
 */
import { existsSync, readFileSync } from 'node:fs';
import { usageError } from '../command-error.js';

/** In the working directory, from which paths count. */
const IGNORE_FILE = '.keyscopeignore';

/** Whether a path, relative to the working directory and with `/`, is ignored. */
export type Ignored = (path: string) => boolean;

/** Those of the working directory; without a file, nothing is ignored. */
export function ignoredHere(): Ignored {
  return readIgnored(existsSync(IGNORE_FILE) ? readFileSync(IGNORE_FILE, 'utf8') : '');
}

/**
 * Reads the patterns.
 *
 * @throws CommandError that names the line which is no pattern.
 */
export function readIgnored(text: string): Ignored {
  const patterns = text.split(/\r?\n/).flatMap(readLine);
  return (path) => patterns.some((pattern) => pattern.test(path));
}

function readLine(line: string, index: number): readonly RegExp[] {
  const pattern = line.trim();
  if (pattern === '' || pattern.startsWith('#')) return [];
  if (/^!|[[\]\\{}]/.test(pattern)) {
    const instead = 'only *, ?, ** and / have a meaning here, and nothing is taken back with !';
    throw usageError(`${IGNORE_FILE}, line ${index + 1}: ${instead}.`);
  }
  // Each more would take the time of another pass over the path, for each place of the others.
  const isPlain = pattern.split('**').length <= 3 && pattern.split('*').length <= 7;
  if (!isPlain) {
    throw usageError(`${IGNORE_FILE}, line ${index + 1}: at most two ** and six * in one pattern.`);
  }
  return [expressionOf(pattern)];
}

/** Matches the path itself, or a folder above it. */
function expressionOf(pattern: string): RegExp {
  const isFolder = pattern.endsWith('/');
  const bare = pattern.replace(/\/$/, '');
  const isRooted = bare.includes('/');
  const parts = bare.replace(/^\//, '').split('/');
  const source = parts.map(sourceOf).join('/').replaceAll('<folders>/', '(?:[^/]+/)*');
  // At the end it is all that is in a folder.
  const whole = source.replaceAll('<folders>', '[^]+');
  return new RegExp(`^${isRooted ? '' : '(?:[^/]+/)*'}${whole}${isFolder ? '/' : '(?:/|$)'}`);
}

function sourceOf(part: string): string {
  if (part === '**') return '<folders>';
  const escaped = part.replace(/[.+^$()|]/g, String.raw`\$&`);
  return escaped.replace(/\*+/g, '[^/]*').replaceAll('?', '[^/]');
}
