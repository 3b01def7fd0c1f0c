/**
 * Readers of the values that callers pass. Each throws a `TypeError` that says what to write
 * instead and quotes nothing that could be a secret.
 */
import { InputError } from './errors.js';
import { hasInvisible, looksLikeKey } from './masking.js';
import { isUuid } from './uuid.js';

/** The most accessible entities of a key. */
export const MAX_ENTITIES = 1000;

/** The range of a `Date`, in milliseconds before or after the epoch (ECMA-262 §21.4.1.1). */
export const MAX_TIME = 8.64e15;

/**
 * Throws a `TypeError` unless `holds`. The message quotes what was `given`; quoting takes time, so
 * it happens only on failure.
 */
export function assert(holds: boolean, instead: string, ...given: unknown[]): asserts holds {
  if (holds) return;
  const quoted = given.map((value) => `, not ${quote(value)}`);
  throw new TypeError(instead + quoted.join(''));
}

/** Throws unless `value` is a function or undefined. Not checked: what it takes and returns. */
export function assertFunction(value: unknown, name: string): void {
  const isAccepted = value === undefined || typeof value === 'function';
  assert(isAccepted, `${name}: pass a function or leave it out`);
}

/** Describes a rejected value for a message. */
export function quote(value: unknown): string {
  if (typeof value === 'string') return quoteText(value);
  if (Array.isArray(value)) return 'a list';
  // undefined, null, false, 0 and NaN
  if (!value) return String(value);
  return `a value of type ${typeof value}`;
}

/**
 * Escapes control and non-ASCII characters, and gives only the length of a long text. Masks every
 * run of 20 or more letters, digits and `% + / = _ -`: it could be part of a key or another secret.
 * A UUID, in either case, is shown.
 */
