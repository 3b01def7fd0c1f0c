/**
 * The platform's operations as MCP tools. They come from the route table and the policy that REST
 * uses too. A tool has the name of its operation, and returns the same as its route.
 *
 * This file does not depend on an SDK. A server with either generation of the SDK lists `tools` and
 * calls `callTool`.
 */
import { isAccessError, toResponse } from 'keyscope';
import { guardTool } from 'keyscope/mcp';
import { z } from 'zod';
import type { Service } from '../platform/host/http.ts';
import { REALM } from '../platform/host/http.ts';
import { Conflict } from '../platform/service/domain.ts';
import { entity } from '../platform/service/inputs.ts';
import type { Answer } from '../platform/service/problem.ts';
import { failure, problem } from '../platform/service/problem.ts';
import type { Route } from '../platform/service/route.ts';
import { routes } from '../platform/service/routes.ts';

type Arguments = Readonly<Record<string, unknown>>;

/** The JSON Schema of a tool's input. */
interface InputSchema extends Readonly<Record<string, unknown>> {
  readonly type: 'object';
}

interface Call {
  readonly id: unknown;
  readonly query: unknown;
  readonly body: unknown;
}

/** Merges the inputs of a route. Path, query and body have no name in common. */
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

/** Splits arguments into path, query and body again. The route refuses unknown ones, as in REST. */
function callOf({ id, body }: Route, { entity_uuid: _guarded, ...args }: Arguments): Call {
  const { id: named, ...others } = args;
  const rest = id === null ? args : others;
  if (body === null) return { id: named, query: rest, body: undefined };
  return { id: named, query: {}, body: rest };
}

/** A tool's result for both SDKs. It is a type, because an interface has no index signature. */
export type ToolResult = {
  content: { type: 'text'; text: string }[];
  structuredContent?: Record<string, unknown>;
  isError?: boolean;
};

/** Returns the problem document that the route would have sent. */
function refusalOf(error: unknown, report: Service['report']): Answer {
  if (isAccessError(error)) return toResponse(error, { realm: REALM });
  if (error instanceof Conflict) return problem(409, error.message);
  return failure(error, report);
}

/**
 * Guards and serves one call. A refusal becomes an error in the result, with the problem document
 * that the route would have sent, so that the caller can fix the call. The gate has already
 * admitted the call. The guard checks it again, so that no tool depends on how the gate read the
 * body.
 */
export function callTool(
  { keyring, domain, report }: Service,
  authInfo: Parameters<typeof guardTool>[1],
  { name, route }: Tool,
  args: Arguments,
): ToolResult {
  try {
    const { entity_uuid: asked } = args;
    const { principal, entityId } = guardTool(keyring, authInfo, name, asked);
    const body = route.handle({ domain, principal, entityId, ...callOf(route, args) });
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
