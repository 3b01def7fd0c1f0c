/**
 * The algebra of sets of scope patterns, and sets as text. No decision depends on it.
 *
 * The world is open (see `scope.ts`), so every operation needs only set look-ups.
 *
 * A list has the syntax of RFC 6749 §3.3, `scope-token *( SP scope-token )`, except that the empty
 * text is the empty list. {@link formatScopes} and {@link parseScopes} are therefore inverse on
 * minimal sets of at most 256 elements and 4,096 characters.
 */
import { assert } from '../core/input.js';
import { hasWider, isCovered, MAX_SCOPES, readPatterns, segmentsOf } from '../core/scope.js';

/** The most wildcards times patterns in an intersection. This many take about 0.1 s. */
const MAX_COMBINATIONS = 100_000;

/** The most characters of a text that `parseScopes` reads. */
const MAX_TEXT = 4096;

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
 * Not checked: whether the scopes are in a catalog; see `defineScopes`.
 *
 * @param input At most 256 patterns, as a list or as a text of at most 4,096 characters.
 * @returns The minimal set: sorted, frozen, without patterns that a wildcard covers.
 * @throws TypeError if an element does not match the grammar (the message quotes the first one) or
 *   a limit is exceeded (the message names it).
 * @example
 * parseScopes('threats:read users:* users:read'); // ['threats:read', 'users:*']
 */
export function parseScopes(input: string | readonly string[]): readonly string[] {
  const list = typeof input === 'string' ? splitScopes(input) : input;
  return minimalOf(readPatterns(list, MAX_SCOPES));
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
 * Returns the unique minimal set that denotes the same scopes: sorted, without duplicates and
 * without patterns that another one covers.
 *
 * @throws TypeError on a malformed pattern.
 * @example
 * normalizeScopes(['users:read', 'users:*']); // ['users:*']
 */
export function normalizeScopes(set: readonly string[]): readonly string[] {
  return minimalOf(readPatterns(set));
}

/**
 * Checks whether `granted` denotes everything that `required` denotes. Every set covers the empty
 * set.
 *
 * Use it for authority and narrowing. It is not a guard, because either side may contain wildcards;
 * see `requireScopes`.
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
 * Returns everything that both sets denote. It combines each wildcard of `a` with all of `b`, and
 * the result may have that many elements.
 *
 * @throws TypeError on a malformed pattern, or more than 100,000 combinations.
 * @example
 * intersectScopes(['users:*'], ['*:delete', 'threats:read']); // ['users:delete']
 */
export function intersectScopes(a: readonly string[], b: readonly string[]): readonly string[] {
  const left = normalizeScopes(a);
  const right = normalizeScopes(b);
  const inRight = new Set(right);
  const wildcards = left.filter((pattern) => pattern.includes('*'));
  assert(
    wildcards.length * right.length <= MAX_COMBINATIONS,
    'scopes: too many to intersect; narrow one of the sets first',
  );
  const filled = wildcards.flatMap((pattern) =>
    right.map((other) => fillWildcards(pattern, other)),
  );
  return minimalOf([...left, ...filled].filter((candidate) => isCovered(candidate, inRight)));
}

/**
 * Replaces each `*` of `pattern` with that segment of `other`. If the two overlap, the result is
 * their intersection; if not, `other` does not cover the result.
 */
function fillWildcards(pattern: string, other: string): string {
  const own = segmentsOf(pattern);
  const filling = segmentsOf(other);
  const resource = own.resource === '*' ? filling.resource : own.resource;
  const action = own.action === '*' ? filling.action : own.action;
  return `${resource}:${action}`;
}

/**
 * Checks whether both sets denote the same scopes, however they are written.
 *
 * @throws TypeError on a malformed pattern.
 * @example
 * equalScopes(['users:*'], ['users:read', 'users:*']); // true
 */
export function equalScopes(a: readonly string[], b: readonly string[]): boolean {
  return normalizeScopes(a).join() === normalizeScopes(b).join();
}
