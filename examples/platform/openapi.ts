/**
 * The interface as an OpenAPI 3.1 document, built from what the servers run on: the route table, the policy and the
 * schemas. What is written here is what those do not say: sentences, and the shapes of answers.
 */
import { meSchema } from 'keyscope/schemas';
import { z } from 'zod';
import { CANARY_KINDS, THREAT_STATUSES, USER_ROLES } from './domain.ts';
import type { Operation } from './policy.ts';
import { policy } from './policy.ts';
import type { Route } from './routes.ts';
import { routes } from './routes.ts';

// ── What is answered ──────────────────────────────────────────────────────────────────────────────────

const row = { id: z.uuid(), created_at: z.iso.datetime() };
const state = z.enum(['active', 'decommissioned']);
const counts = z.record(z.string(), z.int());

const threat = z.object({
  ...row,
  title: z.string(),
  severity: z.enum(['low', 'medium', 'high', 'critical']),
  status: z.enum(THREAT_STATUSES),
  notes: z.string(),
});
const interaction = z.object({
  ...row,
  decoy_id: z.uuid(),
  threat_id: z.uuid(),
  source_ip: z.string(),
  summary: z.string(),
});
const decoy = z.object({
  ...row,
  name: z.string(),
  kind: z.string(),
  software_version: z.string(),
  update_requested_at: z.iso.datetime().nullable(),
  status: state,
});
const breadcrumb = z.object({ ...row, decoy_id: z.uuid(), kind: z.string(), location: z.string() });
const canary = z.object({ ...row, name: z.string(), kind: z.enum(CANARY_KINDS), notes: z.string(), status: state });
const user = z.object({ ...row, email: z.email(), name: z.string(), role: z.enum(USER_ROLES) });
const report = z.object({
  generated_at: z.iso.datetime(),
  threats_by_status: counts,
  threats_by_severity: counts,
  interactions: z.int(),
  top_sources: z.array(z.object({ source_ip: z.string(), interactions: z.int() })),
  decoys_by_status: counts,
  canaries_by_status: counts,
});

const page = (item: z.ZodType) => z.object({ items: z.array(item), next: z.string().nullable() });

/** What an operation does, the status of its answer, and the body; `null` where there is none. */
export const ANSWERS: Readonly<Record<Operation, readonly [summary: string, status: number, body: z.ZodType | null]>> =
  {
    whoami: ['Show what the key reaches.', 200, meSchema],
    listThreats: ['List threats.', 200, page(threat)],
    readThreat: ['Read a threat.', 200, threat],
    updateThreat: ['Update the triage status and notes of a threat.', 200, threat],
    listInteractions: ['List interactions captured by decoys.', 200, page(interaction)],
    readInteraction: ['Read an interaction.', 200, interaction],
    listDecoys: ['List decoys.', 200, page(decoy)],
    readDecoy: ['Read a decoy with its breadcrumbs.', 200, decoy.extend({ breadcrumbs: z.array(breadcrumb) })],
    updateDecoy: ['Trigger a software update of a decoy.', 202, decoy],
    decommissionDecoy: ['Decommission a decoy.', 204, null],
    listCanaries: ['List canaries.', 200, page(canary)],
    readCanary: ['Read a canary.', 200, canary],
    createCanary: ['Create a canary.', 201, canary],
    updateCanary: ['Update a canary.', 200, canary],
    decommissionCanary: ['Decommission a canary.', 204, null],
    exportReport: ['Export the executive report.', 200, report],
    listUsers: ['List console users.', 200, page(user)],
    readUser: ['Read a console user.', 200, user],
    createUser: ['Create a console user.', 201, user],
    deleteUser: ['Delete a console user.', 204, null],
  };

const problem = z.object({
  type: z.string(),
  title: z.string(),
  status: z.int(),
  detail: z.string(),
  error: z.string().optional(),
  scope: z.string().optional(),
});

// ── The document ──────────────────────────────────────────────────────────────────────────────────────

type Json = Readonly<Record<string, unknown>>;

