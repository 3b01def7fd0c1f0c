/**
 * Turns errors into responses. Header values are quoted here and nowhere else.
 *
 *   challenge = "Bearer" 1*SP auth-param *( ", " auth-param )   ; RFC 6750 §3, RFC 9110 §11.6.1
 *
 * Nothing in a response depends on why a credential failed: the same code and required scopes give
 * the same bytes. Only `invalid_request` has a sentence for each mistake. It is about the form of a
 * request and is detected before the entity is compared. `ceiling_exceeded` may name the latest
 * expiry: its caller is authenticated and may issue keys.
 */
import type { AccessErrorCode } from '../core/errors.js';
import { detailFor, isAccessError, isInputError, isStoreError } from '../core/errors.js';
import { assert, readFields } from '../core/input.js';
import { isScope } from '../core/scope.js';

/** A response as data, for any framework to send. */
export interface DenialResponse {
  readonly status: number;
  readonly headers: Record<string, string>;
  /** The body, `application/problem+json` (RFC 9457). */
  readonly body: string;
}

/** How a service presents itself in challenges, in printable ASCII. */
export interface ChallengeOptions {
  /** The name of the protected space (RFC 9110 §11.5). */
  readonly realm: string;
  /** The URL of the protected resource metadata (RFC 9728 §5.1). */
  readonly resourceMetadata?: string | undefined;
}

/** The answer to an error. */
interface Answer {
  readonly status: keyof typeof TITLES;
  /** The sentence that the caller gets. */
  readonly detail: string;
  /** `bare` is without `error`, as RFC 6750 §3.1 requires if the request had no credential. */
  readonly challenge: 'bare' | 'error' | 'none';
}

/** The status phrases, which `about:blank` requires as titles (RFC 9457 §4.2.1). */
export const TITLES = {
  400: 'Bad Request',
  401: 'Unauthorized',
  403: 'Forbidden',
  404: 'Not Found',
  405: 'Method Not Allowed',
  409: 'Conflict',
  413: 'Content Too Large',
  415: 'Unsupported Media Type',
  500: 'Internal Server Error',
  503: 'Service Unavailable',
} as const;

const DENIALS: Readonly<Record<AccessErrorCode, Omit<Answer, 'detail'>>> = {
  missing_credentials: { status: 401, challenge: 'bare' },
  invalid_request: { status: 400, challenge: 'error' },
  invalid_token: { status: 401, challenge: 'error' },
  insufficient_scope: { status: 403, challenge: 'error' },
  entity_forbidden: { status: 403, challenge: 'none' },
  ceiling_exceeded: { status: 403, challenge: 'none' },
  not_found: { status: 404, challenge: 'none' },
  conflict: { status: 409, challenge: 'none' },
};

const BAD_INPUT: Answer = {
  status: 400,
  detail: 'A field is missing, malformed or not known.',
  challenge: 'none',
};

const OUTAGE: Answer = {
  status: 503,
  detail: 'Credentials cannot be checked at the moment; try again.',
  challenge: 'none',
};

const BUG: Answer = { status: 500, detail: 'Something went wrong.', challenge: 'none' };

/**
 * Turns any thrown value into a response: the RFC 6750 challenge and an RFC 9457 problem document.
 *
 * Not checked: whether the request was a `HEAD`; if so, omit the body.
 *
 * @param error An `AccessError` becomes 400, 401, 403, 404 or 409 by its code, an `InputError` 400
 *   with its `field`, a `StoreError` 503, and anything else 500 without detail.
 * @returns Status, headers and the body as text. With the same options, the same error code and
 *   `requiredScopes` give the same bytes; `detail` says what is malformed (`invalid_request`) or
 *   the latest expiry (`ceiling_exceeded`).
 * @throws TypeError on an unknown option, or on a `realm` or `resourceMetadata` that is not
 *   printable ASCII.
 * @example
 * const { status, headers, body } = toResponse(error, { realm: 'acme' });
 */
export function toResponse(error: unknown, options: ChallengeOptions): DenialResponse {
  const given = readFields(options, ['realm', 'resourceMetadata'], 'toResponse');
  const denied = isAccessError(error) ? error : undefined;
  const { status, detail, challenge } = answerTo(error);
  const field = isInputError(error) ? error.field : undefined;
  const code = challenge === 'bare' ? undefined : denied?.code;
  const scope = scopeOf(denied?.requiredScopes);
  // Written even if it is not sent, so that any denial exposes a malformed realm.
  const written = writeChallenge(given.realm, code, scope, given.resourceMetadata);
  const headers: Record<string, string> = {
    'Content-Type': 'application/problem+json',
    'Cache-Control': 'no-store',
  };
  if (challenge !== 'none') headers['WWW-Authenticate'] = written;
  if (status === 503) headers['Retry-After'] = '1';
  const shown = field === undefined ? code : 'invalid_input';
  const title = TITLES[status];
  const problem = { type: 'about:blank', title, status, detail, error: shown, field, scope };
  return { status, headers, body: JSON.stringify(problem) };
}

function answerTo(error: unknown): Answer {
  if (isAccessError(error)) {
    const { code, reason, message } = error;
    // This message names a limit. No other is sent: code in between may have added to it.
    const detail = reason === 'lifetime_beyond_authority' ? message : detailFor(code, reason);
    return { ...DENIALS[code], detail };
  }
  if (isInputError(error)) return BAD_INPUT;
  return isStoreError(error) ? OUTAGE : BUG;
}

/** Checks the scopes again, because an error from another copy may be of another version. */
function scopeOf(requiredScopes: unknown): string | undefined {
  if (!Array.isArray(requiredScopes) || !requiredScopes.every(isScope)) return undefined;
  return requiredScopes.join(' ');
}

function writeChallenge(
  realm: unknown,
  error: AccessErrorCode | undefined,
  scope: string | undefined,
  resourceMetadata: unknown,
): string {
  const params = [authParam('realm', realm)];
  if (error !== undefined) params.push(authParam('error', error));
  if (scope !== undefined) params.push(authParam('scope', scope));
  if (resourceMetadata !== undefined) params.push(authParam('resource_metadata', resourceMetadata));
  return `Bearer ${params.join(', ')}`;
}

/**
 * Writes a parameter as a quoted-string (RFC 9110 §5.6.4). Characters beyond printable ASCII could
 * end the header line.
 */
function authParam(name: string, value: unknown): string {
  assert(typeof value === 'string' && /^[ -~]*$/.test(value), `${name}: pass printable ASCII text`);
  // In printable ASCII, JSON escapes only the quote and the backslash, each with a backslash.
  return `${name}=${JSON.stringify(value)}`;
}
