/**
 * Scopes and scope patterns: the grammar, and when one covers another.
 *
 *   pattern = segment ":" segment
 *   segment = "*" / ( %x61-7A *63( %x61-7A / DIGIT / "_" / "-" ) )   ; lower case only
 *
 * The world is open: a pattern denotes every resource and action name that could ever exist.
 * Concrete scopes therefore never add up to a wildcard, and a set covers a pattern only if one of
 * its elements does. No trimming, no case folding, no normalization.
 */
import { readStrings } from './input.js';

/** At most this many scopes on a key, or in a list or text that `parseScopes` reads. */
export const MAX_SCOPES = 256;

// ── The grammar ─────────────────────────────────────────────────────────────────────────────────

const PATTERN = /^(?:\*|[a-z][a-z0-9_-]{0,63}):(?:\*|[a-z][a-z0-9_-]{0,63})$/;

const PATTERN_RULE = {
  holds: (element: string): boolean => PATTERN.test(element),
  instead: 'write resource:action, or * for a whole segment',
};

/** Whether the whole of `value` is a concrete scope, without `*`. */
export function isScope(value: unknown): value is string {
  return typeof value === 'string' && PATTERN.test(value) && !value.includes('*');
}

/** Reads a list of any length, element by element; one bad element refuses the list. */
export function readPatterns(input: unknown): string[] {
  return readStrings(input, 'scopes', PATTERN_RULE);
}

/** The resource and the action of a valid pattern. */
export function segmentsOf(pattern: string): {
  readonly resource: string;
  readonly action: string;
} {
  const colon = pattern.indexOf(':');
  return { resource: pattern.slice(0, colon), action: pattern.slice(colon + 1) };
}

// ── Covering ────────────────────────────────────────────────────────────────────────────────────

/** Whether an element of `set` covers `pattern`; all of them are valid already. */
export function isCovered(pattern: string, set: ReadonlySet<string>): boolean {
  return set.has(pattern) || hasWider(set, pattern);
}

/**
 * Whether `set` contains one of the patterns wider than this one, of which there are at most three.
 */
export function hasWider(set: ReadonlySet<string>, pattern: string): boolean {
  const { resource, action } = segmentsOf(pattern);
  const wider = ['*:*', `${resource}:*`, `*:${action}`];
  return wider.some((candidate) => candidate !== pattern && set.has(candidate));
}
