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

/**
 * At most so many scopes on a key, or in a list or text that `parseScopes` reads, and characters in
 * such a text.
 */
export const [MAX_SCOPES, MAX_TEXT] = [256, 4096] as const;

const PATTERN = /^(?:\*|[a-z][a-z0-9_-]{0,63}):(?:\*|[a-z][a-z0-9_-]{0,63})$/;

/** Whether the whole of `it` is a concrete scope, without `*`. */
export const isScope = (it: unknown): it is string =>
  typeof it === 'string' && PATTERN.test(it) && !it.includes('*');

/** Checks a list of any length element by element; one bad element refuses the list. */
export const readPatterns = (input: unknown): string[] =>
  readStrings(input, 'scopes', {
    holds: (it) => PATTERN.test(it),
    instead: 'write resource:action, or * for a whole segment',
  });

type Scopes = readonly string[];

/** Whether `set` contains one of the patterns wider than `it`, of which there are at most three. */
const holdsWider = (set: ReadonlySet<string>, it: string): boolean =>
  ['*:*', `${it.slice(0, it.indexOf(':'))}:*`, `*${it.slice(it.indexOf(':'))}`].some(
    (w) => w !== it && set.has(w),
  );

/**
 * Returns a test of whether an element of `set` covers a pattern; all of them are valid already.
 */
export const coveredBy = (set: ReadonlySet<string>) => (one: string) =>
  set.has(one) || holdsWider(set, one);

/** The result of every operation: minimal, sorted, frozen. */
const minimal = (set: ReadonlySet<string>) =>
  Object.freeze([...set].filter((it) => !holdsWider(set, it)).sort());

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
  assert(
    typeof input !== 'string' || input.length <= MAX_TEXT,
    `scopes: at most ${MAX_TEXT} characters`,
  );
  const list = input === '' ? [] : typeof input === 'string' ? input.split(' ') : input;
  assert(
    !Array.isArray(list) || list.length <= MAX_SCOPES,
    `scopes: at most ${MAX_SCOPES} of them`,
  );
  return normalizeScopes(list);
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

/**
 * Returns the unique minimal set that denotes the same scopes: sorted, without duplicates or what
 * another one covers.
 *
 * @throws TypeError on a malformed pattern.
 * @example
 * normalizeScopes(['users:read', 'users:*']); // ['users:*']
 */
export const normalizeScopes = (set: Scopes): Scopes => minimal(new Set(readPatterns(set)));

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
export const coversScopes = (granted: Scopes, required: Scopes) =>
  equalScopes(unionScopes(granted, required), granted);

/**
 * Returns everything that either set denotes.
 *
 * @throws TypeError on a malformed pattern.
 * @example
 * unionScopes(['users:*'], ['users:read', 'threats:read']); // ['threats:read', 'users:*']
 */
export const unionScopes = (a: Scopes, b: Scopes): Scopes =>
  minimal(new Set([...readPatterns(a), ...readPatterns(b)]));

/**
 * Returns everything that both sets denote. Each wildcard of `a` is combined with all of `b`; the
 * result may have as many elements.
 *
 * @throws TypeError on a malformed pattern.
 * @example
 * intersectScopes(['users:*'], ['*:delete', 'threats:read']); // ['users:delete']
 */
export function intersectScopes(a: Scopes, b: Scopes): Scopes {
  const others = normalizeScopes(b).map((one) => one.split(':'));
  // Replaces each `*` of a pattern in `a` by that segment of one in `b`; `b` covers the result only
  // if the rest agrees.
  const meet = (one: Scopes) =>
    others.map((other) => one.map((it, i) => (it === '*' ? other[i] : it)).join(':'));
  const narrowed = normalizeScopes(a).flatMap((one) =>
    one.includes('*') ? meet(one.split(':')) : [one],
  );
  return minimal(new Set(narrowed.filter(coveredBy(new Set(readPatterns(b))))));
}

/**
 * Whether both sets denote the same scopes, however they are written.
 *
 * @throws TypeError on a malformed pattern.
 * @example
 * equalScopes(['users:*'], ['users:read', 'users:*']); // true
 */
export const equalScopes = (a: Scopes, b: Scopes): boolean =>
  normalizeScopes(a).join() === normalizeScopes(b).join();
