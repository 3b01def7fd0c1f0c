/** Answers errors: a 400 says which input is allowed, and a person reads nothing about keys. */
import { AccessError, isAccessError, isInputError } from '../core/errors.js';
import { answerError } from '../http/answer.js';
import { ShownInputError } from '../schemas/closed-object.js';

/**
 * The rules of the keyring that the schemas do not check, by field. The keyring's own messages are
 * for developers and may quote the input.
 */
const RULES: ReadonlyMap<string, string> = new Map([
  ['name', 'name: no API key; write its id or hint'],
  ['scopes', 'scopes: name scopes that this service has; no wildcard grants a reserved one'],
  [
    'accessibleEntities',
    'accessibleEntities: at most 1000 with your own; UUIDs in lower case, or ids as you know them',
  ],
  ['justification', 'justification: say why the reserved scopes are needed; no API key'],
  ['expiresAt', 'expiresAt: a time in the future'],
  ['trust', 'trust: an issuer that this service lists, and a claim that it gives to nobody else'],
  ['reason', 'reason: 1 to 200 characters, no control or invisible ones; no API key'],
  ['keyId', 'keyId: the id of a key, not the key; instead of withdrawing from your own, revoke it'],
]);

/** The denials for `null` and `'forbidden'` from `authorityOf`. */
export const SIGNED_OUT: AccessError = new AccessError('missing_credentials', 'no_header');
export const FORBIDDEN: AccessError = new AccessError('insufficient_scope', 'scope_missing');

/** The sentences for people, by the code of the denial. Those of `toResponse` are about keys. */
const FOR_PEOPLE: ReadonlyMap<string, string> = new Map([
  ['missing_credentials', 'Sign in.'],
  ['invalid_token', 'Sign in.'],
  ['insufficient_scope', 'Your role does not allow this.'],
]);

/** Answers a denial, a malformed input, an outage or a bug. */
export function answerThrown(error: unknown, { headers }: Request, realm: string): Response {
  const isPage = isFromPage(headers);
  const isForPerson = isPage || error === SIGNED_OUT || error === FORBIDDEN;
  const detail = isForPerson && isAccessError(error) ? FOR_PEOPLE.get(error.code) : undefined;
  const response = answerError(error, { realm }, detail ?? ruleOf(error));
  if (!isPage || detail === undefined) return response;
  // RFC 9110 §15.5.2 requires a challenge with each 401. A person does not have a key to send, so
  // the scheme names a cookie. It is not registered, and browsers ignore unknown schemes.
  const challenge = String(response.headers.get('www-authenticate'));
  response.headers.set('WWW-Authenticate', challenge.replace('Bearer', 'Cookie'));
  return response;
}

/** Checks whether a page sent the request, with or without a session, and not a program. */
function isFromPage(headers: Headers): boolean {
  if (headers.has('authorization')) return false;
  return headers.has('cookie') || headers.has('sec-fetch-site');
}

/** Returns the rule that the input breaks. */
function ruleOf(error: unknown): string | undefined {
  if (error instanceof ShownInputError) return error.message;
  return isInputError(error) ? RULES.get(error.field) : undefined;
}
