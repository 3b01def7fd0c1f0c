/**
 * The three ways in which keyscope says no, which never mix: a denial is an `AccessError`, an
 * outage a `StoreError`, and a caller's bug a plain `TypeError` (see `input.ts`). A broken store is
 * never reported as a bad key, nor a typo as a denial.
 */
import { isUuid } from './uuid.js';

// ── Denied ──────────────────────────────────────────────────────────────────────────────────────

/**
 * Why a caller was denied. Codes are API and closed; the sentences of {@link DENIALS} may change.
 */
export type AccessErrorCode =
  /** No `Authorization` header, or one with another auth-scheme. */
  | 'missing_credentials'
  /** A malformed or repeated credential, or an entity that is repeated or not a UUID. */
  | 'invalid_request'
  /** A credential that does not authenticate. Only the server's log says why. */
  | 'invalid_token'
  /** Authenticated, but a required scope was not granted. */
  | 'insufficient_scope'
  /** Authenticated, but the key cannot address the entity. */
  | 'entity_forbidden'
  /** Management: more scopes or entities than the authority may grant. */
  | 'ceiling_exceeded'
  /** Management: no such key under this entity. */
  | 'not_found'
  /** Management: the key was rotated or revoked first. */
  | 'conflict';

/** How a denial is answered. */
export interface Denial {
  readonly status: number;
  /** The status phrase, which `about:blank` requires as the title (RFC 9457 §4.2.1). */
  readonly title: string;
  /** The sentence that the caller gets. */
  readonly detail: string;
  /** `bare`: without `error`, as RFC 6750 §3.1 requires if no credential was sent. */
  readonly challenge: 'bare' | 'error' | 'none';
}

/** How each code is answered. */
export const DENIALS: Readonly<Record<AccessErrorCode, Denial>> = {
  missing_credentials: {
    status: 401,
    title: 'Unauthorized',
    detail: 'Send the key as "Authorization: Bearer <API_KEY>".',
    challenge: 'bare',
  },
  invalid_request: {
    status: 400,
    title: 'Bad Request',
    detail: 'Send one bearer credential and at most one lower-case entity UUID.',
    challenge: 'error',
  },
  invalid_token: {
    status: 401,
    title: 'Unauthorized',
    detail: 'The credential is not valid: it may be mistyped, revoked or expired.',
    challenge: 'error',
  },
  insufficient_scope: {
    status: 403,
    title: 'Forbidden',
    detail: 'The key was not granted a scope that this operation requires.',
    challenge: 'error',
  },
  entity_forbidden: {
    status: 403,
    title: 'Forbidden',
    detail: 'The key cannot address this entity.',
    challenge: 'none',
  },
  ceiling_exceeded: {
    status: 403,
    title: 'Forbidden',
    detail: 'You cannot grant more than you hold yourself.',
    challenge: 'none',
  },
  not_found: {
    status: 404,
    title: 'Not Found',
    detail: 'There is no such key.',
    challenge: 'none',
  },
  conflict: {
    status: 409,
    title: 'Conflict',
    detail: 'The key has already been rotated or revoked.',
    challenge: 'none',
  },
};

/** The reason, for the server's log only: a response that told them apart would be an oracle. */
export type DenialReason =
  | 'no_header'
  | 'other_scheme'
  | 'malformed_header'
  | 'malformed_entity'
  | 'scope_missing'
  | 'entity_not_accessible'
  | 'malformed_key'
  | 'wrong_checksum'
  | 'unknown_key'
  | 'record_tampered'
  | 'revoked'
  | 'retired'
  | 'expired'
  | 'token_refused'
  | 'scopes_beyond_authority'
  | 'entities_beyond_authority'
  | 'no_such_key'
  | 'already_ended';

/** What an {@link AccessError} contains besides its code and reason. */
interface DenialDetails {
  readonly keyId?: string | undefined;
  readonly requiredScopes?: readonly string[];
  readonly excess?: readonly string[];
}

// Brands in the global symbol registry: two copies of the package in one process recognise each
// other's errors.
const ACCESS = Symbol.for('keyscope.AccessError');
const STORE = Symbol.for('keyscope.StoreError');

/**
 * A caller was denied. No property and no cause contains a key, header, digest, seal or pepper.
 *
 * @example
 * const error = await keyring.verify(key).catch((reason: unknown) => reason);
 * if (isAccessError(error)) log(error.code, error.reason);
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

  constructor(code: AccessErrorCode, reason: DenialReason, details: DenialDetails = {}) {
    super(DENIALS[code].detail);
    const { keyId, ...shown } = details;
    Object.assign(this, { code, ...shown });
    hide(this, {
      name: 'AccessError',
      reason,
      // An edited row may contain anything as its key id.
      keyId: isUuid(keyId) ? keyId : undefined,
      [ACCESS]: true,
    });
  }
}

/**
 * Whether `value` is an {@link AccessError}, including one from another copy of keyscope. Reads the
 * brand and the code.
 *
 * @example
 * if (isAccessError(error) && error.code === 'insufficient_scope') suggest(error.requiredScopes);
 */
export function isAccessError(value: unknown): value is AccessError {
  if (!hasBrand(value, ACCESS)) return false;
  const { code } = value;
  return typeof code === 'string' && Object.hasOwn(DENIALS, code);
}

// ── Broken ──────────────────────────────────────────────────────────────────────────────────────

/**
 * The store or the clock is broken; nothing is known about the credential, so nothing is allowed
 * (503). The driver's own error is in the non-enumerable `cause`: its text may quote rows, so the
 * message never contains it.
 */
export class StoreError extends Error {
  declare readonly cause: unknown;

  constructor(problem: string, cause?: unknown) {
    super(problem);
    hide(this, {
      name: 'StoreError',
      [STORE]: true,
      // What `inspect` shows, even if told to call getters.
      [Symbol.for('nodejs.util.inspect.custom')]: () => this.stack,
    });
    // An accessor, which a crash report shows without its value: a driver's text may quote rows and
    // digests.
    Object.defineProperty(this, 'cause', { get: () => cause, enumerable: false });
  }
}

/**
 * Whether `value` is a {@link StoreError}, including one from another copy of keyscope.
 *
 * @example
 * if (isStoreError(error)) alert(error.message, error.cause);
 */
export function isStoreError(value: unknown): value is StoreError {
  return hasBrand(value, STORE);
}

/** Defines properties that no listing, copy or log shows. */
function hide(target: object, properties: Readonly<Record<PropertyKey, unknown>>): void {
  for (const name of Reflect.ownKeys(properties)) {
    Object.defineProperty(target, name, { value: properties[name] });
  }
}

/** Does not check `code`: an error from another copy may be of another version. */
function hasBrand(value: unknown, brand: symbol): value is { readonly code?: unknown } {
  if (typeof value !== 'object' || value === null) return false;
  return (value as Readonly<Record<symbol, unknown>>)[brand] === true;
}
