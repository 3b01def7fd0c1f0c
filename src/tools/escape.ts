/**
 * How a text that somebody else chose is written: one function for each place where texts end up.
 * Key names, ids and hints come from a database that others may write, paths and reasons from a
 * repository. Every writer calls one of these as its last step.
 */
import { replaceInvisible } from '../core/masking.js';

// ── Terminals, logs and JSON ────────────────────────────────────────────────────────────────────

/**
 * Keeps a text on one line of a terminal or a log. Writes invisible characters out, as `\u001b`,
 * and also what makes a CI runner take a line for a command: `::` at its beginning, and `##[` or
 * `##name[` anywhere. Not checked: how long the text is.
 */
export function escapeLine(text: string): string {
  return replaceInvisible(text, codeOf)
    .replace(/^(\s*):(?=:)/, '$1\\u003a')
    .replace(/#(?=#[\w-]*\[)/g, '\\u0023');
}

/** The same for a text of ours that has several lines, and texts of others in them. */
export function escapeLines(text: string): string {
  return text.split('\n').map(escapeLine).join('\n');
}

/** JSON on one line. Within its strings, what `escapeLine` writes out means the same. */
export function toJson(value: unknown): string {
  return escapeLine(JSON.stringify(value));
}

function codeOf(character: string): string {
  const units = character.split('').map((unit) => unit.charCodeAt(0).toString(16));
  return units.map((unit) => `\\u${unit.padStart(4, '0')}`).join('');
}

// ── Markdown ────────────────────────────────────────────────────────────────────────────────────

/** What has a meaning in Markdown, in a table's cell or in MDX. */
const MARKS = /[\\`*_{}[\]<>|~&$]/g;

/**
 * What code hosts make links of, or notify people for: mentions, issues and addresses. They look
 * for them in what Markdown has become, so that a backslash helps nothing.
 */
const LINKED = /[@#!$%&~](?=[\w"])|:\/\/|www\.|GH-\d/i;

/** Writes a text into a line of Markdown, so that it shows as it is. */
export function escapeMarkdown(text: string): string {
  return replaceInvisible(text).replace(/[^\s,;|]+|\|/g, (word) => {
    return LINKED.test(word) ? markdownCode(word) : word.replace(MARKS, '\\$&');
  });
}

/** More of a text in code is cut off: a comment that is too long is not shown at all. */
const MAX_CODE_LENGTH = 200;

/** Code on one line, in as many backticks as it takes (CommonMark §6.1). Not for a table's cell. */
export function markdownCode(value: string): string {
  const whole = [...replaceInvisible(String(value))];
  const cut = whole.length > MAX_CODE_LENGTH ? [...whole.slice(0, MAX_CODE_LENGTH), '…'] : whole;
  // Two backticks with nothing between them would open a span that ends elsewhere.
  const text = cut.join('') || '(none)';
  const longest = Math.max(0, ...[...text.matchAll(/`+/g)].map(([run]) => run.length));
  const fence = '`'.repeat(longest + 1);
  const space = longest > 0 ? ' ' : '';
  return `${fence}${space}${text}${space}${fence}`;
}

// ── SARIF ───────────────────────────────────────────────────────────────────────────────────────

/** Plain text of a message, in which `[text](target)` would be a link (SARIF 2.1.0 §3.11.6). */
export function escapeSarif(text: string): string {
  return replaceInvisible(text).replace(/[\\[\]]/g, '\\$&');
}

/** A path of a repository as a relative reference (RFC 3986 §4.2). */
export function toUri(path: string): string {
  return path.toWellFormed().split('/').map(encodeURIComponent).join('/');
}
