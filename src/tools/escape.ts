/**
 * Escapes untrusted texts, with one function for each place where texts are shown. Key names, ids
 * and hints come from a database that others can write; paths and reasons come from a repository.
 * Every writer calls one of these functions as its last step.
 */
import { replaceInvisible } from '../core/masking.js';

// ── Terminals, logs and JSON ────────────────────────────────────────────────────────────────────

/**
 * Keeps a text on one line of a terminal or a log. Escapes invisible characters, as in `\u001b`,
 * and the marks of CI commands: `::` at the beginning, and `##[` or `##name[` anywhere. Not
 * checked: the length of the text.
 */
export function escapeLine(text: string): string {
  return replaceInvisible(text, codeOf)
    .replace(/^(\s*):(?=:)/, '$1\\u003a')
    .replace(/#(?=#[\w-]*\[)/g, '\\u0023');
}

/** Does the same for each line of our own text that contains untrusted texts. */
export function escapeLines(text: string): string {
  return text.split('\n').map(escapeLine).join('\n');
}

/**
 * Writes JSON on one line. In its strings, the escapes of `escapeLine` do not change the meaning.
 */
export function toJson(value: unknown): string {
  return escapeLine(JSON.stringify(value));
}

function codeOf(character: string): string {
  const units = character.split('').map((unit) => unit.charCodeAt(0).toString(16));
  return units.map((unit) => `\\u${unit.padStart(4, '0')}`).join('');
}

// ── Markdown ────────────────────────────────────────────────────────────────────────────────────

/** The characters with a meaning in Markdown, in table cells or in MDX. */
const MARKS = /[\\`*_{}[\]<>|~&$]/g;

/**
 * Mentions, issues and addresses, which code hosts link or send notifications for. Hosts search the
 * rendered Markdown, so a backslash does not help.
 */
const LINKED = /[@#!$%&~](?=[\w"])|:\/\/|www\.|GH-\d/i;

/** Escapes a text for a line of Markdown, so that readers see it literally. */
export function escapeMarkdown(text: string): string {
  return replaceInvisible(text).replace(/[^\s,;|]+|\|/g, (word) => {
    return LINKED.test(word) ? markdownCode(word) : word.replace(MARKS, '\\$&');
  });
}

/** The maximum length of a text in code. A host rejects a comment that is too long. */
const MAX_CODE_LENGTH = 200;

/** Writes code on one line with enough backticks (CommonMark §6.1). Not for table cells. */
export function markdownCode(value: string): string {
  // A character has at most two units.
  const beginning = String(value).slice(0, 2 * MAX_CODE_LENGTH + 2);
  const whole = [...replaceInvisible(beginning)];
  const cut = whole.length > MAX_CODE_LENGTH ? [...whole.slice(0, MAX_CODE_LENGTH), '…'] : whole;
  // Two empty backticks would open a span that ends in a later text.
  const text = cut.join('') || '(none)';
  const longest = Math.max(0, ...[...text.matchAll(/`+/g)].map(([run]) => run.length));
  const fence = '`'.repeat(longest + 1);
  const space = longest > 0 ? ' ' : '';
  return `${fence}${space}${text}${space}${fence}`;
}

// ── SARIF ───────────────────────────────────────────────────────────────────────────────────────

/** Escapes a text for a message, where `[text](target)` would be a link (SARIF 2.1.0 §3.11.6). */
export function escapeSarif(text: string): string {
  return replaceInvisible(text).replace(/[\\[\]]/g, '\\$&');
}

/** Writes a path of a repository as a relative reference (RFC 3986 §4.2). */
export function toUri(path: string): string {
  return path.toWellFormed().split('/').map(encodeURIComponent).join('/');
}
