/**
 * From an error to a response. Header values are quoted here and nowhere else.
 *
 *   challenge = "Bearer" 1*SP auth-param *( ", " auth-param )   ; RFC 6750 §3, RFC 9110 §11.6.1
 *
 * Nothing in a response depends on why a credential failed: the same code and required scopes give
 * the same bytes.
 */
import { DENIALS, expect, fields, isAccessError, isStoreError } from './errors.js';
import { isScope } from './scope.js';

/**
 * A response as data, for any framework to send. `body` is `application/problem+json` (RFC 9457).
 */
export type DenialResponse = Readonly<{
  status: number;
  headers: Record<string, string>;
  body: string;
}>;

/**
 * How a service presents itself in challenges, in printable ASCII. `realm` names the protected
 * space (RFC 9110 §11.5), `resourceMetadata` is the URL of the protected resource metadata (RFC
 * 9728 §5.1).
 */
export type ChallengeOptions = {
  readonly realm: string;
  readonly resourceMetadata?: string | undefined;
};

const OUTAGE = [
  503,
  'Service Unavailable',
  'Credentials cannot be checked at the moment; try again.',
  'none',
] as const;
const BUG = [500, 'Internal Server Error', 'Something went wrong.', 'none'] as const;

/**
 * Writes a parameter as a quoted-string (RFC 9110 §5.6.4): other characters could end the header
 * line.
 */
function authParam([name, value]: readonly [string, unknown]): string {
  expect(typeof value === 'string' && /^[ -~]*$/.test(value), `${name}: pass printable ASCII text`);
  // Of printable ASCII, JSON escapes only the quote and the backslash, each with a backslash.
  return `${name}=${JSON.stringify(value)}`;
}

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
  const { realm = null, resourceMetadata } = fields(
    options,
    ['realm', 'resourceMetadata'],
    'toResponse',
  );
  const denial = isAccessError(error) ? error : undefined;
  const [status, title, detail, challenge] = denial
    ? DENIALS[denial.code]
    : isStoreError(error)
      ? OUTAGE
      : BUG;
  const code = challenge === 'bare' ? undefined : denial?.code;
  // An error of another copy may be of another version, so its fields are checked before they are
  // written.
  const scope = denial?.requiredScopes?.every?.(isScope)
    ? denial.requiredScopes.join(' ')
    : undefined;
  // Written whether it is sent or not, so that a malformed realm shows at the first denial of any
  // kind.
  const params = Object.entries({ realm, error: code, scope, resource_metadata: resourceMetadata });
  const written = params.filter(([, value]) => value !== undefined).map(authParam);
  const headers: Record<string, string> = {
    'Content-Type': 'application/problem+json',
    'Cache-Control': 'no-store',
  };
  if (challenge !== 'none') headers['WWW-Authenticate'] = `Bearer ${written.join(', ')}`;
  if (status === 503) headers['Retry-After'] = '1';
  // `about:blank` requires the status phrase as the title (RFC 9457 §4.2.1).
  return {
    status,
    headers,
    body: JSON.stringify({ type: 'about:blank', title, status, detail, error: code, scope }),
  };
}
