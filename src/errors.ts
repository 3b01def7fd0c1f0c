/**
 * The two ways in which keyscope says no. A third channel, a caller's bug, is a plain `TypeError`.
 * The three never mix: a broken store is never reported as a bad key, nor a typo as a denial.
 */

/**
 * Code → status, status phrase, the sentence that the caller gets, and whether the answer carries a challenge:
 * `bare` without `error`, as RFC 6750 §3.1 wants it where no credential was sent. Codes are API and closed; sentences
 * may change.
 */
export const DENIALS = {
  /** No `Authorization` header, or one with another auth-scheme. */
  missing_credentials: [401, 'Unauthorized', 'Send the key as "Authorization: Bearer <API_KEY>".', 'bare'],
  /** A malformed or repeated credential, or an entity that is repeated or no UUID. */
  invalid_request: [400, 'Bad Request', 'Send one bearer credential and at most one entity, a UUID.', 'error'],
  /** A credential that does not authenticate; outside the server's log nobody learns why. */
  invalid_token: [401, 'Unauthorized', 'The credential is not valid: it may be mistyped, revoked or expired.', 'error'],
  /** Authenticated, but a required scope was not granted. */
  insufficient_scope: [403, 'Forbidden', 'The key was not granted a scope that this operation requires.', 'error'],
  /** Authenticated, but the entity is not among those that the key can address. */
  entity_forbidden: [403, 'Forbidden', 'The key cannot address this entity.', 'none'],
  /** Management: more scopes or entities than the authority may hand out. */
  ceiling_exceeded: [403, 'Forbidden', 'A key can carry no more than its maker may hand out.', 'none'],
  /** Management: no such key under this entity. */
  not_found: [404, 'Not Found', 'There is no such key.', 'none'],
  /** Management: somebody else ended the key first. */
  conflict: [409, 'Conflict', 'The key was ended by somebody else in the meantime.', 'none'],
} as const;

/** The closed union of codes; what each means stands in {@link DENIALS}. */
export type AccessErrorCode = keyof typeof DENIALS;

/** Why, for the server's log only: a response that told these apart would be an oracle. */
// biome-ignore format: one line a code
export type DenialReason =
  | 'no_header' | 'other_scheme' | 'malformed_header' | 'malformed_entity' | 'scope_missing' | 'entity_not_accessible'
  | 'malformed_key' | 'wrong_checksum' | 'unknown_key' | 'record_tampered' | 'revoked' | 'retired' | 'expired'
  | 'token_refused' | 'scopes_beyond_authority' | 'entities_beyond_authority' | 'no_such_key' | 'already_ended';

// Brands in the global symbol registry: two copies of the package in one process know each other's errors.
const [ACCESS, STORE] = [Symbol.for('keyscope.AccessError'), Symbol.for('keyscope.StoreError')];

function hide(target: object, properties: Readonly<Record<PropertyKey, unknown>>): void {
  for (const name of Reflect.ownKeys(properties)) Object.defineProperty(target, name, { value: properties[name] });
}

/**
 * A caller was denied. Holds no key, header, digest, seal or pepper, in no property and no cause.
 *
 * @example
 * try { await keyring.verify(key); } catch (error) { if (isAccessError(error)) log(error.code, error.reason); }
 */
export class AccessError extends Error {
  declare readonly code: AccessErrorCode;
  /** Why, for the server's log; not enumerable, and no response carries it. */
  declare readonly reason: DenialReason;
  /** The key concerned, where one was recognised; not enumerable. */
  declare readonly keyId: string | undefined;
  /** `insufficient_scope`: everything the operation needs, as in RFC 6750 §3 `scope`. */
  declare readonly requiredScopes?: readonly string[];
  /** `ceiling_exceeded`: the scopes or entities that the authority does not hold. */
  declare readonly excess?: readonly string[];

  constructor(code: AccessErrorCode, reason: DenialReason, { keyId, ...shown }: DenialDetails = {}) {
    super(DENIALS[code][2]);
    Object.assign(this, { code, ...shown });
    hide(this, { name: 'AccessError', reason, keyId, [ACCESS]: true });
  }
}

type DenialDetails = Partial<Pick<AccessError, 'keyId' | 'requiredScopes' | 'excess'>>;

/**
 * The store or the clock is broken; nothing is known about the credential, so nothing is allowed (503).
 * The driver's own error is in the non-enumerable `cause`: its text may quote rows, so it is never in ours.
 */
export class StoreError extends Error {
  declare readonly cause: unknown;

  constructor(problem: string, cause?: unknown) {
    super(problem);
    // What `inspect` shows, also where it is told to call getters.
    hide(this, { name: 'StoreError', [STORE]: true, [Symbol.for('nodejs.util.inspect.custom')]: () => this.stack });
    // An accessor, which the report of a crash shows as such: a driver's text quotes rows and digests.
    Object.defineProperty(this, 'cause', { get: () => cause, enumerable: false });
  }
}

/**
 * Whether `value` is an {@link AccessError}, also one of another copy of keyscope: reads the brand and the code.
 *
 * @example
 * if (isAccessError(error) && error.code === 'insufficient_scope') suggest(error.requiredScopes);
 */
export const isAccessError = (value: unknown): value is AccessError =>
  Object(value)[ACCESS] === true && Object.hasOwn(DENIALS, Object(value).code);

/**
 * Whether `value` is a {@link StoreError}, also one of another copy of keyscope.
 *
 * @example
 * if (isStoreError(error)) alert(error.message, error.cause);
 */
export const isStoreError = (value: unknown): value is StoreError => Object(value)[STORE] === true;
