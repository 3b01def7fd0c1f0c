/**
 * The denials of a guarded operation, as responses of a document. Their examples come from
 * `toResponse`, so that they match the real answers.
 */
import { AccessError, DETAILS, StoreError } from '../../core/errors.js';
import { assert, isObject } from '../../core/input.js';
import { toResponse } from '../../http/challenge.js';
import { toJson } from '../escape.js';
import type { Json } from './document.js';
import { objectAt } from './document.js';

const PROBLEM_NAME = 'AccessProblem';
const PROBLEM_TYPE = 'application/problem+json';
const PROBLEM_REFERENCE: Json = { $ref: `#/components/schemas/${PROBLEM_NAME}` };

/**
 * The schema of the bodies of `toResponse` (RFC 9457 §3.1). It is open, because clients ignore
 * unknown members.
 */
const PROBLEM: Json = {
  type: 'object',
  description: 'Why the service refused a request (RFC 9457).',
  properties: {
    type: { const: 'about:blank' },
    title: { type: 'string', description: 'The reason phrase of the status.' },
    status: { type: 'integer', description: 'The status of the response.' },
    detail: { type: 'string', description: 'An explanation for people. It may change.' },
    error: {
      type: 'string',
      // Answers to requests without a credential omit `error` (RFC 6750 §3.1).
      enum: [...codesBut('missing_credentials'), 'invalid_input'],
      description:
        'The error code, as in the challenge. Absent if the request has no credential, and on 503.',
    },
    scope: { type: 'string', description: 'The required scopes, separated by spaces.' },
    field: { type: 'string', description: 'The malformed field.' },
  },
  required: ['type', 'title', 'status', 'detail'],
};

function codesBut(left: string): readonly string[] {
  return Object.keys(DETAILS).filter((code) => code !== left);
}

/** A status with which a guard denies requests. */
interface Refusal {
  readonly status: 400 | 401 | 403 | 503;
  /** Its name in `components.responses`. */
  readonly name: string;
  readonly description: string;
  /** The header with details, and whether every such response has it. */
  readonly header: 'WWW-Authenticate' | 'Retry-After';
  readonly required: boolean;
  /** Errors with this status, by name. */
  readonly examples: Readonly<Record<string, unknown>>;
}

function refusals(requiredScopes: readonly string[]): readonly Refusal[] {
  const missingScope = new AccessError('insufficient_scope', 'scope_missing', { requiredScopes });
  return [
    {
      status: 400,
      name: 'AccessMalformed',
      description: 'The credential, the entity or another part of the request is malformed.',
      header: 'WWW-Authenticate',
      required: false,
      examples: { invalid_request: new AccessError('invalid_request', 'malformed_entity') },
    },
    {
      status: 401,
      name: 'AccessUnauthenticated',
      description: 'The credential is missing or not valid.',
      header: 'WWW-Authenticate',
      required: true,
      examples: {
        missing_credentials: new AccessError('missing_credentials', 'no_header'),
        invalid_token: new AccessError('invalid_token', 'unknown_key'),
      },
    },
    {
      status: 403,
      name: 'AccessForbidden',
      description: 'The key lacks a scope, or cannot address the entity.',
      header: 'WWW-Authenticate',
      required: false,
      examples: {
        ...(requiredScopes.length > 0 && { insufficient_scope: missingScope }),
        entity_forbidden: new AccessError('entity_forbidden', 'entity_not_accessible'),
      },
    },
    {
      status: 503,
      name: 'AccessUnavailable',
      description: 'The service cannot check credentials at the moment.',
      header: 'Retry-After',
      required: true,
      examples: { outage: new StoreError('outage') },
    },
  ];
}

/** The denials of a document, which its components define once. */
export interface RefusalResponses {
  /** The name of each response, and the response. */
  readonly responses: Json;
  /** The name of the schema of their bodies, and the schema. */
  readonly schemas: Json;
  /** Adds the denials of its guard to the responses of an operation. */
  readonly addTo: (responses: Json) => Json;
}

/**
 * Makes the denials of a document.
 *
 * @param document The source for responses that an operation refers to.
 * @param realm As in `toResponse`. Without it, challenges have no examples.
 * @param requiredScopes The scopes in the example of a challenge.
 */