/** A schema as JSON Schema 2020-12, which OpenAPI 3.1 takes as it is. Of what is sent, the form before it is read. */
function schemaOf(schema: z.ZodType, io: 'input' | 'output'): Json {
  const { $schema: _, ...json } = z.toJSONSchema(schema, { io, unrepresentable: 'any' });
  return json;
}

const json = (schema: Json, type = 'application/json') => ({ [type]: { schema } });
const refused = (name: string) => ({ $ref: `#/components/responses/${name}` });

const REFUSALS: Readonly<Record<string, readonly [status: number, description: string, challenge: boolean]>> = {
  BadRequest: [400, 'The request is malformed: the credential, the entity, the query or the body.', true],
  Unauthorized: [401, 'No credential, or one that does not authenticate.', true],
  Forbidden: [403, 'The key lacks a scope (insufficient_scope) or cannot address the entity (entity_forbidden).', true],
  NotFound: [404, 'There is nothing with this id in the entity.', false],
  Conflict: [409, 'The state of what is there does not allow it.', false],
  ServiceUnavailable: [503, 'Credentials cannot be checked at the moment.', false],
};

const responses = Object.fromEntries(
  Object.entries(REFUSALS).map(([name, [, description, challenge]]) => {
    const headers = challenge && { headers: { 'WWW-Authenticate': { schema: { type: 'string' } } } };
    return [
      name,
      { description, ...headers, content: json({ $ref: '#/components/schemas/Problem' }, 'application/problem+json') },
    ];
  }),
);

const parameter = (name: string, at: 'path' | 'query', schema: Json, description: string) => ({
  name,
  in: at,
  required: at === 'path',
  schema,
  description,
});

const ENTITY = parameter('entity_uuid', 'query', { type: 'string', format: 'uuid' }, 'Default: the entity of the key.');
const QUERY: Readonly<Record<string, string>> = {
  limit: 'At most this many, 1 to 100. Default: 20.',
  after: '"next" of the page before.',
};

function operationOf({ operation, path, query, body }: Route): Json {
  const [summary, status, answer] = ANSWERS[operation];
  const sent = schemaOf(query, 'input') as { properties?: Readonly<Record<string, Json>> };
  const names = Object.entries(sent.properties ?? {});
  const bad = Object.entries(REFUSALS).filter(([name]) => name !== 'NotFound' || path.includes(':'));
  return {
    operationId: operation,
    summary,
    // Of a bearer scheme these are names that the key must hold (OpenAPI 3.1 §4.8.30).
    security: [{ bearerAuth: policy.requires(operation) }],
    parameters: [
      ...(path.includes(':id') ? [parameter('id', 'path', { type: 'string' }, 'Of what it is done to.')] : []),
      ENTITY,
      ...names.map(([name]) => parameter(name, 'query', { type: 'string' }, QUERY[name] ?? '')),
    ],
    ...(body !== null && { requestBody: { required: true, content: json(schemaOf(body, 'input')) } }),
    responses: {
      [status]: { description: summary, ...(answer !== null && { content: json(schemaOf(answer, 'output')) }) },
      ...Object.fromEntries(bad.map(([name, [code]]) => [code, refused(name)])),
    },
  };
}

/** The document. `server`: the origin that clients reach, from configuration. */
export function openApi(server: string): Json {
  const paths: Record<string, Record<string, Json>> = {};
  for (const route of routes) {
    const path = route.path.replace(/:([a-z]+)/g, '{$1}');
    paths[path] = { ...paths[path], [route.method.toLowerCase()]: operationOf(route) };
  }
  return {
    openapi: '3.1.0',
    info: { title: 'Deception platform', version: '1', license: { name: 'MIT', identifier: 'MIT' } },
    servers: [{ url: server }],
    paths,
    components: {
      securitySchemes: {
        bearerAuth: { type: 'http', scheme: 'bearer', description: 'An API key, or a short-lived token for one.' },
      },
      schemas: { Problem: schemaOf(problem, 'output') },
      responses,
    },
  };
}
