/**
 * Scopes and scope patterns: the grammar, and an algebra over pattern sets.
 *
 *   pattern = segment ":" segment
 *   segment = "*" / ( %x61-7A *63( %x61-7A / DIGIT / "_" / "-" ) )   ; lower case only
 *
 * The world is open: a pattern denotes every resource and action name that could ever exist. Concrete scopes
 * therefore never add up to a wildcard, and a set covers a pattern only where one of its elements does; that
 * one fact keeps every operation here to set look-ups. No trimming, no case folding, no normalization.
 * The syntax of a list is that of RFC 6749 §3.3: `scope-token *( SP scope-token )`; the empty text is the
 * empty list, so that {@link formatScopes} and {@link parseScopes} are inverse to each other.
 */
import { expect, quote, strings } from './input.js';

/** At most this many scopes on a key, in a list or in a text. */
export const MAX_SCOPES = 256;
const MAX_TEXT = 4096;

function segmentEnd(text: string, from: number): number {
  if (text.charCodeAt(from) === 42 /* * */) return from + 1;
  let i = from;
  for (; i < text.length && i - from < 64; i++) {
    const c = text.charCodeAt(i);
    const letter = c >= 97 && c <= 122;
    const inner = (c >= 48 && c <= 57) || c === 95 /* _ */ || c === 45; /* - */
    if (!letter && !(inner && i > from)) break;
  }
  return i === from ? -1 : i;
}

/** Whether the whole of `text` is a scope pattern; one linear scan. */
export function isPattern(text: string): boolean {
  const colon = segmentEnd(text, 0);
  return colon > 0 && text.charCodeAt(colon) === 58 && segmentEnd(text, colon + 1) === text.length;
}

/** Whether the whole of `text` is a concrete scope, without `*`. */
export const isScope = (text: string): boolean => isPattern(text) && !text.includes('*');

/** Checks a list of any length element by element; a bad one refuses the list. */
export function patterns(input: unknown): string[] {
  const list = strings(input, 'scopes');
  for (const element of list) {
    expect(
      isPattern(element),
      `scopes: ${quote(element)} is no scope; write resource:action, or * for a whole segment`,
    );
  }
  return list;
}

const split = (pattern: string): [string, string] => {
  const colon = pattern.indexOf(':');
  return [pattern.slice(0, colon), pattern.slice(colon + 1)];
};

/** Whether `set` holds one of the at most three patterns wider than `pattern`. */
function holdsWider(set: ReadonlySet<string>, pattern: string): boolean {
  const [resource, action] = split(pattern);
  const wider = ['*:*', `${resource}:*`, `*:${action}`];
  return wider.some((candidate) => candidate !== pattern && set.has(candidate));
}

/** Whether one element of `set` covers `pattern`; both are valid already. */
export const isCovered = (set: ReadonlySet<string>, pattern: string): boolean =>
  set.has(pattern) || holdsWider(set, pattern);

/** Every operation's result: minimal, sorted, frozen. */
function minimal(list: Iterable<string>): readonly string[] {
  const set = new Set(list);
  return Object.freeze([...set].filter((pattern) => !holdsWider(set, pattern)).sort());
}

/**
 * Reads a list of scope patterns, or the space-delimited text of RFC 6749 §3.3.
 *
 * Not checked: whether a catalog knows the scopes; see `defineScopes`.
 *
 * @param input At most 256 patterns, or a text of at most 4,096 characters.
 * @returns The minimal set: sorted, frozen, what a wildcard covers left out.
 * @throws TypeError that quotes the first element that does not match the grammar.
 * @example
 * parseScopes('threats:read users:* users:read'); // ['threats:read', 'users:*']
 */
export function parseScopes(input: string | readonly string[]): readonly string[] {
  const isText = typeof input === 'string';
  expect(!isText || input.length <= MAX_TEXT, `scopes: at most ${MAX_TEXT} characters`);
  const list = isText ? (input === '' ? [] : input.split(' ')) : input;
  expect(!Array.isArray(list) || list.length <= MAX_SCOPES, `scopes: at most ${MAX_SCOPES} of them`);
  return minimal(patterns(list));
}

/**
 * Writes a set of patterns as the space-delimited text of RFC 6749 §3.3, minimal and sorted.
 *
 * @throws TypeError on a malformed pattern, or where the text would be longer than {@link parseScopes} reads.
 * @example
 * formatScopes(['users:read', 'threats:read']); // 'threats:read users:read'
 */
export function formatScopes(set: readonly string[]): string {
  const text = normalizeScopes(set).join(' ');
  expect(text.length <= MAX_TEXT, `scopes: the text would be longer than ${MAX_TEXT} characters`);
  return text;
}

/**
 * The unique minimal set that denotes the same scopes: sorted, no duplicates, nothing that another covers.
 *
 * @throws TypeError on a malformed pattern.
 * @example
 * normalizeScopes(['users:read', 'users:*']); // ['users:*']
 */
export function normalizeScopes(set: readonly string[]): readonly string[] {
  return minimal(patterns(set));
}

/**
 * Whether `granted` denotes everything that `required` denotes. Everything covers the empty set.
 *
 * For authority and narrowing. It is no guard: a wildcard may stand on either side; see `requireScopes`.
 *
 * @throws TypeError on a malformed pattern.
 * @example
 * coversScopes(['users:*'], ['users:read']); // true
 * coversScopes(['users:read', 'users:write'], ['users:*']); // false: the world is open
 */
export function coversScopes(granted: readonly string[], required: readonly string[]): boolean {
  const set = new Set(patterns(granted));
  return patterns(required).every((pattern) => isCovered(set, pattern));
}

/**
 * Everything that either set denotes.
 *
 * @throws TypeError on a malformed pattern.
 * @example
 * unionScopes(['users:*'], ['users:read', 'threats:read']); // ['threats:read', 'users:*']
 */
export function unionScopes(a: readonly string[], b: readonly string[]): readonly string[] {
  return minimal([...patterns(a), ...patterns(b)]);
}

/**
 * Everything that both sets denote. Takes time in proportion to `a.length * b.length`, as the result may.
 *
 * @throws TypeError on a malformed pattern.
 * @example
 * intersectScopes(['users:*'], ['*:delete', 'threats:read']); // ['users:delete']
 */
export function intersectScopes(a: readonly string[], b: readonly string[]): readonly string[] {
  const others = normalizeScopes(b).map(split);
  const met: string[] = [];
  for (const [resource, action] of normalizeScopes(a).map(split)) {
    for (const other of others) {
      const sides = [meet(resource, other[0]), meet(action, other[1])];
      if (!sides.includes(null)) met.push(sides.join(':'));
    }
  }
  return minimal(met);
}

const meet = (a: string, b: string): string | null => (a === '*' || a === b ? b : b === '*' ? a : null);

/**
 * Whether both sets denote the same scopes, however they are written.
 *
 * @throws TypeError on a malformed pattern.
 * @example
 * equalScopes(['users:*'], ['users:read', 'users:*']); // true
 */
export function equalScopes(a: readonly string[], b: readonly string[]): boolean {
  const [left, right] = [normalizeScopes(a), normalizeScopes(b)];
  return left.length === right.length && left.every((pattern, i) => pattern === right[i]);
}
