/**
 * The interface as an OpenAPI 3.1 document. It comes from the same route table, policy and schemas
 * that the servers use. This file adds only the service's own refusals; keyscope adds those of the
 * guards.
 */
import { STATUS_CODES } from 'node:http';
import { secureDocument } from 'keyscope/openapi';
import { z } from 'zod';
import { entity } from '../service/inputs.ts';
import { policy } from '../service/policy.ts';
import type { Route } from '../service/route.ts';
import { routes } from '../service/routes.ts';
import { shapes } from '../service/shapes.ts';
import { PREFIX } from './boot.ts';
import { REALM } from './http.ts';
import { tokenAnswer, tokenError, tokenRequest } from './token-request.ts';
import { keySet } from './tokens.ts';

type Json = Readonly<Record<string, unknown>>;

// ── Schemas ─────────────────────────────────────────────────────────────────────────────────────

const ANSWERS: Readonly<Record<string, z.ZodType>> = {
  ...shapes,
  Token: tokenAnswer,
  TokenError: tokenError,
  KeySet: keySet,
};
const NAMES = new Map(Object.entries(ANSWERS).map(([name, schema]) => [schema, name]));
const uri = (name: string): string => `#/components/schemas/${name}`;

/** OpenAPI 3.1 accepts JSON Schema 2020-12; dialect and base URI belong to the document. */
function embedded({ $schema: _dialect, $id: _uri, ...schema }: Json): Json {
  return schema;
}

/** Returns the schema of a request, before parsing. */
function sent(schema: z.ZodType): Json {
  return embedded(z.toJSONSchema(schema, { io: 'input' }));
}

/** Returns the schemas of all answers by name. */
function answered(): Json {
  const registry = z.registry<{ id: string }>();
  for (const [schema, id] of NAMES) registry.add(schema, { id });
  const { schemas } = z.toJSONSchema(registry, { uri });
  return Object.fromEntries(
    Object.entries(schemas).map(([name, schema]) => [name, embedded(schema)]),
  );
}

function content(schema: Json, type = 'application/json'): Json {
  return { content: { [type]: { schema } } };
}

/** Returns a response that refers to one of the schemas above. */
function answer(description: string | undefined, schema: z.ZodType | null): Json {
  if (schema === null) return { description };
  const name = NAMES.get(schema);
  if (name === undefined)
    throw new TypeError('an answer has no name: add its schema to the shapes');
  const type = schema === shapes.Problem ? 'application/problem+json' : 'application/json';
  return { description, ...content({ $ref: uri(name) }, type) };
}

// ── Refusals ────────────────────────────────────────────────────────────────────────────────────

interface Refused {
  readonly status: number;
  readonly description: string;
  /** Selects the routes that refuse in this way. */
  readonly by: (route: Route) => boolean;
}

const REFUSALS: Readonly<Record<string, Refused>> = {
  NotFound: {
    status: 404,
    description: 'There is nothing with this id in the entity.',
    by: ({ id }) => id !== null,
  },
  Conflict: {
    status: 409,
    description: 'The state of what is there does not allow it.',
    by: ({ method }) => method === 'POST' || method === 'PATCH',
  },
  ContentTooLarge: {
    status: 413,
    description: 'The body is too large.',
    by: ({ method }) => method !== 'GET',
  },
  UnsupportedMediaType: {
    status: 415,
    description: 'The body is of another type, encoded or compressed.',
    by: ({ method }) => method !== 'GET',
  },
};

const RESPONSES: Json = Object.fromEntries(
  Object.entries(REFUSALS).map(([name, { description }]) => [
    name,
    answer(description, shapes.Problem),
  ]),
);

/** Returns references to the refusals that apply, by status. */
function refusals(applies: (name: string, refused: Refused) => boolean): Json {
  const references: Record<string, Json> = {};
  for (const [name, refused] of Object.entries(REFUSALS)) {
    if (applies(name, refused))
      references[refused.status] = { $ref: `#/components/responses/${name}` };
  }
  return references;
}

// ── Operations ──────────────────────────────────────────────────────────────────────────────────

function parameters(at: 'path' | 'query', shape: z.ZodRawShape): readonly Json[] {
  const { properties } = sent(z.object(shape)) as { properties: Readonly<Record<string, Json>> };
  return Object.entries(properties).map(([name, { description, ...schema }]) => ({
    name,
    in: at,
    required: at === 'path',
    description,
    schema,
  }));
}

function operationOf(route: Route): Json {
  const { operation, summary, id, query, body, status } = route;
  return {
    operationId: operation,
    summary,
    parameters: [
      ...(id === null ? [] : parameters('path', { id })),
      ...parameters('query', { entity_uuid: entity.optional(), ...query.shape }),
    ],
    ...(body !== null && { requestBody: { required: true, ...content(sent(body)) } }),
    responses: {
      [status]: answer(STATUS_CODES[status], route.answer),
      ...refusals((_, { by }) => by(route)),
    },
  };
}

/** The exchange, which has no guard: the credential is in the request's body. */
const EXCHANGE: Readonly<Record<string, Json>> = {
  '/v1/token': {
    post: {
      operationId: 'exchangeToken',
      summary: 'Exchange a key for a short-lived token (RFC 8693).',
      security: [],
      requestBody: {
        required: true,
        ...content(sent(tokenRequest), 'application/x-www-form-urlencoded'),
      },
      responses: {
        200: answer('OK', tokenAnswer),
        400: answer(
          'The request is refused, or the key is (RFC 6749 §5.2, RFC 8693 §2.2.2).',
          tokenError,
        ),
        ...refusals((name) => name === 'ContentTooLarge'),
        503: { $ref: '#/components/responses/AccessUnavailable' },
      },
    },
  },
  '/.well-known/jwks.json': {
    get: {
      operationId: 'readKeySet',
      summary: 'Read the public keys that tokens are signed with: a JSON Web Key Set (RFC 7517).',
      security: [],
      responses: { 200: answer('OK', keySet) },
    },
  },
};

/** The other endpoints without a guard. */
const OPEN: Readonly<Record<string, Json>> = {
  '/.well-known/oauth-protected-resource/mcp': {
    get: {
      operationId: 'readMcpMetadata',
      summary: 'Read what MCP clients need to know before they have a key (RFC 9728).',
      security: [],
      responses: {
        200: answer('OK', shapes.ProtectedResource),
        404: answer('This server serves no MCP.', shapes.Problem),
      },
    },
  },
};

/** Returns the routes by path and by method. */
function routePaths(): Readonly<Record<string, Json>> {
  const paths: Record<string, Json> = {};
  for (const route of routes) {
    const path = route.path.replace(/:([a-z]+)/g, '{$1}');
    paths[path] = { ...paths[path], [route.method.toLowerCase()]: operationOf(route) };
  }
  return paths;
}

export interface OpenApiOptions {
  /** Whether the server makes tokens. Default: `true`. */
  readonly tokens?: boolean;
}

/** Returns the document. `server` is the configured origin that clients use. */
export function openApi(server: string, { tokens = true }: OpenApiOptions = {}): Json {
  const document = {
    openapi: '3.1.0',
    info: {
      title: 'Deception platform',
      version: '1',
      license: { name: 'MIT', identifier: 'MIT' },
    },
    servers: [{ url: server }],
    paths: { ...routePaths(), ...(tokens && EXCHANGE), ...OPEN },
    components: { schemas: answered(), responses: RESPONSES },
  };
  return secureDocument(document, { policy, prefix: PREFIX, realm: REALM });
}
