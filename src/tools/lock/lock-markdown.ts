/** Writes the difference of two locks as Markdown, for a pull request. */
import { escapeMarkdown, markdownCode } from '../escape.js';
import type { CatalogChange, KeyGain, LockDiff, RouteChange } from './diff-locks.js';

/** At most this many keys are listed. */
const SHOWN_KEYS = 20;

/** The headings and their changes, the most important first. */
const SECTIONS: readonly (readonly [string, (diff: LockDiff) => readonly RouteChange[]])[] = [
  ['Without a guard', ({ unguarded }) => unguarded],
  ['Widened', ({ widened }) => widened],
  ['Added', ({ added }) => added],
  ['Narrowed', ({ narrowed }) => narrowed],
  ['Removed', ({ removed }) => removed],
  ['Changed', ({ changed }) => changed],
  ['Covered by a pattern', ({ covered }) => covered],
];

/**
 * Writes the result of {@link diffLocks} as Markdown.
 *
 * @example
 * const comment = lockMarkdown(diffLocks(committed, now));
 */
export function lockMarkdown(diff: LockDiff): string {
  const sections = SECTIONS.flatMap(([heading, of]) => {
    const changes = of(diff);
    return changes.length === 0 ? [] : [sectionOf(heading, changes.map(lineOf))];
  });
  const scopes = scopeLinesOf(diff.catalog);
  if (scopes.length > 0) sections.push(sectionOf('Scopes', scopes));
  if (diff.gains.length > 0) sections.push(keysSection(diff.gains));
  return sections.length === 0 ? 'No route, tool or scope has changed.\n' : sections.join('\n');
}

function sectionOf(heading: string, lines: readonly string[]): string {
  return `### ${heading}\n\n${lines.join('\n')}\n`;
}

function lineOf({ route, what }: RouteChange): string {
  return `- ${markdownCode(route)} ${escapeMarkdown(what)}.`;
}

const SCOPE_LINES: readonly (readonly [keyof CatalogChange, string])[] = [
  ['joined', 'is new'],
  ['left', 'was removed: it no longer allows anything'],
  ['reserved', 'is now reserved: wildcards no longer grant it'],
  ['unreserved', 'is no longer reserved: wildcards grant it'],
];

function scopeLinesOf(catalog: CatalogChange): readonly string[] {
  return SCOPE_LINES.flatMap(([kind, what]) => {
    return catalog[kind].map((scope) => `- ${markdownCode(scope)} ${what}.`);
  });
}

function keysSection(gains: readonly KeyGain[]): string {
  const lines = gains.slice(0, SHOWN_KEYS).map((gain) => {
    const { keyId, prefix, hint, name, entityId, routes } = gain;
    // Nobody has the text of a key without a hint.
    const key = markdownCode(hint === '' ? '(keyless)' : `${prefix}_…${hint}`);
    const owner = `${markdownCode(name)} of ${markdownCode(entityId)}`;
    return `- ${key} ${owner} (${markdownCode(keyId)}): ${routes.map(markdownCode).join(', ')}`;
  });
  const left = gains.length - SHOWN_KEYS;
  if (left > 0) lines.push(`- and ${left} more`);
  return sectionOf(`Live keys that may do more (${gains.length})`, lines);
}
