/**
 * Scopes and scope patterns: the grammar, and an algebra over pattern sets.
 *
 *   pattern = segment ":" segment
 *   segment = "*" / ( %x61-7A *63( %x61-7A / DIGIT / "_" / "-" ) )   ; lower case only
 *
 * The world is open: a pattern denotes every resource and action name that could ever exist.
 * Concrete scopes therefore never add up to a wildcard, and a set covers a pattern only if one of
 * its elements does. Because of this, every operation here needs only set look-ups. No trimming, no
 * case folding, no normalization.
 *
 * The syntax of a list is that of RFC 6749 §3.3, `scope-token *( SP scope-token )`, and the empty
 * text is the empty list. Thus {@link formatScopes} and {@link parseScopes} are inverse on minimal
 * sets of at most 256 elements and 4,096 characters.
 */
import { assert, readStrings } from './input.js';

/** At most this many scopes on a key, or in a list or text that `parseScopes` reads. */
export const MAX_SCOPES = 256;
/** At most this many characters in a text that `parseScopes` reads. */
const MAX_TEXT = 4096;

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
function segmentsOf(pattern: string): { readonly resource: string; readonly action: string } {
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
function hasWider(set: ReadonlySet<string>, pattern: string): boolean {
  const { resource, action } = segmentsOf(pattern);
  const wider = ['*:*', `${resource}:*`, `*:${action}`];
  return wider.some((candidate) => candidate !== pattern && set.has(candidate));
}

/** The result of every operation: minimal, sorted, frozen. */
function minimalOf(patterns: Iterable<string>): readonly string[] {
  const set = new Set(patterns);
  const widest = [...set].filter((pattern) => !hasWider(set, pattern));
  return Object.freeze(widest.sort());
}

// ── Text ────────────────────────────────────────────────────────────────────────────────────────

/**
 * Reads a list of scope patterns, or the space-delimited text of RFC 6749 §3.3.
 *
 * Not checked: whether a catalog has the scopes; see `defineScopes`.
 *
 * @param input At most 256 patterns, as a list or as a text of at most 4,096 characters.
 * @returns The minimal set: sorted, frozen, without what a wildcard covers.
 * @throws TypeError that quotes the first element that does not match the grammar, or names the
 *   limit exceeded.
 * @example
 * parseScopes('threats:read users:* users:read'); // ['threats:read', 'users:*']
 */
export function parseScopes(input: string | readonly string[]): readonly string[] {
  const list = typeof input === 'string' ? splitScopes(input) : input;
  const isShort = !Array.isArray(list) || list.length <= MAX_SCOPES;
  assert(isShort, `scopes: at most ${MAX_SCOPES} of them`);
  return normalizeScopes(list);
}

function splitScopes(text: string): readonly string[] {
  assert(text.length <= MAX_TEXT, `scopes: at most ${MAX_TEXT} characters`);
  return text === '' ? [] : text.split(' ');
}

/**
 * Writes a set of patterns as the space-delimited text of RFC 6749 §3.3, minimal and sorted.
 *
 * Not checked: the number of patterns. {@link parseScopes} refuses a text of more than 256.
 *
 * @throws TypeError on a malformed pattern, or if the text would be longer than 4,096 characters.
 * @example
 * formatScopes(['users:read', 'threats:read']); // 'threats:read users:read'
 */
export function formatScopes(set: readonly string[]): string {
  const text = normalizeScopes(set).join(' ');
  assert(text.length <= MAX_TEXT, `scopes: the text would be longer than ${MAX_TEXT} characters`);
  return text;
}

// ── The algebra ─────────────────────────────────────────────────────────────────────────────────

/**
 * Returns the unique minimal set that denotes the same scopes: sorted, without duplicates or what
 * another one covers.
 *
 * @throws TypeError on a malformed pattern.
 * @example
 * normalizeScopes(['users:read', 'users:*']); // ['users:*']
 */
export function normalizeScopes(set: readonly string[]): readonly string[] {
  return minimalOf(readPatterns(set));
}

/**
 * Whether `granted` denotes everything that `required` denotes. Every set covers the empty set.
 *
 * For authority and narrowing. Not a guard, because either side may contain wildcards; see
 * `requireScopes`.
 *
 * @throws TypeError on a malformed pattern.
 * @example
 * coversScopes(['users:*'], ['users:read']); // true
 * coversScopes(['users:read', 'users:write'], ['users:*']); // false: the world is open
 */
export function coversScopes(granted: readonly string[], required: readonly string[]): boolean {
  const held = new Set(readPatterns(granted));
  return readPatterns(required).every((pattern) => isCovered(pattern, held));
}

/**
 * Returns everything that either set denotes.
 *
 * @throws TypeError on a malformed pattern.
 * @example
 * unionScopes(['users:*'], ['users:read', 'threats:read']); // ['threats:read', 'users:*']
 */
export function unionScopes(a: readonly string[], b: readonly string[]): readonly string[] {
  return minimalOf([...readPatterns(a), ...readPatterns(b)]);
}

/**
 * Returns everything that both sets denote. Each wildcard of `a` is combined with all of `b`; the
 * result may have as many elements.
 *
 * @throws TypeError on a malformed pattern.
 * @example
 * intersectScopes(['users:*'], ['*:delete', 'threats:read']); // ['users:delete']
 */
export function intersectScopes(a: readonly string[], b: readonly string[]): readonly string[] {
  const left = normalizeScopes(a);
  const right = normalizeScopes(b);
  const inRight = new Set(right);
  const candidates = left.flatMap((pattern) =>
    pattern.includes('*') ? right.map((other) => fillWildcards(pattern, other)) : [pattern],
  );
  return minimalOf(candidates.filter((candidate) => isCovered(candidate, inRight)));
}

/**
 * Replaces each `*` of `pattern` by that segment of `other`. If the two overlap, the result is what
 * they have in common; if not, `other` does not cover the result.
 */
function fillWildcards(pattern: string, other: string): string {
  const own = segmentsOf(pattern);
  const filling = segmentsOf(other);
  const resource = own.resource === '*' ? filling.resource : own.resource;
  const action = own.action === '*' ? filling.action : own.action;
  return `${resource}:${action}`;
}

/**
 * Whether both sets denote the same scopes, however they are written.
 *
 * @throws TypeError on a malformed pattern.
 * @example
 * equalScopes(['users:*'], ['users:read', 'users:*']); // true
 */
export function equalScopes(a: readonly string[], b: readonly string[]): boolean {
  return normalizeScopes(a).join() === normalizeScopes(b).join();
}
