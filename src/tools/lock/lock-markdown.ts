/** What lies between two locks, for a pull request. */
import { replaceInvisible } from '../../core/masking.js';
import type { CatalogChange, KeyGain, LockDiff, RouteChange } from './diff-locks.js';

/** Of the keys that gain something, as many are named. */
const SHOWN_KEYS = 20;

/** A heading, and what it stands over: what asks for attention first. */
const SECTIONS: readonly (readonly [string, (diff: LockDiff) => readonly RouteChange[]])[] = [
  ['Without a guard', ({ unguarded }) => unguarded],
  ['Widened', ({ widened }) => widened],
  ['Added', ({ added }) => added],
  ['Narrowed', ({ narrowed }) => narrowed],
  ['Removed', ({ removed }) => removed],
  ['Changed', ({ changed }) => changed],
];

/**
 * Writes what {@link diffLocks} found as Markdown.
 *
 * @example
 * const comment = lockMarkdown(diffLocks(committed, now));
 */
export function lockMarkdown(diff: LockDiff): string {
  if (diff.isEmpty) return 'Who may call what has not changed.\n';
  const sections = SECTIONS.flatMap(([heading, of]) => {
    const changes = of(diff);
    return changes.length === 0 ? [] : [sectionOf(heading, changes.map(lineOf))];
  });
  const scopes = scopeLinesOf(diff.catalog);
  if (scopes.length > 0) sections.push(sectionOf('Scopes', scopes));
  if (diff.gains.length > 0) sections.push(keysSection(diff.gains));
  return `${sections.join('\n')}`;
}

function sectionOf(heading: string, lines: readonly string[]): string {
  return `### ${heading}\n\n${lines.join('\n')}\n`;
}

function lineOf({ route, what }: RouteChange): string {
  return `- ${codeOf(route)} ${escapeMarkdown(what)}.`;
}

const SCOPE_LINES: readonly (readonly [keyof CatalogChange, string])[] = [
  ['joined', 'is new'],
  ['left', 'is gone: keys that have it may do nothing with it'],
  ['reserved', 'is reserved now: no wildcard grants it any more'],
  ['unreserved', 'is reserved no longer: wildcards grant it'],
];

function scopeLinesOf(catalog: CatalogChange): readonly string[] {
  return SCOPE_LINES.flatMap(([kind, what]) => {
    return catalog[kind].map((scope) => `- ${codeOf(scope)} ${what}.`);
  });
}

function keysSection(gains: readonly KeyGain[]): string {
  const lines = gains.slice(0, SHOWN_KEYS).map((gain) => {
    const { keyId, prefix, hint, name, entityUuid, routes } = gain;
    const key = `${codeOf(`${prefix}_…${hint}`)} ${codeOf(name)} of ${codeOf(entityUuid)}`;
    return `- ${key} (${codeOf(keyId)}): ${routes.map(codeOf).join(', ')}`;
  });
  const left = gains.length - SHOWN_KEYS;
  if (left > 0) lines.push(`- and ${left} more`);
  return sectionOf(`Live keys that may do more (${gains.length})`, lines);
}

/**
 * In as many backticks as it takes (CommonMark §6.1), on one line. What a key is called and even
 * its ids come from a database, which others may write.
 */
function codeOf(value: string): string {
  // Two backticks with nothing between them would open a span that ends elsewhere.
  const text = replaceInvisible(String(value)) || '(none)';
  const longest = Math.max(0, ...[...text.matchAll(/`+/g)].map(([run]) => run.length));
  const fence = '`'.repeat(longest + 1);
  const space = longest > 0 ? ' ' : '';
  return `${fence}${space}${text}${space}${fence}`;
}

/** Reasons and names of operations are texts of others, and may be anything. */
function escapeMarkdown(text: string): string {
  return replaceInvisible(text).replaceAll(/[\\`*_[\]<>#&~@]/g, '\\$&');
}
