/** Answers errors: a 400 says which input is allowed, a 401 how to sign in. */
import { isAccessError, isInputError } from '../core/errors.js';
import { answerError } from '../http/answer.js';
import { ShownInputError } from '../schemas/closed-object.js';

/**
 * The rules of the keyring that the schemas do not check, by field. The keyring's own messages are
 * for developers and may quote the input.
 */
const RULES: ReadonlyMap<string, string> = new Map([
  ['name', 'name: no API key; write its id or hint'],
  ['scopes', 'scopes: scopes of this service; a wildcard grants no reserved one, so name each'],
  ['accessibleEntities', 'accessibleEntities: at most 1000 entities, your own included'],
  ['justification', 'justification: say why the reserved scopes are needed; no API key'],
  ['expiresAt', 'expiresAt: a time in the future'],
  ['reason', 'reason: 1 to 200 characters, no control or invisible ones; no API key'],
  ['keyId', 'keyId: this key is your own; revoke it, or rotate it to fewer entities'],
]);

/** Answers a denial, a malformed input, an outage or a bug. */
export function answerThrown(error: unknown, { headers }: Request, realm: string): Response {
  const isUnknownPerson = isFromPage(headers) && isUnauthenticated(error);
  const detail = isUnknownPerson ? 'Sign in, then send the request again.' : ruleOf(error);
  const response = answerError(error, { realm }, detail);
  if (!isUnknownPerson) return response;
  // RFC 9110 §15.5.2 requires a challenge with each 401. A person does not have a key to send, so
  // the scheme names a cookie. It is not registered, and browsers ignore unknown schemes.
  const challenge = String(response.headers.get('www-authenticate'));
  response.headers.set('WWW-Authenticate', challenge.replace('Bearer', 'Cookie'));
  return response;
}

function isUnauthenticated(error: unknown): boolean {
  if (!isAccessError(error)) return false;
  return error.code === 'missing_credentials' || error.code === 'invalid_token';
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
