/**
 * Hand-written checks of what callers hand in. Each throws a `TypeError` that says what to write instead and
 * quotes nothing that could be a secret.
 */

/** At most this many accessible entities on a key. */
export const MAX_ENTITIES = 1000;

/**
 * How a rejected value looks in a message: control and non-ASCII characters escaped, long values measured and
 * not shown, and every run that could be part of a key or of another secret (20 letters and digits or more) masked.
 */
export function quote(value: unknown): string {
  if (value === undefined || value === null) return String(value);
  if (typeof value !== 'string') return Array.isArray(value) ? 'a list' : `a value of type ${typeof value}`;
  if (value.length > 129) return `a text of ${value.length} characters`;
  const masked = JSON.stringify(value.replace(/[0-9A-Za-z+/=_-]{20,}/g, '[masked]'));
  return masked.replace(/[^ -~]/g, (c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, '0')}`);
}

/**
 * The check that the core's `TypeError`s come from: throws unless `holds`. What was `given` is quoted only then: with
 * texts put together beforehand, `issue` took 8 % longer.
 */
export function expect(holds: boolean, instead: string, ...given: unknown[]): asserts holds {
  if (!holds) throw new TypeError(instead + given.map((value) => `, not ${quote(value)}`).join(''));
}

/** For the right side of `??`, which takes no statement. */
export function raise(error: Error): never {
  throw error;
}

type Names = (value: object) => readonly PropertyKey[];

/**
 * Refuses what is no object, or has another own field than the `known` ones, and names it. By default it looks at
 * enumerable names, which V8 keeps ready: on every request, `Reflect.ownKeys` would cost 0.2 µs.
 */
export function checkFields(value: unknown, known: readonly string[], what: string, names: Names = Object.keys): void {
  expect(typeof value === 'object' && value !== null && !Array.isArray(value), `${what}: pass an object`);
  for (const name of names(value))
    if (!known.includes(name as string))
      throw new TypeError(`${what}: unknown field ${quote(String(name))}; it takes ${known.join(', ')}`);
}

/** The own fields of an object, checked and copied. */
export function fields<F extends string>(value: unknown, known: readonly F[], what: string): { [K in F]?: unknown } {
  checkFields(value, known, what, Reflect.ownKeys);
  // What a class or a prototype gives is refused and not left out: an authority without its `scopes` would be wider.
  const own = Object.assign(Object.create(null), value);
  const lost = known.find((name) => !(name in own) && name in Object(value));
  expect(lost === undefined, `${what}: write ${lost} as a field of its own; here it is inherited or not enumerable`);
  return own;
}

/** An array of strings, copied; holes, other elements and texts that do not hold are refused, the first by name. */
export function strings(value: unknown, what: string, holds = (_: string) => true, instead = 'pass a text'): string[] {
  expect(Array.isArray(value), `${what}: pass a list of strings`, value);
  const copy: unknown[] = [...value];
  const odd = copy.findIndex((element) => typeof element !== 'string' || !holds(element));
  expect(odd === -1, `${what}: element ${odd}: ${instead}`, copy[odd]);
  return copy as string[];
}

/** Well-formed Unicode of 1 to `max` characters (code points) without control characters, in NFC. */
export function text(value: unknown, max: number, what: string): string {
  expect(typeof value === 'string', `${what}: pass a string`, value);
  // A bound before the work: composing shortens a text to a quarter at the most.
  expect(value.length <= 8 * max, `${what}: at most ${max} characters`);
  const normal = value.normalize('NFC');
  const { length } = [...normal];
  expect(length >= 1 && length <= max, `${what}: 1 to ${max} characters, not ${length}`);
  expect(value.isWellFormed() && !/\p{Cc}/u.test(normal), `${what}: no control characters, no half surrogate pair`);
  return normal;
}

const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/** Whether `value` is a UUID (RFC 9562 §4) in lower case, of any version. */
export const isUuid = (value: unknown): value is string => typeof value === 'string' && UUID.test(value);

/** A list of entities that always contains `own`: that one first, then the others in the order given, each once. */
export function entityList(own: string, others: unknown, what: string): readonly string[] {
  const given = strings(others === undefined ? [] : others, what, isUuid, 'pass a UUID in lower case');
  const all = Object.freeze([...new Set([own, ...given])]);
  expect(all.length <= MAX_ENTITIES, `${what}: at most ${MAX_ENTITIES} entities, your own included`);
  return all;
}

/** When something ends: a valid `Date` after `now` as milliseconds, or the word `'never'` as null. */
export function expiry(value: unknown, now: number): number | null {
  const time = value === 'never' ? null : value instanceof Date ? new Date(value).getTime() : Number.NaN;
  expect(time === null || time > now, "expiresAt: pass a valid Date in the future, or 'never' to go without");
  return time;
}

/** A whole number from `min` to `max`. */
export function whole(value: unknown, min: number, max: number, what: string): number {
  const holds = Number.isSafeInteger(value) && Number(value) >= min && Number(value) <= max;
  expect(holds, `${what}: pass a whole number from ${min} to ${max}`);
  return Number(value);
}
