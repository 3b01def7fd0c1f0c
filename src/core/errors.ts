/**
 * The ways in which keyscope says no, which never mix: a denial is an `AccessError`, an outage a
 * `StoreError`, what a request got wrong an `InputError`, and any other bug of the caller a plain
 * `TypeError`. A broken store is never reported as a bad key, nor a typo as a denial.
 */
import { isUuid } from './uuid.js';

// ── Denied ──────────────────────────────────────────────────────────────────────────────────────

/**
 * Why a caller was denied. Codes are API and closed; the sentences may change.
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
  /** Management: no such key under this entity. In the events of an MCP gate: no such tool. */
  | 'not_found'
  /** Management: the key was rotated or revoked first. */
  | 'conflict';

/** The sentence that the caller gets. */
export const DETAILS: Readonly<Record<AccessErrorCode, string>> = {
  missing_credentials: 'Send the key as "Authorization: Bearer <API_KEY>".',
  invalid_request: 'Send one bearer credential and at most one lower-case entity UUID.',
  invalid_token: 'The credential is not valid: it may be mistyped, revoked or expired.',
  insufficient_scope: 'The key was not granted a scope that this operation requires.',
  entity_forbidden: 'The key cannot address this entity.',
  ceiling_exceeded: 'You cannot grant more than you hold yourself.',
  not_found: 'There is no such key.',
  conflict: 'The key has already been rotated or revoked.',
};

/**
 * The reason, for the server's log only: a response that told them apart would be an oracle. Only
 * what is wrong with the form of a request has a sentence of its own.
 */
export type DenialReason =
  | 'no_header'
  | 'other_scheme'
  | 'malformed_header'
  /** A malformed header with quotation marks around the key. */
  | 'quoted_key'
  | 'malformed_entity'
  /** More than one entity, or one that was sent twice. */
  | 'repeated_entity'
  | 'scope_missing'
  | 'entity_not_accessible'
  | 'malformed_key'
  | 'wrong_checksum'
  | 'unknown_key'
  /** A later release wrote the record. */
  | 'unknown_format'
  /** The pepper that the key was made under is not configured. */
  | 'orphaned'
  /** The record is malformed, or its seal does not match. */
  | 'record_tampered'
  /** Nobody holds the text of the key; somebody presented one that has its digest. */
  | 'keyless'
  | 'revoked'
  | 'suspended'
  | 'retired'
  | 'expired'
  | 'token_refused'
  /** MCP: a tool that the gate was not told of. */
  | 'unknown_tool'
  | 'scopes_beyond_authority'
  | 'entities_beyond_authority'
  | 'lifetime_beyond_authority'
  | 'scopes_beyond_predecessor'
  | 'entities_beyond_predecessor'
  | 'no_such_key'
  /** The key exists, but belongs to another entity or to a keyring with another prefix. */
  | 'foreign_key'
  | 'already_ended'
  /** The key on whose authority another was being made has ended meanwhile. */
  | 'issuer_ended';

const MALFORMED: ReadonlyMap<string, string> = new Map<DenialReason, string>([
  ['malformed_header', 'Send one Authorization header: Bearer, a space, one key, nothing else.'],
  ['quoted_key', 'Send the key without quotation marks.'],
  ['malformed_entity', 'Write the entity as a UUID in lower case.'],
  ['repeated_entity', 'Name one entity, once.'],
]);

/** The sentence that the caller gets. It depends on the reason only for a malformed request. */
export function detailFor(code: AccessErrorCode, reason: DenialReason): string {
  const specific = code === 'invalid_request' ? MALFORMED.get(reason) : undefined;
  return specific ?? DETAILS[code];
}

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
const INPUT = Symbol.for('keyscope.InputError');
const CAUSE = Symbol.for('keyscope.causeOf');

/**
 * A caller was denied. No property and no cause contains a key, header, digest, seal or pepper. It
 * has no stack trace.
 *
 * @example
 * const error = await keyring.verify(key).catch((reason: unknown) => reason);
 * if (isAccessError(error)) log(error.code, error.reason);
 */
export class AccessError extends Error {
  declare readonly code: AccessErrorCode;
  /** `insufficient_scope`: every scope that the operation needs, as in RFC 6750 §3 `scope`. */
  declare readonly requiredScopes?: readonly string[];
  /**
   * `ceiling_exceeded`: the scopes, then the entities that are too many; `expiresAt` if the life is
   * too long.
   */
  declare readonly excess?: readonly string[];
  readonly #reason: DenialReason;
  readonly #keyId: string | undefined;

