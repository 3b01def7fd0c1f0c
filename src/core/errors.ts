/**
 * The ways in which keyscope says no: a denial, an outage, and a bug of the caller, which is a
 * plain `TypeError`. The three never mix: a broken store is never reported as a bad key, nor a typo
 * as a denial.
 */

/**
 * Code → status, status phrase, the sentence that the caller gets, and whether the response carries
 * a challenge: `bare` is one without `error`, as RFC 6750 §3.1 requires if no credential was sent.
 * Codes are API and closed; sentences may change.
 */
export const DENIALS = {
  /** No `Authorization` header, or one with another auth-scheme. */
  missing_credentials: [
    401,
    'Unauthorized',
    'Send the key as "Authorization: Bearer <API_KEY>".',
    'bare',
  ],
  /** A malformed or repeated credential, or an entity that is repeated or not a UUID. */
  invalid_request: [
    400,
    'Bad Request',
    'Send one bearer credential and at most one lower-case entity UUID.',
    'error',
  ],
  /** A credential that does not authenticate. Only the server's log says why. */
  invalid_token: [
    401,
    'Unauthorized',
    'The credential is not valid: it may be mistyped, revoked or expired.',
    'error',
  ],
  /** Authenticated, but a required scope was not granted. */
  insufficient_scope: [
    403,
    'Forbidden',
    'The key was not granted a scope that this operation requires.',
    'error',
  ],
  /** Authenticated, but the key cannot address the entity. */
  entity_forbidden: [403, 'Forbidden', 'The key cannot address this entity.', 'none'],
  /** Management: more scopes or entities than the authority may grant. */
  ceiling_exceeded: [
    403,
    'Forbidden',
    'A key can carry no more than its maker may hand out.',
    'none',
  ],
  /** Management: no such key under this entity. */
  not_found: [404, 'Not Found', 'There is no such key.', 'none'],
  /** Management: the key was rotated or revoked first. */
  conflict: [409, 'Conflict', 'The key was rotated or revoked already.', 'none'],
} as const;

/** The closed union of codes; {@link DENIALS} says what each one means. */
export type AccessErrorCode = keyof typeof DENIALS;

/** Why, for the server's log only: a response that distinguished these would be an oracle. */
// biome-ignore format: several codes per line
export type DenialReason =
  | 'no_header' | 'other_scheme' | 'malformed_header' | 'malformed_entity' | 'scope_missing' | 'entity_not_accessible'
  | 'malformed_key' | 'wrong_checksum' | 'unknown_key' | 'record_tampered' | 'revoked' | 'retired' | 'expired'
  | 'token_refused' | 'scopes_beyond_authority' | 'entities_beyond_authority' | 'no_such_key' | 'already_ended';

// Brands in the global symbol registry: two copies of the package in one process recognise each
// other's errors.
const [ACCESS, STORE] = [Symbol.for('keyscope.AccessError'), Symbol.for('keyscope.StoreError')];

function hide(target: object, properties: Readonly<Record<PropertyKey, unknown>>): void {
  for (const name of Reflect.ownKeys(properties))
    Object.defineProperty(target, name, { value: properties[name] });
}

/**
 * A caller was denied. No property and no cause contains a key, header, digest, seal or pepper.
 *
 * @example
 * try { await keyring.verify(key); } catch (error) { if (isAccessError(error)) log(error.code, error.reason); }
 */
export class AccessError extends Error {
  declare readonly code: AccessErrorCode;
  /** Why, for the server's log. Not enumerable; no response contains it. */
  declare readonly reason: DenialReason;
  /** The key concerned, if one was recognised. Not enumerable. */
  declare readonly keyId: string | undefined;
  /** `insufficient_scope`: every scope that the operation needs, as in RFC 6750 §3 `scope`. */
  declare readonly requiredScopes?: readonly string[];
  /** `ceiling_exceeded`: the scopes, then the entities that the authority does not hold. */
  declare readonly excess?: readonly string[];

  constructor(
    code: AccessErrorCode,
    reason: DenialReason,
    { keyId, ...shown }: DenialDetails = {},
  ) {
    super(DENIALS[code][2]);
    Object.assign(this, { code, ...shown });
    // An edited row may contain anything as its key id.
    hide(this, {
      name: 'AccessError',
      reason,
      keyId: isUuid(keyId) ? keyId : undefined,
      [ACCESS]: true,
    });
  }
}

type DenialDetails = Partial<Pick<AccessError, 'keyId' | 'requiredScopes' | 'excess'>>;

/**
 * The store or the clock is broken; nothing is known about the credential, so nothing is allowed
 * (503). The driver's own error is in the non-enumerable `cause`: its text may quote rows, so the
 * message never contains it.
 */
export class StoreError extends Error {
  declare readonly cause: unknown;

  constructor(problem: string, cause?: unknown) {
    super(problem);
    // What `inspect` shows, even if told to call getters.
    hide(this, {
      name: 'StoreError',
      [STORE]: true,
      [Symbol.for('nodejs.util.inspect.custom')]: () => this.stack,
    });
    // An accessor, which a crash report shows without its value: a driver's text may quote rows and
    // digests.
    Object.defineProperty(this, 'cause', { get: () => cause, enumerable: false });
  }
}

/**
 * Whether `value` is an {@link AccessError}, including one from another copy of keyscope. Reads the
 * brand and the code.
 *
 * @example
 * if (isAccessError(error) && error.code === 'insufficient_scope') suggest(error.requiredScopes);
 */
export const isAccessError = (value: unknown): value is AccessError =>
  Object(value)[ACCESS] === true && Object.hasOwn(DENIALS, Object(value).code);

