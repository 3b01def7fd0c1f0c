/**
 * The two ways in which keyscope says no. A third channel, a caller's bug, is a plain `TypeError`.
 * The three never mix: a broken store is never reported as a bad key, nor a typo as a denial.
 */

/** Codes are API and closed; message text is for people and may change. The statuses are in `challenge.ts`. */
export type AccessErrorCode =
  /** No `Authorization` header, or one with another auth-scheme. */
  | 'missing_credentials'
  /** A malformed or repeated credential, or an entity that is repeated or no UUID. */
  | 'invalid_request'
  /** A credential that does not authenticate; outside the server's log nobody learns why. */
  | 'invalid_token'
  /** Authenticated, but a required scope was not granted. */
  | 'insufficient_scope'
  /** Authenticated, but the entity is not among those that the key can address. */
  | 'entity_forbidden'
  /** Management: more scopes or entities than the authority may hand out. */
  | 'ceiling_exceeded'
  /** Management: no such key under this entity. */
  | 'not_found'
  /** Management: somebody else ended the key first. */
  | 'conflict';

/** Why, for the server's log only: a response that told these apart would be an oracle. */
export type DenialReason =
  | 'no_header'
  | 'other_scheme'
  | 'malformed_header'
  | 'malformed_key'
  | 'wrong_checksum'
  | 'unknown_key'
  | 'record_tampered'
  | 'revoked'
  | 'retired'
  | 'expired'
  | 'token_refused'
  | 'scope_missing'
  | 'malformed_entity'
  | 'entity_not_accessible'
  | 'scopes_beyond_authority'
  | 'entities_beyond_authority'
  | 'no_such_key'
  | 'already_ended';

/** What an {@link AccessError} can carry beside its code and reason; none of it is secret. */
export interface DenialDetails {
  /** The key concerned, where one was recognised. Not enumerable: no response carries it. */
  readonly keyId?: string | undefined;
  /** `insufficient_scope`: everything the operation needs, as in RFC 6750 §3 `scope`. */
  readonly requiredScopes?: readonly string[];
  /** `ceiling_exceeded`: the scopes or entities that the authority does not hold. */
  readonly excess?: readonly string[];
}

const MESSAGES: Readonly<Record<AccessErrorCode, string>> = {
  missing_credentials: 'no bearer credential was sent',
  invalid_request: 'the credential or the addressed entity is malformed or repeated',
  invalid_token: 'the credential is not valid',
  insufficient_scope: 'a scope that this operation requires was not granted',
  entity_forbidden: 'the credential cannot address this entity',
  ceiling_exceeded: 'more was asked for than this authority may hand out',
  not_found: 'there is no such key under this entity',
  conflict: 'the key was ended by somebody else first',
};

// Brands in the global symbol registry: two copies of the package in one process still know each other's errors.
const ACCESS = Symbol.for('keyscope.AccessError');
const STORE = Symbol.for('keyscope.StoreError');
const INSPECT = Symbol.for('nodejs.util.inspect.custom');

function hide(target: object, properties: Readonly<Record<PropertyKey, unknown>>): void {
  for (const name of Reflect.ownKeys(properties)) {
    Object.defineProperty(target, name, { value: properties[name as string], enumerable: false });
  }
}

/**
 * A caller was denied. Holds no key, header, digest, seal or pepper, in no property and no cause.
 *
 * @example
 * try { await keyring.verify(key); } catch (error) { if (isAccessError(error)) log(error.code, error.reason); }
 */
export class AccessError extends Error {
  readonly code: AccessErrorCode;
  /** Why, for the server's log; not enumerable, and no response carries it. */
  declare readonly reason: DenialReason;
  declare readonly keyId: string | undefined;
  declare readonly requiredScopes?: readonly string[];
  declare readonly excess?: readonly string[];

  constructor(code: AccessErrorCode, reason: DenialReason, details: DenialDetails = {}) {
    const { keyId, requiredScopes, excess } = details;
    super(excess ? `${MESSAGES[code]}: ${excess.slice(0, 8).join(' ')}` : MESSAGES[code]);
    this.code = code;
    if (requiredScopes) this.requiredScopes = Object.freeze([...requiredScopes]);
    if (excess) this.excess = Object.freeze([...excess]);
    hide(this, { name: 'AccessError', reason, keyId, [ACCESS]: true });
  }
}

/**
 * The store or the clock is broken; nothing is known about the credential, so nothing is allowed (503).
 * The driver's own error is in the non-enumerable `cause`: its text may quote rows, so it is never in ours.
 */
export class StoreError extends Error {
  constructor(problem: string, cause?: unknown) {
    super(problem);
    // `inspect` would print the cause, and with it what a driver quotes: rows, parameters, digests.
    hide(this, { name: 'StoreError', cause, [STORE]: true, [INSPECT]: () => this.stack });
  }
}

const branded = (value: unknown, brand: symbol): boolean =>
  typeof value === 'object' && value !== null && (value as Record<symbol, unknown>)[brand] === true;

/** Whether `value` is an {@link AccessError}, also one of another copy of keyscope: reads the brand and the code. */
export function isAccessError(value: unknown): value is AccessError {
  return branded(value, ACCESS) && Object.hasOwn(MESSAGES, (value as AccessError).code);
}

/** Whether `value` is a {@link StoreError}, also one of another copy of keyscope. */
export function isStoreError(value: unknown): value is StoreError {
  return branded(value, STORE);
}
