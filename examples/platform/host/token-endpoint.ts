/**
 * `POST /v1/token`: exchanges a key for a short-lived token, in the manner of RFC 8693. Parameters
 * and errors are those of its §§2.1 and 2.2; a key counts as an access token. `entity_uuid`, which
 * may be repeated, narrows the entities.
 */
import type { Keyring } from 'keyscope';
import { definePolicy, isAccessError, isStoreError, type StoreError, toResponse } from 'keyscope';
import type { ExchangedToken, TokenIssuer } from 'keyscope/jwt';
import { ExchangeError, isExchangeError } from 'keyscope/jwt';
import { z } from 'zod';
import { catalog } from '../service/catalog.ts';
import type { Answer } from '../service/problem.ts';

const GRANT = 'urn:ietf:params:oauth:grant-type:token-exchange';
const ACCESS_TOKEN = 'urn:ietf:params:oauth:token-type:access_token';
const TOKEN_TYPES = [ACCESS_TOKEN, 'urn:ietf:params:oauth:token-type:jwt'] as const;
const FORM = /^application\/x-www-form-urlencoded[ \t]*(?:;|$)/i;

// ── What is sent and answered ─────────────────────────────────────────────────────────────────────────

const SUBJECT = `Send the key as subject_token, and ${ACCESS_TOKEN} as subject_token_type.`;

/** RFC 8693 §2.1. Other parameters are ignored (RFC 6749 §3.2). */
export const tokenRequest = z.object({
  grant_type: z.literal(GRANT, `Send ${GRANT} as grant_type.`),
  subject_token: z.string(SUBJECT).describe('The key.'),
  subject_token_type: z.literal(ACCESS_TOKEN, SUBJECT),
  requested_token_type: z
    .enum(TOKEN_TYPES, 'requested_token_type: access tokens alone are made here.')
    .optional(),
  scope: z
    .string()
    .optional()
    .describe("Scopes with a space between them, of the key's. Left out, it is all of them."),
  entity_uuid: z
    .array(z.string().meta({ format: 'uuid' }))
    .optional()
    .describe("Entities, of the key's; its own is always among them. Left out, it is all of them."),
  resource: z
    .array(z.string())
    .optional()
    .describe(
      'Which door the token is to open: the URL of this service with /v1, or with /mcp. Left out, it is /v1.',
    ),
  audience: z.array(z.string()).optional().describe("The same as 'resource'."),
});
// RFC 6749 §3.2: no parameter may be repeated; RFC 8693 §2.1 allows these.
const REPEATABLE = ['entity_uuid', 'resource', 'audience'];
const ACTOR = ['actor_token', 'actor_token_type'];

/** RFC 8693 §2.2.1. */
export const tokenAnswer = z.object({
  access_token: z.string(),
  issued_token_type: z.enum(TOKEN_TYPES),
  token_type: z.literal('Bearer'),
  expires_in: z.int().positive().describe('Seconds.'),
  // RFC 6749 §3.3 has no empty scope.
  scope: z.string().optional().describe('Left out where the token has none.'),
});

/** RFC 6749 §5.2, RFC 8693 §2.2.2. */
export const tokenError = z.object({
  error: z.enum(['invalid_request', 'invalid_scope', 'invalid_target', 'unsupported_grant_type']),
  error_description: z.string(),
});

const json = (
  status: number,
  body: z.output<typeof tokenAnswer> | z.output<typeof tokenError>,
): Answer => ({
  status,
  // RFC 6749 §5.1 requires both.
  headers: { 'Content-Type': 'application/json', 'Cache-Control': 'no-store', Pragma: 'no-cache' },
  body: JSON.stringify(body),
});