/**
 * Whether `value` is a {@link StoreError}, including one from another copy of keyscope.
 *
 * @example
 * if (isStoreError(error)) alert(error.message, error.cause);
 */
export const isStoreError = (value: unknown): value is StoreError => Object(value)[STORE] === true;

// ── A caller's bug ────────────────────────────────────────────────────────────────────────────────────

// Hand-written checks of what callers pass. Each throws a `TypeError` that says what to write
// instead, and quotes nothing that could be a secret.

/** At most this many accessible entities on a key. */
export const MAX_ENTITIES = 1000;

/**
 * How a rejected value appears in a message. Control and non-ASCII characters are escaped, and of a
 * long text only the length is given. Every run of 20 or more letters, digits and `+`, `/`, `=`,
 * `_` or `-` is masked: it could be part of a key or of another secret.
 */
export function quote(it: unknown): string {
  if (typeof it !== 'string')
    return Array.isArray(it) ? 'a list' : it ? `a value of type ${typeof it}` : String(it);
  if (it.length > 129) return `a text of ${it.length} characters`;
  const masked = JSON.stringify(it.replace(/[0-9A-Za-z+/=_-]{20,}/g, '[masked]'));
  return masked.replace(/[^ -~]/g, (c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, '0')}`);
}

/**
 * The check behind the core's `TypeError`s: throws unless `holds`. Only then is what was `given`
 * quoted: with the texts built beforehand, `issue` took 8 % longer.
 */
export function expect(holds: boolean, instead: string, ...given: unknown[]): asserts holds {
  if (!holds) throw new TypeError(instead + given.map((value) => `, not ${quote(value)}`).join(''));
}

/** For the right side of `??`, which does not accept a statement. */
export function raise(error: Error): never {
  throw error;
}

/** By its tag: excludes lists, and also Map and Set, whose contents would be lost silently. */
export const isObject = (it: unknown): it is object =>
  Object.prototype.toString.call(it) === '[object Object]';

/**
 * Refuses anything that is not an object or has an enumerable field other than the `known` ones,
 * and names the field. Returns the object itself, for the caller to read each field once: on every
 * request, a copy would cost 0.3 µs.
 */
export function fields<F extends string>(
  value: unknown,
  known: readonly F[],
  what: string,
): { [K in F]?: unknown } {
  if (!isObject(value)) throw new TypeError(`${what}: pass an object of ${known.join(', ')}`);
  const names: string[] = Object.keys(value);
  const odd = names.find((name) => !known.includes(name as F));
  if (odd !== undefined)
    throw new TypeError(`${what}: unknown field ${quote(odd)}; it takes ${known.join(', ')}`);
  // Fields of a class or a prototype are refused, not ignored: an authority without its `scopes`
  // would be wider.
  const lost = known.find((name) => !names.includes(name) && name in value);
  if (lost === undefined) return value;
  throw new TypeError(
    `${what}: write ${lost} as an own field; here it is inherited or not enumerable`,
  );
}

/**
 * Copies an array of strings. Refuses holes, other elements and texts that fail `holds`, and names
 * the first one.
 */
export function strings(
  value: unknown,
  what: string,
  holds = (_: string) => true,
  instead = 'pass a text',
): string[] {
  expect(Array.isArray(value), `${what}: pass a list of strings`, value);
  const copy: unknown[] = [...value];
  const odd = copy.findIndex((element) => typeof element !== 'string' || !holds(element));
  expect(odd === -1, `${what}: element ${odd}: ${instead}`, copy[odd]);
  return copy as string[];
}

/**
 * Well-formed Unicode of 1 to `max` characters (code points), without control characters, in NFC.
 */
export function text(value: unknown, max: number, what: string): string {
  expect(typeof value === 'string', `${what}: pass a string`, value);
  // Bounded before the work: NFC shortens a text to a quarter at most.
  expect(value.length <= 8 * max, `${what}: at most ${max} characters`);
  const normal = value.normalize('NFC');
  const { length } = [...normal];
  expect(length >= 1 && length <= max, `${what}: 1 to ${max} characters, not ${length}`);
  expect(
    value.isWellFormed() && !/\p{Cc}/u.test(normal),
    `${what}: no control characters, no half surrogate pair`,
  );
  return normal;
}

const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/** Whether `value` is a lower-case UUID (RFC 9562 §4) of any version. */
export const isUuid = (value: unknown): value is string =>
  typeof value === 'string' && UUID.test(value);

/**
 * A list of entities that always contains `own`: first `own`, then the others in the order given,
 * without repeats.
 */
export function entityList(
  own: string,
  others: unknown,
  what: string,
  max: number = Infinity,
): readonly string[] {
  const given = strings(
    others === undefined ? [] : others,
    what,
    isUuid,
    'pass a UUID in lower case',
  );
  const all = Object.freeze([...new Set([own, ...given])]);
  expect(all.length <= max, `${what}: at most ${max} entities, your own included`);
  return all;
}

/**
 * Reads when something ends: a valid `Date` after `now` becomes milliseconds, `'never'` becomes
 * null.
 */
export function expiry(value: unknown, now: number): number | null {
  const time =
    value === 'never' ? null : value instanceof Date ? new Date(value).getTime() : Number.NaN;
  expect(time === null || time > now, "expiresAt: pass a valid Date in the future, or 'never'");
  return time;
}

/** A whole number from `min` to `max`. */
export function whole(value: unknown, min: number, max: number, what: string): number {
  if (Number.isSafeInteger(value) && Number(value) >= min && Number(value) <= max)
    return Number(value);
  throw new TypeError(`${what}: pass a whole number from ${min} to ${max}`);
}
