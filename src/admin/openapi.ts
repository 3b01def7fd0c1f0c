/**
 * Describes the endpoints as a part of an OpenAPI 3.1 document, from the table that routes
 * requests. This file adds the shapes of answers and refusals.
 */
import { assert, isObject, readFields } from '../core/input.js';
import { readBasePath } from '../http/fetch-handler.js';
import { addressedKeyJsonSchema } from '../schemas/addressed-key.js';
import { damagedKeyJsonSchema } from '../schemas/damaged-key.js';
import type { JsonSchema } from '../schemas/json-schema.js';
import { keyInfoJsonSchema } from '../schemas/key-info.js';
import { DEFAULT_BASE_PATH, ROUTES, type Route } from './endpoints.js';

/** The options of {@link keyAdminOpenApi}. */
export interface KeyAdminOpenApiOptions {
  /** The path of `createKeyAdmin`, with the prefix that the document needs. Default: `/keys`. */
  readonly basePath?: string | undefined;
  /**
   * Security Scheme Objects by name. Each operation accepts any one of them. Default: none; the
   * operations then have no `security`, so that of the whole document applies.
   */
  readonly securitySchemes?: Readonly<Record<string, object>> | undefined;
}

/** The parts to merge into an OpenAPI 3.1 document. */
export interface KeyAdminOpenApi {
  /** Path Item Objects by path. */
  readonly paths: Readonly<Record<string, object>>;
  /** The components that the paths refer to. All names contain `Key`, except security schemes. */
  readonly components: {
    readonly schemas: Readonly<Record<string, object>>;
    readonly responses: Readonly<Record<string, object>>;
    readonly securitySchemes: Readonly<Record<string, object>>;
  };
}

type Json = JsonSchema;

// ── Schemas ─────────────────────────────────────────────────────────────────────────────────────

const UUID = { type: 'string', format: 'uuid' };

function reference(name: string): Json {
  return { $ref: `#/components/schemas/${name}` };
}

function content(name: string, type = 'application/json'): Json {
  return { content: { [type]: { schema: reference(name) } } };
}

/** Returns the schema of an object with these fields. All are required unless `optional`. */
function closed(
  properties: Readonly<Record<string, Json>>,
  optional: readonly string[] = [],
): Json {
  const required = Object.keys(properties).filter((name) => !optional.includes(name));
  return { type: 'object', properties, required, additionalProperties: false };
}

const ANSWERS: Readonly<Record<Exclude<Route['answer'], null>, Json>> = {
  KeyPage: closed({
    keys: {
      type: 'array',
      items: { anyOf: ['KeyInfo', 'AddressedKey', 'DamagedKey'].map(reference) },
    },
    next: { type: ['string', 'null'], description: 'Pass it as `after`; null on the last page.' },
  }),
  KeyOrDamagedKey: { anyOf: ['KeyInfo', 'DamagedKey'].map(reference) },
  NewKey: closed({
    key: { type: 'string', description: 'The key. It is not shown again.' },
    info: reference('KeyInfo'),
  }),
  NewKeylessKey: closed({ info: reference('KeyInfo') }),
  RevokedKeys: closed({ revoked: { type: 'array', items: UUID } }),
};

/** A problem document (RFC 9457), with the members that `toResponse` adds. */
const PROBLEM = closed(
  {
    type: { type: 'string' },
    title: { type: 'string' },
    status: { type: 'integer' },
    detail: { type: 'string' },
    error: { type: 'string', description: 'The kind of refusal, in one word.' },
    field: { type: 'string', description: 'The malformed field; `input` for the whole input.' },
    scope: { type: 'string', description: 'The scopes that the operation needs.' },
  },
  ['error', 'field', 'scope'],
);

/** Returns the schemas of all bodies. */
function schemas(): Readonly<Record<string, Json>> {
  const sent = ROUTES.filter(({ method }) => method === 'POST').map(({ input }) => input);
  return {
    KeyInfo: keyInfoJsonSchema,
    AddressedKey: addressedKeyJsonSchema,
    DamagedKey: damagedKeyJsonSchema,
    ...Object.fromEntries(sent.map(({ name, json }) => [name, json])),
    ...ANSWERS,
    KeyProblem: PROBLEM,
  };
}

// ── Refusals ────────────────────────────────────────────────────────────────────────────────────

interface Refused {
  readonly status: number;
  readonly description: string;
  /** A header with more information. */
  readonly header?: string;
  /** Selects the routes that refuse in this way. Default: all. */
  readonly by?: (route: Route) => boolean;
}

const isPost = ({ method }: Route): boolean => method === 'POST';
const namesKey = ({ path }: Route): boolean => path.startsWith('/{keyId}');