export function createRefusals(
  document: Json,
  realm: string | undefined,
  requiredScopes: readonly string[],
  what: string,
): RefusalResponses {
  const all = refusals(requiredScopes).map((refusal) => ({
    ...refusal,
    response: responseOf(refusal, realm),
  }));

  /** Keeps existing responses for a status, written directly, as a range or as the default. */
  function addTo(responses: Json): Json {
    const { default: byDefault } = responses;
    const added: Json = {};
    for (const { status, name, response } of all) {
      const range = `${Math.floor(status / 100)}XX`;
      const said = responses[status] ?? responses[range] ?? byDefault;
      const reference = { $ref: `#/components/responses/${name}` };
      added[status] =
        said === undefined || isSame(said, reference)
          ? reference
          : merge(resolve(document, said, what), response, what);
    }
    return { ...responses, ...added };
  }

  return {
    responses: Object.fromEntries(all.map(({ name, response }) => [name, response])),
    schemas: { [PROBLEM_NAME]: PROBLEM },
    addTo,
  };
}

function responseOf(refusal: Refusal, realm: string | undefined): Json {
  const { description, header, required, examples } = refusal;
  const values: Json = {};
  const bodies: Json = {};
  for (const [name, error] of Object.entries(examples)) {
    const { headers, body } = toResponse(error, { realm: realm ?? '' });
    const value = headers[header];
    if (value !== undefined && realm !== undefined) values[name] = { value };
    bodies[name] = { value: JSON.parse(body) as unknown };
  }
  return {
    description,
    headers: {
      [header]: {
        ...(required && { required }),
        schema: { type: 'string' },
        ...(Object.keys(values).length > 0 && { examples: values }),
      },
    },
    content: { [PROBLEM_TYPE]: { schema: PROBLEM_REFERENCE, examples: bodies } },
  };
}

// ── Merging with existing responses ─────────────────────────────────────────────────────────────

/** Whether two values are equal as JSON, with fields in the same order. */
export function isSame(one: unknown, other: unknown): boolean {
  return JSON.stringify(one) === JSON.stringify(other);
}

/** Resolves a reference to a response in the components. */
function resolve(document: Json, said: unknown, what: string): Json {
  assert(isObject(said), `${what}: a response must be an object`);
  const { $ref: reference, ...own } = said as Json;
  if (reference === undefined) return own;
  const name = /^#\/components\/responses\/([\w.-]+)$/.exec(String(reference))?.[1];
  const target = name === undefined ? {} : responseNamed(document, name, what);
  const isFound = Object.keys(target).length > 0 && !Object.hasOwn(target, '$ref');
  const problem = `${what}: cannot find the response ${toJson(reference)}`;
  assert(isFound, `${problem}. Bundle the document first`);
  return { ...target, ...own };
}

function responseNamed(document: Json, name: string, what: string): Json {
  const responses = objectAt(objectAt(document, 'components', what), 'responses', what);
  return objectAt(responses, name, what);
}

/** Merges an existing response with a denial: the result may be either. */
function merge(said: Json, refusal: Json, what: string): Json {
  const content = objectAt(said, 'content', what);
  const media = objectAt(content, PROBLEM_TYPE, what);
  const { schema } = media;
  const { anyOf: choices } = (isObject(schema) ? schema : {}) as Json;
  const listed: readonly unknown[] = Array.isArray(choices) ? choices : [schema];
  if (listed.some((choice) => isSame(choice, PROBLEM_REFERENCE))) return said;
  const descriptions = [said, refusal].map(({ description }) => description);
  // A missing schema allows anything.
  const either = { anyOf: [schema ?? {}, PROBLEM_REFERENCE] };
  const isSaid = Object.hasOwn(content, PROBLEM_TYPE);
  return {
    ...said,
    description: descriptions.filter(Boolean).join(' Or: '),
    headers: withHeaders(objectAt(said, 'headers', what), objectAt(refusal, 'headers', what)),
    content: {
      ...content,
      [PROBLEM_TYPE]: { ...media, schema: isSaid ? either : PROBLEM_REFERENCE },
    },
  };
}

/**
 * Keeps existing headers, whatever the case of their names. Added headers are not required, because
 * only the denial has them.
 */
function withHeaders(said: Json, added: Json): Json {
  const folded = (name: string): string => name.toLowerCase();
  const names = Object.keys(said).map(folded);
  const headers: Json = { ...said };
  for (const [name, header] of Object.entries(added)) {
    if (!names.includes(folded(name))) headers[name] = { ...(header as Json), required: false };
  }
  return headers;
}
