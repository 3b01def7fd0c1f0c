/**
 * From an error to a response. Header values are quoted here and nowhere else.
 *
 *   challenge = "Bearer" 1*SP auth-param *( ", " auth-param )   ; RFC 6750 §3, RFC 9110 §11.6.1
 *
 * Nothing in a response depends on why a credential failed: the same code and required scopes give
 * the same bytes.
 */
import type { AccessError, AccessErrorCode, Denial } from './errors.js';
import { DENIALS, isAccessError, isStoreError } from './errors.js';
import { assert, readFields } from './input.js';
import { isScope } from './scope.js';

/** A response as data, for any framework to send. */
export interface DenialResponse {
  readonly status: number;
  readonly headers: Record<string, string>;
  /** `application/problem+json` (RFC 9457). */
  readonly body: string;
}

/** How a service presents itself in challenges, in printable ASCII. */
export interface ChallengeOptions {
  /** Names the protected space (RFC 9110 §11.5). */
  readonly realm: string;
  /** The URL of the protected resource metadata (RFC 9728 §5.1). */
  readonly resourceMetadata?: string | undefined;
}

const OUTAGE: Denial = {
  status: 503,
  title: 'Service Unavailable',
  detail: 'Credentials cannot be checked at the moment; try again.',
  challenge: 'none',
};

const BUG: Denial = {
  status: 500,
  title: 'Internal Server Error',
  detail: 'Something went wrong.',
  challenge: 'none',
};

/**
 * Turns whatever was thrown into a response: the RFC 6750 challenge and an RFC 9457 problem
 * document.
 *
 * Not checked: whether the request was a `HEAD`; if so, leave out the body.
 *
 * @param error An `AccessError` becomes its status (see the table in the README), a `StoreError`
 *   503, anything else 500 without detail.
 * @returns Status, headers and the body as text. With the same options, the same error code and
 *   `requiredScopes` give the same bytes.
 * @throws TypeError on an unknown option, or on a `realm` or `resourceMetadata` that is not
 *   printable ASCII.
 * @example
 * const { status, headers, body } = toResponse(error, { realm: 'acme' });
 */
export function toResponse(error: unknown, options: ChallengeOptions): DenialResponse {
  const given = readFields(options, ['realm', 'resourceMetadata'], 'toResponse');
  const denied = isAccessError(error) ? error : undefined;
  const { status, title, detail, challenge } = answerTo(error, denied);
  const code = challenge === 'bare' ? undefined : denied?.code;
  const scope = scopeOf(denied?.requiredScopes);
  // Written even if it is not sent, so that any denial reveals a malformed realm.
  const written = writeChallenge(given.realm, code, scope, given.resourceMetadata);
  const headers: Record<string, string> = {
    'Content-Type': 'application/problem+json',
    'Cache-Control': 'no-store',
  };
  if (challenge !== 'none') headers['WWW-Authenticate'] = written;
  if (status === 503) headers['Retry-After'] = '1';
  const problem = { type: 'about:blank', title, status, detail, error: code, scope };
  return { status, headers, body: JSON.stringify(problem) };
}

function answerTo(error: unknown, denied: AccessError | undefined): Denial {
  if (denied !== undefined) return DENIALS[denied.code];
  return isStoreError(error) ? OUTAGE : BUG;
}

/**
 * Checks the scopes again, because an error from another copy may be of another version.
 */
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
 * Writes a parameter as a quoted-string (RFC 9110 §5.6.4): other characters could end the header
 * line.
 */
function authParam(name: string, value: unknown): string {
  assert(typeof value === 'string' && /^[ -~]*$/.test(value), `${name}: pass printable ASCII text`);
  // Of printable ASCII, JSON escapes only the quote and the backslash, each with a backslash.
  return `${name}=${JSON.stringify(value)}`;
}
