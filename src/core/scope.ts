/**
 * Scopes and scope patterns: the grammar, and when one covers another.
 *
 *   pattern = segment ":" segment
 *   segment = "*" / ( %x61-7A *63( %x61-7A / DIGIT / "_" / "-" ) )   ; lower case only
 *
 * The world is open: a pattern denotes every resource and action name that could ever exist.
 * Concrete scopes therefore never add up to a wildcard, and a set covers a pattern only if one of
 * its elements does. Nothing is trimmed, case-folded or normalized.
 */
import { readStrings } from './input.js';

/** The most scopes of a key, and of a list or text that `parseScopes` reads. */
export const MAX_SCOPES = 256;

// ── The grammar ─────────────────────────────────────────────────────────────────────────────────

const PATTERN = /^(?:\*|[a-z][a-z0-9_-]{0,63}):(?:\*|[a-z][a-z0-9_-]{0,63})$/;

const PATTERN_RULE = {
  holds: (element: string): boolean => PATTERN.test(element),
  instead: 'write resource:action, or * for a whole segment',
};

/** Checks whether `value` is a concrete scope, without `*`. */
export function isScope(value: unknown): value is string {
  return typeof value === 'string' && PATTERN.test(value) && !value.includes('*');
}

/** Reads a list of patterns. Throws if any element is malformed. */
export function readPatterns(input: unknown, most?: number): string[] {
  return readStrings(input, 'scopes', { ...PATTERN_RULE, most });
}

/** Splits a valid pattern into its resource and its action. */
export function segmentsOf(pattern: string): {
  readonly resource: string;
  readonly action: string;
} {
  const colon = pattern.indexOf(':');
  return { resource: pattern.slice(0, colon), action: pattern.slice(colon + 1) };
}

// ── Covering ────────────────────────────────────────────────────────────────────────────────────

/** Checks whether an element of `set` covers `pattern`. Not checked: whether they are valid. */
export function isCovered(pattern: string, set: ReadonlySet<string>): boolean {
  return set.has(pattern) || hasWider(set, pattern);
}

/** Checks whether `set` contains a wider pattern than this one. At most three exist. */
export function hasWider(set: ReadonlySet<string>, pattern: string): boolean {
  const { resource, action } = segmentsOf(pattern);
  const wider = ['*:*', `${resource}:*`, `*:${action}`];
  return wider.some((candidate) => candidate !== pattern && set.has(candidate));
}
