/** The requests and answers of the token endpoint. */
import { z } from 'zod';

const GRANT = 'urn:ietf:params:oauth:grant-type:token-exchange';
const TOKEN_TYPE = 'urn:ietf:params:oauth:token-type';
export const ACCESS_TOKEN = `${TOKEN_TYPE}:access_token`;
const TOKEN_TYPES = [ACCESS_TOKEN, `${TOKEN_TYPE}:jwt`] as const;

const SUBJECT = `Send the key as subject_token, and ${ACCESS_TOKEN} as subject_token_type.`;

const RESOURCE =
  'The interface that accepts the token: the URL of this service with /v1 or /mcp. ' +
  'Default: /v1.';

/** RFC 8693 §2.1. Other parameters are ignored (RFC 6749 §3.2). */
export const tokenRequest = z.object({
  grant_type: z.literal(GRANT, `Send ${GRANT} as grant_type.`),
  subject_token: z.string(SUBJECT).describe('The key.'),
  subject_token_type: z.literal(ACCESS_TOKEN, SUBJECT),
  requested_token_type: z
    .enum(TOKEN_TYPES, 'requested_token_type: only access tokens are available.')
    .optional(),
  scope: z
    .string()
    .optional()
    .describe("Some of the key's scopes, with a space between them. Default: all of them."),
  entity_uuid: z
    .array(z.string().meta({ format: 'uuid' }))
    .optional()
    .describe("Some of the key's entities, always with its own. Default: all of them."),
  resource: z.array(z.string()).optional().describe(RESOURCE),
  audience: z.array(z.string()).optional().describe("The same as 'resource'."),
});

export type TokenRequest = z.output<typeof tokenRequest>;

/** RFC 6749 §3.2: no parameter may be repeated; RFC 8693 §2.1 allows these. */
export const REPEATABLE: readonly string[] = ['entity_uuid', 'resource', 'audience'];

/** RFC 8693 §2.2.1. */
export const tokenAnswer = z.object({
  access_token: z.string(),
  issued_token_type: z.enum(TOKEN_TYPES),
  token_type: z.literal('Bearer'),
  expires_in: z.int().positive().describe('Seconds.'),
  // RFC 6749 §3.3 has no empty scope.
  scope: z.string().optional().describe('Absent if the token does not have any scope.'),
});

export type TokenAnswer = z.output<typeof tokenAnswer>;

/** RFC 6749 §5.2, RFC 8693 §2.2.2. */
export const tokenError = z.object({
  error: z.enum(['invalid_request', 'invalid_scope', 'invalid_target', 'unsupported_grant_type']),
  error_description: z.string(),
});

export type TokenError = z.output<typeof tokenError>;
