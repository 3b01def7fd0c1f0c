/**
 * The errors of keyscope. A denial is an `AccessError`, an outage a `StoreError`, malformed input
 * of a request an `InputError`, and any other bug of the caller a plain `TypeError`. The four never
 * mix: keyscope never reports a broken store as a bad key, nor a typo as a denial.
 */
import { isUuid } from './uuid.js';

// ── Denied ──────────────────────────────────────────────────────────────────────────────────────

/** The code of a denial. The set is closed and part of the API; the sentences may change. */
export type AccessErrorCode =
  /** No `Authorization` header, or one with another auth-scheme. */
  | 'missing_credentials'
  /** A malformed or repeated credential, or an entity that is repeated or not an id. */
  | 'invalid_request'
  /** The credential does not authenticate. Only the server's log says why. */
  | 'invalid_token'
  /** Authenticated, but a required scope was not granted. */
  | 'insufficient_scope'
  /** Authenticated, but the key cannot address the entity. */
  | 'entity_forbidden'
  /** Management: more scopes or entities than the authority may grant, or a longer life. */
  | 'ceiling_exceeded'
  /** Management: this entity has no such key. In the events of an MCP gate: no such tool. */
  | 'not_found'
  /** Management: the state of the key, or of the key that makes the call, does not allow it. */
  | 'conflict';

/** The sentence that the caller gets for each code, unless the error has a better one. */
export const DETAILS: Readonly<Record<AccessErrorCode, string>> = {
  missing_credentials: 'Send the key as "Authorization: Bearer <API_KEY>".',
  invalid_request: 'Send one bearer credential and at most one entity id.',
  invalid_token: 'The credential is not valid: it may be mistyped, revoked or expired.',
  insufficient_scope: 'The key was not granted a scope that this operation requires.',
  entity_forbidden: 'The key cannot address this entity.',
  ceiling_exceeded: 'You cannot grant more than you hold yourself.',
  not_found: 'There is no such key.',
  conflict: 'The key is not live or has already been rotated; its state says why.',
};

/** The reason, for the server's log: a response that says why a key is refused is an oracle. */
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
  /** Nobody holds the text of this key, but the caller presented or rotated it. */
  | 'keyless'
  /** The key does not trust the identity behind the token. */
  | 'identity_not_trusted'
  | 'revoked'
  | 'suspended'
  | 'retired'
  | 'expired'
  | 'token_refused'
  /** MCP: the gate does not know the tool. */
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
  /** The key that makes the call ended in the meantime, or can grant less than before. */
  | 'issuer_ended'
  /** A key that another key issued tried to issue one. */
  | 'issued_by_key'
  /** A key tried to rotate a key of another chain, or to resume one that it did not issue. */
  | 'foreign_chain'
  /** `revokeLineage` has ended what it found, but nothing vouches for the row it began with. */
  | 'lineage_unknown';

const SENTENCES: ReadonlyMap<string, string> = new Map<DenialReason, string>([
  ['malformed_header', 'Send one Authorization header: Bearer, a space, one key, nothing else.'],
  ['quoted_key', 'Send the key without quotation marks.'],
  ['malformed_entity', 'Write the entity as a UUID in lower case.'],
  ['repeated_entity', 'Name one entity, once.'],
  ['issuer_ended', 'The calling key has ended, or can grant less than before.'],
  ['keyless', 'Nobody holds a text of this key, so there is none to replace.'],
  ['issued_by_key', 'A key that another key issued cannot issue keys.'],
  ['foreign_chain', 'A key can rotate only its own chain and resume only keys that it issued.'],
  ['lineage_unknown', 'Revoked, but untrusted: look for keys rotated from it or issued under it.'],
]);

/** Returns the sentence for the caller: always the same one for a credential that is refused. */
export function detailFor(code: AccessErrorCode, reason: DenialReason): string {
  const specific = code === 'invalid_token' ? undefined : SENTENCES.get(reason);
  return specific ?? DETAILS[code];
}

/** The optional members of an {@link AccessError}. */
interface DenialDetails {
  readonly keyId?: string | undefined;
  readonly requiredScopes?: readonly string[];
  readonly excess?: readonly string[];
  readonly ended?: readonly string[];
  /** The sentence for the caller. Default: that of the code and the reason. */
  readonly detail?: string | undefined;
}

