/**
 * From an error to a response. Header values are quoted here and nowhere else.
 *
 *   challenge = "Bearer" 1*SP auth-param *( ", " auth-param )   ; RFC 6750 §3, RFC 9110 §11.6.1
 *
 * Nothing in a response depends on why a credential failed: all answers for one code are the same bytes.
 */
import type { AccessErrorCode } from './errors.js';
import { isAccessError, isStoreError } from './errors.js';
import { expect, fields } from './input.js';

/** A response as data: any framework can send it. */
export interface DenialResponse {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  /** `application/problem+json`, RFC 9457. */
  readonly body: string;
}

/** How a service presents itself in challenges. */
export interface ChallengeOptions {
  /** Printable ASCII; names the protected space (RFC 9110 §11.5). */
  readonly realm: string;
  /** URL of the protected resource metadata (RFC 9728 §5.1). */
  readonly resourceMetadata?: string;
}

interface Answer {
  readonly status: number;
  readonly title: string;
  readonly detail: string;
  /** `bare` is a challenge without `error`: RFC 6750 §3.1 wants none where no credential was sent. */
  readonly challenge?: 'bare' | 'error';
}

const ANSWERS: Readonly<Record<AccessErrorCode, Answer>> = {
  missing_credentials: {
    status: 401,
    title: 'Unauthorized',
    detail: 'Send the API key as "Authorization: Bearer <API_KEY>".',
    challenge: 'bare',
  },
  invalid_request: {
    status: 400,
    title: 'Bad Request',
    detail:
      'Send exactly one Authorization header, "Bearer" and the key, and at most one entity, a UUID in lower case.',
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
  },
  ceiling_exceeded: {
    status: 403,
    title: 'Forbidden',
    detail: 'A key can carry no more scopes and entities than its maker may hand out.',
  },
  not_found: { status: 404, title: 'Not Found', detail: 'There is no such key.' },
  conflict: { status: 409, title: 'Conflict', detail: 'The key was ended in the meantime.' },
};

const OUTAGE: Answer = {
  status: 503,
  title: 'Service Unavailable',
  detail: 'Credentials cannot be checked at the moment. Try again shortly.',
};

const BUG: Answer = {
  status: 500,
  title: 'Internal Server Error',
  detail: 'Something went wrong.',
};

/** A quoted-string (RFC 9110 §5.6.4) of printable ASCII; other characters could end the header line. */
function quoted(value: unknown, what: string): string {
  const printable = typeof value === 'string' && /^[ -~]*$/.test(value);
  expect(printable, `${what}: pass printable ASCII text`);
  return `"${value.replace(/["\\]/g, '\\$&')}"`;
}

/**
 * Turns whatever was thrown into a response: the RFC 6750 challenge and an RFC 9457 problem document.
 *
 * Not checked: whether the request was a `HEAD`; leave the body out there.
 *
 * @param error An `AccessError` becomes its status (see the table in the README), a `StoreError` 503,
 *   anything else 500 without detail.
 * @returns Status, headers and the body as text. The same error code gives the same bytes.
 * @throws TypeError on a `realm` or `resourceMetadata` that is not printable ASCII.
 * @example
 * const { status, headers, body } = toResponse(error, { realm: 'acme' });
 */
export function toResponse(error: unknown, options: ChallengeOptions): DenialResponse {
  const { realm, resourceMetadata } = fields(options, ['realm', 'resourceMetadata'], 'toResponse');
  const params = [`realm=${quoted(realm, 'realm')}`];
  const metadata =
    resourceMetadata === undefined ? [] : [`resource_metadata=${quoted(resourceMetadata, 'resourceMetadata')}`];
  const denial = isAccessError(error) ? error : undefined;
  const { status, title, detail, challenge } = denial ? ANSWERS[denial.code] : isStoreError(error) ? OUTAGE : BUG;
  const scope = denial?.requiredScopes?.join(' ');
  const code = challenge === 'bare' ? undefined : denial?.code;
  if (challenge === 'error') params.push(`error="${code}"`);
  if (challenge === 'error' && scope !== undefined) params.push(`scope=${quoted(scope, 'scope')}`);
  return {
    status,
    headers: {
      'Content-Type': 'application/problem+json',
      'Cache-Control': 'no-store',
      ...(challenge && { 'WWW-Authenticate': `Bearer ${[...params, ...metadata].join(', ')}` }),
      ...(status === 503 && { 'Retry-After': '1' }),
    },
    body: JSON.stringify({ type: 'about:blank', title, status, detail, error: code, scope }),
  };
}