const REFUSALS: Readonly<Record<string, Refused>> = {
  KeyBadRequest: { status: 400, description: 'Key id, query, body or credential is malformed.' },
  KeyUnauthorized: {
    status: 401,
    description: 'Nobody is signed in, or the credential is missing or not valid.',
    header: 'WWW-Authenticate',
  },
  KeyForbidden: {
    status: 403,
    description: 'The caller may not do this, or may not grant these rights.',
  },
  KeyNotFound: { status: 404, description: 'The entity does not have this key.', by: namesKey },
  KeyConflict: {
    status: 409,
    description: 'The state of the key does not allow it.',
    by: ({ conflicts }) => conflicts,
  },
  KeyContentTooLarge: { status: 413, description: 'The body is too large.', by: isPost },
  KeyUnsupportedMediaType: { status: 415, description: 'The body is not JSON.', by: isPost },
  KeyServiceUnavailable: {
    status: 503,
    description: 'The service cannot check the request at the moment.',
    header: 'Retry-After',
  },
};

function responseOf({ description, header }: Refused): Json {
  const response = { description, ...content('KeyProblem', 'application/problem+json') };
  if (header === undefined) return response;
  return { ...response, headers: { [header]: { schema: { type: 'string' } } } };
}

function refusalsOf(route: Route): Readonly<Record<number, Json>> {
  const all = Object.entries(REFUSALS).filter(([, { by }]) => by === undefined || by(route));
  return Object.fromEntries(
    all.map(([name, { status }]) => [status, { $ref: `#/components/responses/${name}` }]),
  );
}

// ── Operations ──────────────────────────────────────────────────────────────────────────────────

const DESCRIPTIONS: Readonly<Record<Route['status'], string>> = {
  200: 'OK',
  201: 'Created',
  204: 'No Content',
};

/** The fields of a Path Item Object. */
const FIELDS: Readonly<Record<Route['method'], string>> = { GET: 'get', POST: 'post' };

function answerOf({ status, answer }: Route): Json {
  const description = DESCRIPTIONS[status];
  const body = answer === null ? {} : content(answer);
  if (status !== 201) return { description, ...body };
  const schema = { type: 'string', format: 'uri-reference' };
  return { description, headers: { Location: { schema } }, ...body };
}

function parametersOf(route: Route): readonly Json[] {
  const { method, input } = route;
  const inPath = { name: 'keyId', in: 'path', required: true, schema: UUID };
  const inQuery = method === 'GET' ? queryOf(input.json) : [];
  return namesKey(route) ? [inPath, ...inQuery] : inQuery;
}

/** The schema of a query parameter with several types. */
interface Alternatives {
  readonly anyOf: readonly { readonly type: string }[];
}

function queryOf(json: Json): readonly Json[] {
  const { properties } = json as { readonly properties: Readonly<Record<string, Alternatives>> };
  return Object.entries(properties).map(([name, { anyOf, ...rest }]) => {
    // A query cannot have null. For the first page, leave out `after`.
    const schema = { ...rest, anyOf: anyOf.filter(({ type }) => type !== 'null') };
    return { name, in: 'query', required: false, schema };
  });
}

function operationOf(route: Route, security: readonly object[]): Json {
  const { operation, summary, status, input } = route;
  return {
    operationId: operation,
    summary,
    ...(security.length > 0 && { security }),
    parameters: parametersOf(route),
    ...(isPost(route) && { requestBody: { required: true, ...content(input.name) } }),
    responses: { [status]: answerOf(route), ...refusalsOf(route) },
  };
}

/**
 * Returns the endpoints of `createKeyAdmin` as a part of an OpenAPI 3.1 document: the `paths`, and
 * the `components` that they refer to. Merge it into your own document. It comes from the table
 * that routes requests, so the two cannot differ. The JSON Schemas use draft 2020-12, the default
 * of 3.1.
 *
 * Not checked: whether the security schemes are well-formed; whether `authorityOf` accepts the
 * credentials that they describe.
 *
 * @param options The base path, and how callers authenticate.
 * @throws TypeError on a malformed option.
 * @example
 * const bearerAuth = { type: 'http', scheme: 'bearer' };
 * const info = { title: 'Keys', version: '1' };
 * const keys = keyAdminOpenApi({ securitySchemes: { bearerAuth } });
 * const document = { openapi: '3.1.0', info, ...keys };
 */
export function keyAdminOpenApi(options: KeyAdminOpenApiOptions = {}): KeyAdminOpenApi {
  readFields(options, ['basePath', 'securitySchemes'], 'keyAdminOpenApi');
  const { securitySchemes = {} } = options;
  assert(isObject(securitySchemes), 'securitySchemes: pass Security Scheme Objects by name');
  const basePath = readBasePath(options.basePath, DEFAULT_BASE_PATH);
  const security = Object.keys(securitySchemes).map((name) => ({ [name]: [] }));
  const paths: Record<string, object> = {};
  for (const route of ROUTES) {
    const path = basePath + route.path;
    const operation = operationOf(route, security);
    paths[path] = { ...paths[path], [FIELDS[route.method]]: operation };
  }
  const responses = Object.entries(REFUSALS).map(([name, refused]) => [name, responseOf(refused)]);
  return {
    paths,
    components: {
      schemas: structuredClone(schemas()),
      responses: Object.fromEntries(responses) as Readonly<Record<string, Json>>,
      securitySchemes,
    },
  };
}
