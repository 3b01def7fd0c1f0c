/**
 * From an error to a response. Header values are quoted here and nowhere else.
 *
 *   challenge = "Bearer" 1*SP auth-param *( ", " auth-param )   ; RFC 6750 §3, RFC 9110 §11.6.1
 *
 * Nothing in a response depends on why a credential failed: all answers for one code are the same bytes.
 */
import { type AccessErrorCode, DENIALS, isAccessError, isStoreError } from './errors.js';
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

const OUTAGE = [503, 'Credentials cannot be checked at the moment. Try again shortly.'] as const;
const BUG = [500, 'Something went wrong.'] as const;

// RFC 9110 §15: with `about:blank` as the type, a problem's title is the status phrase (RFC 9457 §4.2.1).
// biome-ignore format: one line
const TITLES = { 400: 'Bad Request', 401: 'Unauthorized', 403: 'Forbidden', 404: 'Not Found', 409: 'Conflict',
  500: 'Internal Server Error', 503: 'Service Unavailable' } as const;

// The codes with a challenge; it is bare where no credential was sent (RFC 6750 §3.1).
// biome-ignore format: one line
const CHALLENGED: Partial<Record<AccessErrorCode, 'bare' | 'error'>> = {
  missing_credentials: 'bare', invalid_request: 'error', invalid_token: 'error', insufficient_scope: 'error' };

/** Every parameter that is given, as a quoted-string (RFC 9110 §5.6.4): other characters could end the header line. */
function authParams(params: Readonly<Record<string, unknown>>): string {
  const given = Object.entries(params).filter(([, value]) => value !== undefined);
  const written = given.map(([name, value]) => {
    expect(typeof value === 'string' && /^[ -~]*$/.test(value), `${name}: pass printable ASCII text`);
    return `${name}="${value.replace(/["\\]/g, '\\$&')}"`;
  });
  return written.join(', ');
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
  const denial = isAccessError(error) ? error : undefined;
  const [status, detail] = denial ? DENIALS[denial.code] : isStoreError(error) ? OUTAGE : BUG;
  const challenged = denial && CHALLENGED[denial.code];
  const code = challenged === 'bare' ? undefined : denial?.code;
  const scope = denial?.requiredScopes?.join(' ');
  // Written whether it is sent or not, so that a malformed realm shows at the first denial of any kind.
  const params = authParams({ realm: realm ?? null, error: code, scope, resource_metadata: resourceMetadata });
  const headers: Record<string, string> = { 'Content-Type': 'application/problem+json', 'Cache-Control': 'no-store' };
  if (challenged) headers['WWW-Authenticate'] = `Bearer ${params}`;
  if (status === 503) headers['Retry-After'] = '1';
  const body = { type: 'about:blank', title: TITLES[status], status, detail, error: code, scope };
  return { status, headers, body: JSON.stringify(body) };
}