function quoteText(text: string): string {
  if (text.length > 129) return `a text of ${text.length} characters`;
  const masked = text.replace(/[0-9A-Za-z%+/=_-]{20,}/g, (run) =>
    isUuid(run.toLowerCase()) ? run : '[masked]',
  );
  return JSON.stringify(masked).replace(
    /[^ -~]/g,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}

/** Checks the tag. That excludes lists, and Map and Set, whose content would be silently lost. */
export function isObject(value: unknown): value is object {
  return Object.prototype.toString.call(value) === '[object Object]';
}

/**
 * Checks whether `value` has all of these methods, own or inherited. Drivers, caches and SDKs have
 * no brand, so keyscope recognises them by their methods.
 */
export function hasMethods(value: unknown, ...names: readonly string[]): boolean {
  const object = value as Readonly<Record<string, unknown>> | null | undefined;
  return names.every((name) => typeof object?.[name] === 'function');
}

/**
 * Checks that `value` is an object whose enumerable fields are all `known`; the error names the
 * unknown field. Returns the object itself, because a copy on every request takes time: read each
 * field once.
 */
export function readFields<Field extends string>(
  value: unknown,
  known: readonly Field[],
  what: string,
): { readonly [F in Field]?: unknown } {
  if (!isObject(value)) throw new TypeError(`${what}: pass an object with ${known.join(', ')}`);
  const names: string[] = Object.keys(value);
  const unknown = names.find((name) => !known.some((field) => field === name));
  if (unknown !== undefined) {
    throw new TypeError(
      `${what}: unknown field ${quote(unknown)}; known fields are ${known.join(', ')}`,
    );
  }
  // Inherited fields are refused, not ignored: an authority without its `scopes` would be wider.
  const hidden = known.find((name) => !names.includes(name) && name in value);
  if (hidden !== undefined) {
    throw new TypeError(
      `${what}: write ${hidden} as an own field; it is inherited or not enumerable`,
    );
  }
  return value;
}

/**
 * Reads the own properties of a table that is not empty. Put them into a Map: a name may be
 * `constructor`.
 */
export function readEntries(
  table: unknown,
  instead: string,
): readonly (readonly [string, unknown])[] {
  const isTable = Object(table) === table && !Array.isArray(table);
  const entries: [string, unknown][] = isTable ? Object.entries(table as object) : [];
  assert(entries.length > 0, instead);
  return entries;
}

/** Does what `readFields` does for input that may come from a request: throws an `InputError`. */
export function readInputFields<Field extends string>(
  value: unknown,
  known: readonly Field[],
  what: string,
): { readonly [F in Field]?: unknown } {
  return asInput('input', () => readFields(value, known, what));
}

/**
 * Reads one field of input that may come from a request. If `read` refuses the value, throws an
 * `InputError` for that field.
 */
export function readInput<Field extends string, T>(
  given: { readonly [F in Field]?: unknown },
  field: Field,
  read: (value: unknown, what: string) => T,
): T {
  return asInput(field, () => read(given[field], field));
}

function asInput<T>(field: string, read: () => T): T {
  try {
    return read();
  } catch (error) {
    if (error instanceof TypeError) throw new InputError(field, error.message);
    throw error;
  }
}

/** The rule for the elements of a list, and what to write if one breaks it. */
export interface ElementRule {
  readonly holds: (element: string) => boolean;
  readonly instead: string;
  /** The most elements in the list. Default: unlimited. */
  readonly most?: number | undefined;
}

/** Accepts any text. */
export const ANY_TEXT: ElementRule = { holds: () => true, instead: 'pass a text' };

/**
 * Copies an array of strings. Refuses holes, elements that are not strings, and texts that break
 * the rule; the error gives the index of the first one.
 */
export function readStrings(value: unknown, what: string, rule: ElementRule = ANY_TEXT): string[] {
  assert(Array.isArray(value), `${what}: pass a list of strings`, value);
  const { most = value.length } = rule;
  assert(value.length <= most, `${what}: pass at most ${most}`);
  const copy: unknown[] = [...(value as readonly unknown[])];
  const index = copy.findIndex((element) => typeof element !== 'string' || !rule.holds(element));
  assert(index === -1, `${what}: element ${index}: ${rule.instead}`, copy[index]);
  return copy as string[];
}

/**
 * Reads well-formed Unicode of 1 to `max` characters (code points), without control, invisible and
 * separator characters, and returns it in NFC. Refuses anything that looks like an API key, because
 * these texts are stored, shown and logged.
 */
export function readText(value: unknown, max: number, what: string): string {
  assert(typeof value === 'string', `${what}: pass a string`, value);
  // Checked before normalizing, which shortens a text to a quarter at most.
  assert(value.length <= 8 * max, `${what}: at most ${max} characters`);
  const normal = value.normalize('NFC');
  const { length } = [...normal];
  assert(length >= 1 && length <= max, `${what}: 1 to ${max} characters, not ${length}`);
  assert(
    !hasInvisible(normal),
    `${what}: no control, invisible or separator characters, no unpaired surrogates`,
  );
  assert(!looksLikeKey(normal), `${what}: write the id or hint of an API key, not the key`);
  return normal;
}

/** Reads a boolean. */
export function readFlag(value: unknown, what: string): boolean {
  assert(typeof value === 'boolean', `${what}: pass true or false`, value);
  return value;
}

/** Reads a whole number from `min` to `max`. */
export function readInteger(value: unknown, min: number, max: number, what: string): number {
  const number = value as number;
  const inRange = Number.isSafeInteger(number) && number >= min && number <= max;
  if (!inRange) throw new TypeError(`${what}: pass a whole number from ${min} to ${max}`);
  return number;
}

/** Reads the longest lifetime of a key, in milliseconds; infinite if not given. */
export function readMaxLifetime(value: unknown, what: string): number {
  if (value === undefined) return Number.POSITIVE_INFINITY;
  return readInteger(value, 1, Number.MAX_SAFE_INTEGER, what);
}
