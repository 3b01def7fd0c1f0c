/**
 * `POST /v1/token` exchanges a key for a short-lived token as in RFC 8693, with the parameters and
 * errors of §§2.1 and 2.2. A key counts as an access token. `entity_uuid` narrows the entities, and
 * may be repeated.
 */
import type { Principal } from 'keyscope';
import { isAccessError, isStoreError, type StoreError, toResponse } from 'keyscope';
import type { ExchangedToken, TokenIssuer } from 'keyscope/jwt';
import { ExchangeError, isExchangeError } from 'keyscope/jwt';
import type { z } from 'zod';
import type { PlatformKeyring } from '../service/policy.ts';
import type { Answer } from '../service/problem.ts';
import type { TokenAnswer, TokenError, TokenRequest } from './token-request.ts';
import { ACCESS_TOKEN, REPEATABLE, tokenRequest } from './token-request.ts';

type Issuer = Pick<TokenIssuer, 'exchange'>;

export interface TokenService {
  readonly keyring: Pick<PlatformKeyring, 'admit' | 'authenticate'>;
  /** By audience, the value of `resource` or `audience`. The first one is the default. */
  readonly issuers: Readonly<Record<string, Issuer>>;
  readonly realm: string;
  /** Called before a request is answered with 503. */
  readonly onError: (error: StoreError) => void;
}

// ── Answers ─────────────────────────────────────────────────────────────────────────────────────

function answer(status: number, body: TokenAnswer | TokenError): Answer {
  const headers = {
    'Content-Type': 'application/json',
    // RFC 6749 §5.1 requires both.
    'Cache-Control': 'no-store',
    Pragma: 'no-cache',
  };
  return { status, headers, body: JSON.stringify(body) };
}

/** `error_description` may have only printable ASCII without quotes and backslashes. */
function refusal(error: TokenError['error'], description: string): Answer {
  return answer(400, { error, error_description: description.replace(/[^ !#-[\]-~]/g, "'") });
}

const malformed = (problem: string): ExchangeError => new ExchangeError('invalid_request', problem);

// ── Parameters ──────────────────────────────────────────────────────────────────────────────────

const FORM = /^application\/x-www-form-urlencoded[ \t]*(?:;|$)/i;
const ACTOR = ['actor_token', 'actor_token_type'];

type Fields = Readonly<Record<string, unknown>>;

/** An empty value of these would request everything that the key has instead of less. */
const NARROWING = ['scope', 'entity_uuid'];

/** Reads the parameters. An empty one counts as omitted (RFC 6749 §3.2), except for the above. */
function readFields(type: string | null | undefined, body: string): Fields {
  if (!FORM.test(type ?? ''))
    throw malformed('Send the parameters as application/x-www-form-urlencoded.');
  const fields = new Map<string, string | string[]>();
  for (const [name, value] of new URLSearchParams(body)) {
    if (value === '' && NARROWING.includes(name)) {
      throw malformed(
        'scope and entity_uuid need a value. Leave them out to get all that the key has.',
      );
    }
    if (value === '') continue;
    const before = fields.get(name);
    if (before === undefined) fields.set(name, REPEATABLE.includes(name) ? [value] : value);
    else if (typeof before === 'string') throw malformed('A parameter is repeated.');
    else before.push(value);
  }
  return Object.fromEntries(fields);
}

/** Returns the refusal for the first wrong parameter. */
function refusalOf(fields: Fields, { issues }: z.ZodError): Answer {
  const issue = issues[0];
  const isUnsupported = issue?.path[0] === 'grant_type' && Object.hasOwn(fields, 'grant_type');
  const code = isUnsupported ? 'unsupported_grant_type' : 'invalid_request';
  return refusal(code, issue?.message ?? '');
}

/** Returns the issuer for the requested service. A request may name only one known service. */
function requireIssuer({ issuers }: TokenService, request: TokenRequest): Issuer {
  const { resource = [], audience = [] } = request;
  const named = [...new Set([...resource, ...audience])];
  const target = named[0] ?? Object.keys(issuers)[0] ?? '';
  const isKnown = named.length <= 1 && Object.hasOwn(issuers, target);
  const issuer = isKnown ? issuers[target] : undefined;
  if (issuer !== undefined) return issuer;
  throw new ExchangeError('invalid_target', 'This server does not make tokens for that service.');
}

// ── The exchange ────────────────────────────────────────────────────────────────────────────────

const MALFORMED =
  'A parameter is malformed, or subject_token is a token from an exchange. Send the key.';

async function issueToken(
  issuer: Issuer,
  principal: Principal,
  request: TokenRequest,
): Promise<ExchangedToken> {
  const scopes = request.scope?.split(' ');
  try {
    return await issuer.exchange(principal, { scopes, accessibleEntities: request.entity_uuid });
  } catch (error) {
    // For a malformed parameter, the issuer's message would quote the input.
    if (isExchangeError(error) && error.code === 'invalid_request') throw malformed(MALFORMED);
    throw error;
  }
}

async function exchange(service: TokenService, request: TokenRequest): Promise<Answer> {
  const issuer = requireIssuer(service, request);
  const { keyring } = service;
  // Not from the cache, because the token outlives the request.
  const authenticate = () =>
    keyring.authenticate(`Bearer ${request.subject_token}`, { fresh: true });
  // Needs no scope. It is admitted so that events and usage include it.
  const { principal } = await keyring.admit(authenticate, { operation: 'exchangeToken' });
  const { accessToken, tokenType, expiresIn, scope } = await issueToken(issuer, principal, request);
  return answer(200, {
    access_token: accessToken,
    issued_token_type: request.requested_token_type ?? ACCESS_TOKEN,
    token_type: tokenType,
    expires_in: expiresIn,
    ...(scope !== '' && { scope }),
  });
}

/** Answers a request to the token endpoint. Rejects with errors that are not the client's fault. */
export async function answerToken(
  service: TokenService,
  type: string | null | undefined,
  body: string,
): Promise<Answer> {
  try {
    const fields = readFields(type, body);
    const read = tokenRequest.safeParse(fields);
    if (!read.success) return refusalOf(fields, read.error);
    if (ACTOR.some((name) => Object.hasOwn(fields, name)))
      throw malformed('actor_token is not supported.');
    return await exchange(service, read.data);
  } catch (error) {
    if (isExchangeError(error)) return refusal(error.code, error.message);
    // RFC 8693 §2.2.2: a subject token that is invalid for any reason is an invalid request.
    if (isAccessError(error)) return refusal('invalid_request', 'The subject_token is not valid.');
    if (!isStoreError(error)) throw error;
    service.onError(error);
    return toResponse(error, { realm: service.realm });
  }
}
