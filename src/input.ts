/**
 * Hand-written checks of what callers hand in. Each throws a `TypeError` that says what to write instead and
 * quotes nothing that could be a secret. `isUuid` is on the path of every request: no regular expression there.
 */

/** At most this many accessible entities on a key. */
export const MAX_ENTITIES = 1000;

/**
 * How a rejected value looks in a message: control and non-ASCII characters escaped, long values measured and
 * not shown, and every run that could be part of a key (20 letters and digits or more) masked.
 */
export function quote(value: unknown): string {
  if (typeof value !== 'string') {
    return value === null ? 'null' : Array.isArray(value) ? 'a list' : `a value of type ${typeof value}`;
  }
  if (value.length > 129) return `a text of ${value.length} characters`;
  const escaped = JSON.stringify(value.replace(/[0-9A-Za-z]{20,}/g, '[masked]'));
  const code = (c: string) => `\\u${c.charCodeAt(0).toString(16).padStart(4, '0')}`;
  return escaped.replace(/[^ -~]/g, code);
}

/** The check that every `TypeError` of the core comes from: throws unless `holds`. */
export function expect(holds: boolean, instead: string): asserts holds {
  if (!holds) throw new TypeError(instead);
}

/** A plain object with no other than the `known` own fields; anything else is named and refused. */
export function fields<Known extends string>(
  value: unknown,
  known: readonly Known[],
  what: string,
): Readonly<Partial<Record<Known, unknown>>> {
  expect(typeof value === 'object' && value !== null && !Array.isArray(value), `${what}: pass an object`);
  for (const name of Reflect.ownKeys(value)) {
    const ok = known.includes(name as Known);
    expect(ok, `${what}: unknown field ${quote(String(name))}; it takes ${known.join(', ')}`);
  }
  // A null prototype, own fields only: an inherited `scopes` is not a given one.
  return Object.assign(Object.create(null), value);
}

/** An array of strings, copied; holes and other elements are refused. */
export function strings(value: unknown, what: string): string[] {
  expect(Array.isArray(value), `${what}: pass a list of strings, not ${quote(value)}`);
  const list: unknown[] = Array.from(value);
  const odd = list.findIndex((element) => typeof element !== 'string');
  expect(odd === -1, `${what}: element ${odd} is ${quote(list[odd])}; pass strings`);
  return list as string[];
}

/** Well-formed Unicode of 1 to `max` characters (code points) without control characters, in NFC. */
export function text(value: unknown, max: number, what: string): string {
  expect(typeof value === 'string', `${what}: pass a string, not ${quote(value)}`);
  // A bound before the work: composing shortens a text to a quarter at the most.
  expect(value.length <= 8 * max, `${what}: at most ${max} characters`);
  expect(value.isWellFormed(), `${what}: holds half a surrogate pair`);
  const normal = value.normalize('NFC');
  const length = [...normal].length;
  expect(length >= 1 && length <= max, `${what}: 1 to ${max} characters, not ${length}`);
  expect(!/\p{Cc}/u.test(normal), `${what}: no control characters`);
  return normal;
}

/** Whether `value` is a UUID (RFC 9562 §4) in lower case, of any version. */
export function isUuid(value: unknown): value is string {
  if (typeof value !== 'string' || value.length !== 36) return false;
  for (let i = 0; i < 36; i++) {
    const c = value.charCodeAt(i);
    const dash = i === 8 || i === 13 || i === 18 || i === 23;
    const hex = (c >= 48 && c <= 57) || (c >= 97 && c <= 102);
    if (dash ? c !== 45 : !hex) return false;
  }
  return true;
}

/** A UUID in lower case. */
export function uuid(value: unknown, what: string): string {
  expect(isUuid(value), `${what}: pass a UUID in lower case, not ${quote(value)}`);
  return value;
}

/** The own entity first, then the others in the order given, each once. */
export function entityList(own: string, others: unknown, what: string): readonly string[] {
  const list = others === undefined ? [] : strings(others, what);
  expect(list.length <= MAX_ENTITIES, `${what}: at most ${MAX_ENTITIES} entities`);
  for (const entity of list) uuid(entity, what);
  const all = [...new Set([own, ...list])];
  expect(all.length <= MAX_ENTITIES, `${what}: at most ${MAX_ENTITIES} entities, your own included`);
  return Object.freeze(all);
}

/** A whole number from `min` to `max`. */
export function whole(value: unknown, min: number, max: number, what: string): number {
  const ok = Number.isSafeInteger(value) && (value as number) >= min && (value as number) <= max;
  expect(ok, `${what}: pass a whole number from ${min} to ${max}`);
  return value as number;
}

/** When a key ends: a valid `Date` after `now` as milliseconds, or the word `'never'` as null. */
export function expiry(value: unknown, now: number): number | null {
  if (value === 'never') return null;
  const time = value instanceof Date ? value.getTime() : Number.NaN;
  expect(!Number.isNaN(time), "expiresAt: pass a valid Date, or 'never' to go without");
  expect(time > now, 'expiresAt: pass a Date in the future');
  return time;
}

/** A function, or undefined where it was left out. */
export function optionalFunction<F>(value: F, what: string): F {
  expect(value === undefined || typeof value === 'function', `${what}: pass a function or leave it out`);
  return value;
}