// Brands in the global symbol registry: two copies of the package in one process recognise each
// other's errors.
const ACCESS = Symbol.for('keyscope.AccessError');
const STORE = Symbol.for('keyscope.StoreError');
const INPUT = Symbol.for('keyscope.InputError');
const CAUSE = Symbol.for('keyscope.causeOf');

/**
 * The caller was denied. No property and no cause contains a key, header, digest, seal or pepper.
 * The error has no stack trace.
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
   * `ceiling_exceeded`: the scopes, then the entities that the authority does not cover;
   * `expiresAt` if the lifetime is too long.
   */
  declare readonly excess?: readonly string[];
  /** `conflict` from `revokeLineage`: the ids of the keys that it ended nevertheless. */
  declare readonly ended?: readonly string[];
  readonly #reason: DenialReason;
  readonly #keyId: string | undefined;

  static {
    define(this.prototype, ACCESS, true);
  }

  constructor(code: AccessErrorCode, reason: DenialReason, details: DenialDetails = {}) {
    const { keyId, requiredScopes, excess, ended, detail = detailFor(code, reason) } = details;
    const limit = limitTraces(0);
    super(detail);
    limitTraces(limit);
    this.code = code;
    if (requiredScopes !== undefined) this.requiredScopes = requiredScopes;
    if (excess !== undefined) this.excess = excess;
    if (ended !== undefined) this.ended = ended;
    this.#reason = reason;
    // An edited row may contain anything as its key id.
    this.#keyId = isUuid(keyId) ? keyId : undefined;
  }

  // Getters on the prototype, because listings, copies and logs show only own properties.

  override get name(): string {
    return 'AccessError';
  }

  /** The reason, for the server's log. No response contains it. */
  get reason(): DenialReason {
    return this.#reason;
  }

  /** The key concerned, if one was recognised. */
  get keyId(): string | undefined {
    return this.#keyId;
  }
}

/**
 * Sets the maximum number of stack frames and returns the previous maximum. A denial is not a bug,
 * and its trace was most of the cost of refusing garbage. Does nothing where the limit is
 * read-only, as in a hardened realm, or where the engine has no such setting.
 */
function limitTraces(limit: unknown): unknown {
  const before: unknown = Reflect.get(Error, 'stackTraceLimit');
  if (typeof before === 'number') Reflect.set(Error, 'stackTraceLimit', limit);
  return before;
}

/**
 * Checks whether `value` is an {@link AccessError}, including one from another copy of keyscope. It
 * looks at the brand and the code.
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
 * Input that may come from a request is malformed (400): a field, a key id, or the authority's
 * `reason`. The message says what to write instead. `toResponse` answers with the name of the field
 * only.
 */
export class InputError extends TypeError {
  /** The malformed field; `input` if the input as a whole is wrong or has an unknown field. */
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
 * Checks whether `value` is an {@link InputError}, including one from another copy of keyscope.
 *
 * @example
 * if (isInputError(error)) showNextTo(error.field, error.message);
 */
export function isInputError(value: unknown): value is InputError {
  return hasBrand(value, INPUT);
}

// ── Broken ──────────────────────────────────────────────────────────────────────────────────────

/**
 * The store or the clock is broken (503). Nothing is known about the credential, so nothing is
 * allowed. Neither the message nor any property contains the driver's error, because its text may
 * quote rows; {@link causeOf} returns it.
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
 * Checks whether `value` is a {@link StoreError}, including one from another copy of keyscope.
 *
 * @example
 * if (isStoreError(error)) alert(error.message);
 */
export function isStoreError(value: unknown): value is StoreError {
  return hasBrand(value, STORE);
}

/**
 * Returns the driver's error behind a {@link StoreError}, or `undefined`. Pass it only to a log
 * that may contain rows and digests. It is not a property, because loggers print anything called
 * `cause`.
 *
 * @example
 * if (isStoreError(error)) vault.error(error.message, causeOf(error));
 */
export function causeOf(error: unknown): unknown {
  const { [CAUSE]: read } = Object(error) as { readonly [CAUSE]?: (error: unknown) => unknown };
  return read?.(error);
}

/** Defines a non-enumerable property for every error of a class; listings and logs omit it. */
function define(prototype: object, name: symbol, value: unknown): void {
  Object.defineProperty(prototype, name, { value });
}

/** Does not check `code`: an error from another copy may have another version's codes. */
function hasBrand(value: unknown, brand: symbol): value is { readonly code?: unknown } {
  return (value as Readonly<Record<symbol, unknown>> | null | undefined)?.[brand] === true;
}