/** `error_description` accepts printable ASCII without quotes and backslashes. */
const refusal = (error: z.output<typeof tokenError>['error'], description: string): Answer =>
  json(400, { error, error_description: description.replace(/[^ !#-[\]-~]/g, "'") });

// ── The exchange ──────────────────────────────────────────────────────────────────────────────────────

export interface TokenService {
  readonly keyring: Pick<Keyring, 'admit'>;
  /** By audience, which is what `resource` and `audience` may name. The first is the default. */
  readonly issuers: Readonly<Record<string, Pick<TokenIssuer, 'exchange'>>>;
  readonly realm: string;
  /** Called before a request is answered with 503. */
  readonly onOutage: (error: StoreError) => void;
}

// Any key may be exchanged; admitted like any operation, so that events and usage cover it.
const policy = definePolicy(catalog, { exchangeToken: [] });

const MALFORMED =
  'A parameter is malformed, or the subject_token was made by an exchange; send the key.';
const malformed = (problem: string) => new ExchangeError('invalid_request', problem);

/** The parameters; one without a value counts as omitted (RFC 6749 §3.2). */
function read(type: string | null | undefined, body: string): Readonly<Record<string, unknown>> {
  if (!FORM.test(type ?? ''))
    throw malformed('Send the parameters as application/x-www-form-urlencoded.');
  const given = new URLSearchParams(
    [...new URLSearchParams(body)].filter(([, value]) => value !== ''),
  );
  const lists = REPEATABLE.filter((name) => given.has(name)).map(
    (name) => [name, given.getAll(name)] as const,
  );
  const others = [...given].filter(([name]) => !REPEATABLE.includes(name));
  const fields = Object.fromEntries<unknown>([...others, ...lists]);
  if (Object.keys(fields).length < others.length + lists.length)
    throw malformed('A parameter is repeated.');
  return fields;
}

type Given = z.output<typeof tokenRequest>;

/**
 * The issuer for the service that was named; only one may be named, and only one that tokens are
 * made for.
 */
function issuerOf(
  { issuers }: TokenService,
  { resource = [], audience = [] }: Given,
): Pick<TokenIssuer, 'exchange'> {
  const [target = Object.keys(issuers)[0] ?? '', another] = new Set([...resource, ...audience]);
  const issuer =
    another === undefined && Object.hasOwn(issuers, target) ? issuers[target] : undefined;
  if (issuer === undefined)
    throw new ExchangeError('invalid_target', 'No tokens are made for this service.');
  return issuer;
}

async function exchange(service: TokenService, given: Given): Promise<Answer> {
  const { subject_token, requested_token_type = ACCESS_TOKEN } = given;
  const issuer = issuerOf(service, given);
  const { principal } = await service.keyring.admit(`Bearer ${subject_token}`, {
    policy,
    operation: 'exchangeToken',
  });
  const input = { scopes: given.scope?.split(' '), accessibleEntities: given.entity_uuid };
  const { accessToken, tokenType, expiresIn, scope } = await issuer
    .exchange(principal, input)
    .catch(described);
  const issued = { access_token: accessToken, issued_token_type: requested_token_type };
  return json(200, {
    ...issued,
    token_type: tokenType,
    expires_in: expiresIn,
    ...(scope !== '' && { scope }),
  });
}

/** The issuer's own words, unless a parameter is malformed: then they quote what was sent. */
function described(error: unknown): ExchangedToken {
  throw isExchangeError(error) && error.code === 'invalid_request' ? malformed(MALFORMED) : error;
}

/** Answers a request to the token endpoint. Rejects with errors that are not the client's fault. */
export async function answerToken(
  service: TokenService,
  type: string | null | undefined,
  body: string,
): Promise<Answer> {
  try {
    const fields = read(type, body);
    const { data, error } = tokenRequest.safeParse(fields);
    if (data === undefined) {
      const issue = error.issues[0];
      const unsupported = issue?.path[0] === 'grant_type' && Object.hasOwn(fields, 'grant_type');
      return refusal(
        unsupported ? 'unsupported_grant_type' : 'invalid_request',
        issue?.message ?? '',
      );
    }
    if (ACTOR.some((name) => Object.hasOwn(fields, name)))
      throw malformed('Nobody acts for another here.');
    return await exchange(service, data);
  } catch (error) {
    if (isExchangeError(error)) return refusal(error.code, error.message);
    // RFC 8693 §2.2.2: a subject token that is invalid for any reason is an invalid request.
    if (isAccessError(error)) return refusal('invalid_request', 'The subject_token is not valid.');
    if (!isStoreError(error)) throw error;
    service.onOutage(error);
    return toResponse(error, { realm: service.realm });
  }
}
