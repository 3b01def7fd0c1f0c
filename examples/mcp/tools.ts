/**
 * The platform's operations as MCP tools. The same table as for the REST routes says what each
 * does, what may be sent and what is done, and the same policy says who may: a tool's name is its
 * operation. A tool answers what its route answers.
 *
 * Nothing here depends on an SDK: a server of either generation lists `tools` and calls `callTool`.
 */
import { isAccessError, toResponse } from 'keyscope';
import { guardTool } from 'keyscope/mcp';
import { z } from 'zod';
import type { Service } from '../platform/host/http.ts';
import { REALM } from '../platform/host/http.ts';
import { Conflict } from '../platform/service/domain.ts';
import { entity } from '../platform/service/inputs.ts';
import { policy } from '../platform/service/policy.ts';
import type { Answer } from '../platform/service/problem.ts';
import { failure, problem } from '../platform/service/problem.ts';
import type { Route } from '../platform/service/route.ts';
import { routes } from '../platform/service/routes.ts';

type Arguments = Readonly<Record<string, unknown>>;

/** JSON Schema, as tools have it. */
interface InputSchema extends Readonly<Record<string, unknown>> {
  readonly type: 'object';
}

interface Call {
  readonly id: unknown;
  readonly query: unknown;
  readonly body: unknown;
}

/** Everything that a route accepts, side by side: no name occurs in two of path, query and body. */
function argumentsOf({ id, query, body }: Route): InputSchema {
  const shape = {
    ...(id !== null && { id }),
    ...query.shape,
    ...body?.shape,
    entity_uuid: entity.optional(),
  };
  return { ...z.toJSONSchema(z.strictObject(shape), { io: 'input' }), type: 'object' };
}

export const tools = routes.map((route) => ({
  name: route.operation,
  description: route.summary,
  inputSchema: argumentsOf(route),
  annotations: {
    readOnlyHint: route.method === 'GET',
    destructiveHint: route.method === 'DELETE',
    openWorldHint: false,
  },
  route,
}));
export type Tool = (typeof tools)[number];

/**
 * Splits arguments into path, query and body again. The route refuses what is left over, as it does
 * in REST.
 */
function callOf({ id, body }: Route, { entity_uuid: _guarded, ...args }: Arguments): Call {
  const { id: named, ...others } = args;
  const rest = id === null ? args : others;
  if (body === null) return { id: named, query: rest, body: undefined };
  return { id: named, query: {}, body: rest };
}

/** What both SDKs accept as a tool's result. It is a type, for an interface has no index. */
export type ToolResult = {
  content: { type: 'text'; text: string }[];
  structuredContent?: Record<string, unknown>;
  isError?: boolean;
};

/** A refusal, as the problem document that the route would have sent. */
function refusalOf(error: unknown, report: Service['report']): Answer {
  if (isAccessError(error)) return toResponse(error, { realm: REALM });
  if (error instanceof Conflict) return problem(409, error.message);
  return failure(error, report);
}

/**
 * Guards and serves one call. A refusal is an error within the result, for the caller to read and
 * fix: the problem document that the route would have sent. The gate has already admitted the call;
 * guarding it again means that no tool depends on how the gate read the body.
 */
export function callTool(
  { domain, report }: Service,
  authInfo: Parameters<typeof guardTool>[1],
  { name, route }: Tool,
  args: Arguments,
): ToolResult {
  try {
    const { entity_uuid: asked } = args;
    const { principal, entityUuid } = guardTool(policy, authInfo, name, asked);
    const body = route.handle({ domain, principal, entityUuid, ...callOf(route, args) });
    if (body === undefined) return { content: [{ type: 'text', text: 'Done.' }] };
    return {
      content: [{ type: 'text', text: JSON.stringify(body) }],
      structuredContent: body as Record<string, unknown>,
    };
  } catch (error) {
    const { body } = refusalOf(error, report);
    return { content: [{ type: 'text', text: body }], isError: true };
  }
}
