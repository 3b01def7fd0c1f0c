/**
 * `POST /v1/token`: a key for a short-lived token, in the manner of RFC 8693. Parameters and errors are those of its
 * §§2.1 and 2.2; a key counts as an access token there. `entity_uuid`, which may be repeated, narrows the entities.
 */
import type { Keyring } from 'keyscope';
import { definePolicy, isAccessError, isStoreError, toResponse } from 'keyscope';
import type { ExchangedToken, ExchangeErrorCode, ExchangeInput, TokenIssuer } from 'keyscope/jwt';
import { ExchangeError, isExchangeError } from 'keyscope/jwt';
import { catalog } from './catalog.ts';
import type { Answer } from './problem.ts';

const GRANT = 'urn:ietf:params:oauth:grant-type:token-exchange';
const ACCESS_TOKEN = 'urn:ietf:params:oauth:token-type:access_token';
const TOKEN_TYPES = [ACCESS_TOKEN, 'urn:ietf:params:oauth:token-type:jwt'];
const FORM = /^application\/x-www-form-urlencoded[ \t]*(?:;|$)/i;
// RFC 6749 §3.2: none may be repeated; RFC 8693 §2.1 lets these.
const REPEATABLE = ['resource', 'audience', 'entity_uuid'];

export interface TokenService {
  readonly keyring: Pick<Keyring, 'admit'>;
  /** By audience, which is what `resource` and `audience` may say. The first is the default. */
  readonly issuers: Readonly<Record<string, Pick<TokenIssuer, 'exchange'>>>;
  readonly realm: string;
}

const json = (status: number, body: object): Answer => ({
  status,
  // RFC 6749 §5.1 wants both.
  headers: { 'Content-Type': 'application/json', 'Cache-Control': 'no-store', Pragma: 'no-cache' },
  body: JSON.stringify(body),
});

/** RFC 6749 §5.2. `error_description` takes printable ASCII without quotes and backslashes. */
const refusal = (error: string, description: string): Answer =>
  json(400, { error, error_description: description.replace(/[^ !#-[\]-~]/g, "'") });

// Any key may be exchanged; admitted like any operation, so that events and usage tell of it.
const policy = definePolicy(catalog, { exchangeToken: [] });

/** For what the issuer refuses: its own words quote what was sent. */
const DESCRIPTIONS: Readonly<Record<ExchangeErrorCode, string>> = {
  invalid_request: 'A parameter is malformed, or the subject_token was made by an exchange; send the key.',
  invalid_scope: 'The key was not granted all of these scopes.',
  invalid_target: 'The key cannot address all of these entities.',
};

const malformed = (problem: string) => new ExchangeError('invalid_request', problem);

/** The parameters; one without a value counts as left out (RFC 6749 §3.2). */
function read(type: string | null | undefined, body: string): URLSearchParams {
  if (!FORM.test(type ?? '')) throw malformed('Send the parameters as application/x-www-form-urlencoded.');
  const given = new URLSearchParams([...new URLSearchParams(body)].filter(([, value]) => value !== ''));
  const repeated = [...given.keys()].find((name) => !REPEATABLE.includes(name) && given.getAll(name).length > 1);
  if (repeated !== undefined) throw malformed('A parameter is repeated.');
  return given;
}

/** One service, and one that tokens are made for. */
function issuerOf({ issuers }: TokenService, given: URLSearchParams): Pick<TokenIssuer, 'exchange'> {
  const targets = new Set([...given.getAll('resource'), ...given.getAll('audience')]);
  const [target = Object.keys(issuers)[0] ?? '', another] = targets;
  const issuer = another === undefined && Object.hasOwn(issuers, target) ? issuers[target] : undefined;
  if (issuer === undefined) throw new ExchangeError('invalid_target', 'No tokens are made for this service.');
  return issuer;
}

function narrowing(given: URLSearchParams): ExchangeInput {
  const [scope, entities] = [given.get('scope'), given.getAll('entity_uuid')];
  return {
    ...(scope !== null && { scopes: scope.split(' ') }),
    ...(entities.length > 0 && { accessibleEntities: entities }),
  };
}

async function exchange(service: TokenService, given: URLSearchParams): Promise<Answer> {
  const subject = given.get('subject_token');
  if (subject === null || given.get('subject_token_type') !== ACCESS_TOKEN)
    throw malformed(`Send the key as subject_token, and ${ACCESS_TOKEN} as subject_token_type.`);
  if (!TOKEN_TYPES.includes(given.get('requested_token_type') ?? ACCESS_TOKEN))
    throw malformed('requested_token_type: access tokens alone are made here.');
  if (given.has('actor_token') || given.has('actor_token_type')) throw malformed('Nobody acts for another here.');
  const [issuer, input] = [issuerOf(service, given), narrowing(given)];
  const { principal } = await service.keyring.admit(`Bearer ${subject}`, { policy, operation: 'exchangeToken' });
  const { accessToken, tokenType, expiresIn, scope } = await issuer.exchange(principal, input).catch(described);
  const issued = { access_token: accessToken, issued_token_type: given.get('requested_token_type') ?? ACCESS_TOKEN };
  // RFC 6749 §3.3 has no empty scope.
  return json(200, { ...issued, token_type: tokenType, expires_in: expiresIn, ...(scope !== '' && { scope }) });
}

function described(error: unknown): ExchangedToken {
  throw isExchangeError(error) ? new ExchangeError(error.code, DESCRIPTIONS[error.code]) : error;
}

/** Answers a request to the token endpoint. Rejects with what is no fault of the client's. */
export async function answerToken(
  service: TokenService,
  type: string | null | undefined,
  body: string,
): Promise<Answer> {
  try {
    const given = read(type, body);
    const grant = given.get('grant_type');
    if (grant !== GRANT)
      return refusal(grant === null ? 'invalid_request' : 'unsupported_grant_type', `Send ${GRANT} as grant_type.`);
    return await exchange(service, given);
  } catch (error) {
    if (isExchangeError(error)) return refusal(error.code, error.message);
    // RFC 8693 §2.2.2: a subject token that is invalid for any reason is an invalid request.
    if (isAccessError(error)) return refusal('invalid_request', 'The subject_token is not valid.');
    if (isStoreError(error)) return toResponse(error, { realm: service.realm });
    throw error;
  }
}