  static {
    define(this.prototype, ACCESS, true);
  }

  constructor(code: AccessErrorCode, reason: DenialReason, details: DenialDetails = {}) {
    const limit = limitTraces(0);
    super(detailFor(code, reason));
    limitTraces(limit);
    const { keyId, requiredScopes, excess } = details;
    this.code = code;
    if (requiredScopes !== undefined) this.requiredScopes = requiredScopes;
    if (excess !== undefined) this.excess = excess;
    this.#reason = reason;
    // An edited row may contain anything as its key id.
    this.#keyId = isUuid(keyId) ? keyId : undefined;
  }

  // No listing, copy or log shows what is not a property of its own.

  override get name(): string {
    return 'AccessError';
  }

  /** Why, for the server's log; no response contains the word. */
  get reason(): DenialReason {
    return this.#reason;
  }

  /** The key concerned, if one was recognised. */
  get keyId(): string | undefined {
    return this.#keyId;
  }
}

/**
 * Sets how many frames a stack trace has, and returns how many it had. A denial is no bug: the
 * trace was most of what refusing garbage took. Not where this is fixed, as in a hardened realm, or
 * no setting of the engine's.
 */
function limitTraces(limit: unknown): unknown {
  const before: unknown = Reflect.get(Error, 'stackTraceLimit');
  if (typeof before === 'number') Reflect.set(Error, 'stackTraceLimit', limit);
  return before;
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
  return typeof code === 'string' && Object.hasOwn(DETAILS, code);
}

// ── Malformed ───────────────────────────────────────────────────────────────────────────────────

/**
 * What may come from a request is malformed: a field of an input, a key id, or the authority's
 * `reason` (400). The message says what to write instead; `toResponse` answers with the field
 * alone.
 */
export class InputError extends TypeError {
  /** The field of the input. `input` if it is the whole, or has a field that is not known. */
  declare readonly field: string;

  static {
    define(this.prototype, INPUT, true);
  }

  constructor(field: string, problem: string) {
    super(problem);
    this.field = field;
  }

  override get name(): string {
    return 'InputError';
  }
}

/**
 * Whether `value` is an {@link InputError}, including one from another copy of keyscope.
 *
 * @example
 * if (isInputError(error)) showNextTo(error.field, error.message);
 */
export function isInputError(value: unknown): value is InputError {
  return hasBrand(value, INPUT);
}

// ── Broken ──────────────────────────────────────────────────────────────────────────────────────

/**
 * The store or the clock is broken; nothing is known about the credential, so nothing is allowed
 * (503). The driver's own error is not in the message and in no property, because its text may
 * quote rows: {@link causeOf} returns it.
 */
export class StoreError extends Error {
  readonly #cause: unknown;

  static {
    define(this.prototype, STORE, true);
    define(this.prototype, CAUSE, (error: StoreError) => error.#cause);
  }

  constructor(problem: string, cause?: unknown) {
    super(problem);
    this.#cause = cause;
  }

  override get name(): string {
    return 'StoreError';
  }
}

/**
 * Whether `value` is a {@link StoreError}, including one from another copy of keyscope.
 *
 * @example
 * if (isStoreError(error)) alert(error.message);
 */
export function isStoreError(value: unknown): value is StoreError {
  return hasBrand(value, STORE);
}

/**
 * The driver's own error, for a log that may hold rows and digests; `undefined` if there is none.
 * No property, because loggers follow whatever is called `cause`.
 *
 * @example
 * if (isStoreError(error)) vault.error(error.message, causeOf(error));
 */
export function causeOf(error: unknown): unknown {
  const { [CAUSE]: read } = Object(error) as { readonly [CAUSE]?: (error: unknown) => unknown };
  return read?.(error);
}

/** Defines what every error of a class has, and no listing, copy or log shows. */
function define(prototype: object, name: symbol, value: unknown): void {
  Object.defineProperty(prototype, name, { value });
}

/** Does not check `code`: an error from another copy may be of another version. */
function hasBrand(value: unknown, brand: symbol): value is { readonly code?: unknown } {
  return (value as Readonly<Record<symbol, unknown>> | null | undefined)?.[brand] === true;
}
