/**
 * The platform's operations as MCP tools. The same table as the REST routes says what may be sent and what is done, and
 * the same policy says who may: a tool's name is its operation. What a tool answers is what its route answers.
 *
 * Nothing here is of an SDK: a server of either generation lists `tools` and calls `callTool`.
 */
import { isAccessError, toResponse } from 'keyscope';
import { guardTool } from 'keyscope/mcp';
import { z } from 'zod';
import { Conflict } from '../platform/domain.ts';
import type { Service } from '../platform/http.ts';
import { REALM } from '../platform/http.ts';
import type { Operation } from '../platform/policy.ts';
import { policy } from '../platform/policy.ts';
import { failure, problem, Refusal } from '../platform/problem.ts';
import type { Route } from '../platform/routes.ts';
import { routes } from '../platform/routes.ts';

/** A line for each operation: one that is missing, or too many, does not compile. */
const DESCRIPTIONS: Readonly<Record<Operation, string>> = {
  whoami: 'Who this key is: its entity, its id, its scopes, and the entities that it can address.',
  listThreats: 'List threats, newest first.',
  readThreat: 'Read one threat.',
  updateThreat: "Update a threat's triage status and notes.",
  listInteractions: 'List the interactions captured by decoys, newest first.',
  readInteraction: 'Read one interaction.',
  listDecoys: 'List decoys, newest first.',
  readDecoy: 'Read one decoy with its breadcrumbs.',
  updateDecoy: "Trigger a software update of a decoy. It goes on after the answer; 'readDecoy' shows it.",
  decommissionDecoy: 'Decommission a decoy, for good.',
  listCanaries: 'List canaries, newest first.',
  readCanary: 'Read one canary.',
  createCanary: 'Create a canary.',
  updateCanary: 'Update the name or the notes of a canary.',
  decommissionCanary: 'Decommission a canary, for good.',
  exportReport: 'Export the executive report.',
  listUsers: 'List console users, newest first.',
  readUser: 'Read one console user.',
  createUser: 'Create a console user.',
  deleteUser: 'Delete a console user, for good.',
};

const UUID = '^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$';
const ENTITY = z.string().regex(new RegExp(UUID)).describe("The entity to act on. Left out, it is the key's own.");
// In a query it is text. An argument can be what it is.
const LIMIT = z.int().min(1).max(100).describe('How many at the most. Left out, it is 20.');

const takesId = ({ path }: Route): boolean => path.includes('/:id');

/** Everything that a route takes, side by side: no name stands in two of path, query and body. */
function argumentsOf(route: Route): { readonly type: 'object' } & Readonly<Record<string, unknown>> {
  const { query, body } = route;
  const shape = {
    ...(takesId(route) && { id: z.string() }),
    ...query.shape,
    ...('limit' in query.shape && { limit: LIMIT.optional() }),
    ...body?.shape,
    entity_uuid: ENTITY.optional(),
  };
  return { ...z.toJSONSchema(z.strictObject(shape), { io: 'input' }), type: 'object' };
}

export const tools = routes.map((route) => ({
  name: route.operation,
  description: DESCRIPTIONS[route.operation],
  inputSchema: argumentsOf(route),
  annotations: {
    readOnlyHint: route.method === 'GET',
    destructiveHint: route.method === 'DELETE',
    openWorldHint: false,
  },
  route,
}));
export type Tool = (typeof tools)[number];

/** Divides arguments among path, query and body again. The route refuses what is left over, as it does in REST. */
function callOf(route: Route, { id, entity_uuid: _, ...others }: Readonly<Record<string, unknown>>) {
  if (takesId(route) ? typeof id !== 'string' : id !== undefined)
    throw new Refusal(400, 'id: a text, where there is one');
  if (route.body !== null) return { id: String(id), query: {}, body: others };
  const { limit, ...rest } = others;
  const query = { ...rest, ...(limit !== undefined && { limit: typeof limit === 'number' ? String(limit) : limit }) };
  return { id: String(id), query, body: undefined };
}

/** What both SDKs take as the result of a tool. */
export type ToolResult = {
  content: { type: 'text'; text: string }[];
  structuredContent?: Record<string, unknown>;
  isError?: boolean;
};

/**
 * Guards and serves one call. A refusal is an error within the result, for whoever asked to read and mend: the problem
 * document that the route would have sent. The gate has admitted the call already; that this guards again means that
 * no tool depends on what the gate made of the body.
 */
export function callTool(
  { domain, report }: Service,
  authInfo: Parameters<typeof guardTool>[1],
  { name, route }: Tool,
  args: Readonly<Record<string, unknown>>,
): ToolResult {
  try {
    const { entity_uuid: asked } = args;
    const { principal, entityUuid } = guardTool(policy, authInfo, name, asked);
    const { body } = route.handle({ domain, principal, entityUuid, ...callOf(route, args) });
    if (body === undefined) return { content: [{ type: 'text', text: 'Done.' }] };
    return {
      content: [{ type: 'text', text: JSON.stringify(body) }],
      structuredContent: body as Record<string, unknown>,
    };
  } catch (error) {
    const denied = isAccessError(error) ? toResponse(error, { realm: REALM }) : undefined;
    const { body } = denied ?? (error instanceof Conflict ? problem(409, error.message) : failure(error, report));
    return { content: [{ type: 'text', text: body }], isError: true };
  }
}
