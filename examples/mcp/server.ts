/**
 * The platform with MCP at `/mcp` beside REST: one process, one keyring, one policy. `npm run demo`
 * starts it, and so does `npx node examples/mcp/server.ts`.
 */
import type { Server } from 'node:http';
import type { McpRequestContext } from '@modelcontextprotocol/server';
import {
  createMcpHandler,
  fromJsonSchema,
  McpServer,
  originValidationResponse,
} from '@modelcontextprotocol/server';
import { allowedTools, createMcpGate, principalOf, protectedResourceMetadata } from 'keyscope/mcp';
import { createApp } from '../hono/server.ts';
import { fetchListener } from '../platform/host/fetch.ts';
import type { Service } from '../platform/host/http.ts';
import { REALM } from '../platform/host/http.ts';
import { createNodeServer } from '../platform/host/node-server.ts';
import { run } from '../platform/host/run.ts';
import { catalog } from '../platform/service/catalog.ts';
import { policy } from '../platform/service/policy.ts';
import { BODY_LIMIT, problem, reportError } from '../platform/service/problem.ts';
import { callTool, tools } from './tools.ts';

export const MCP_PATH = '/mcp';

// Compiled once, not for each request.
const TOOLS = tools.map((tool) => ({
  ...tool,
  schema: fromJsonSchema<Record<string, unknown>>(tool.inputSchema),
}));

/** A server for one request: it has only the caller's tools, so lists and calls cannot differ. */
function createMcpServer(service: Service, { authInfo }: McpRequestContext): McpServer {
  // Declared, so that a caller without tools gets an empty list; without change notices, as no
  // stream is held open.
  const server = new McpServer(
    { name: 'deception-platform', version: '1.0.0' },
    { capabilities: { tools: {} } },
  );
  for (const tool of allowedTools(policy, principalOf(authInfo), TOOLS)) {
    const { name, description, annotations, schema } = tool;
    server.registerTool(name, { description, annotations, inputSchema: schema }, (args, context) =>
      callTool(service, context.http?.authInfo, tool, args),
    );
  }
  return server;
}

type Metadata = ReturnType<typeof protectedResourceMetadata>;

/** Answers a request for the metadata, for anyone (RFC 9728). */
function answerMetadata({ document }: Metadata, { method }: Request): Response {
  if (method === 'GET' || method === 'HEAD') return Response.json(document);
  const words = 'This path does not take this method.';
  const { status, headers, body } = problem(405, words, { Allow: 'GET, HEAD' });
  return new Response(body, { status, headers });
}

/** Answers requests for MCP and its metadata; `null` for all others. */
export function createMcp(service: Service): (request: Request) => Promise<Response | null> {
  // What the service is called is configuration. A `Host` header is whatever a client writes.
  const resource = `${service.publicUrl}${MCP_PATH}`;
  const metadata = protectedResourceMetadata({ resource, scopes: catalog, name: REALM });
  const gate = createMcpGate({
    keyring: service.mcpKeyring ?? service.keyring,
    policy,
    tools,
    operation: 'whoami', // Needs no scope: so whoever comes in, or is refused, has an event.
    realm: REALM,
    resource,
    maxBodyBytes: BODY_LIMIT,
    onOutage: service.report ?? reportError,
  });
  // Stateless: no session to steal and, without subscriptions, no stream that outlives its key.
  const handler = createMcpHandler((context) => createMcpServer(service, context), {
    maxSubscriptions: 0,
  });
  const hostnames = [new URL(resource).hostname];

  return async (request) => {
    const { pathname } = new URL(request.url);
    if (pathname === metadata.path) return answerMetadata(metadata, request);
    if (pathname !== MCP_PATH) return null;
    const entry = originValidationResponse(request, hostnames) ?? (await gate(request));
    const response = entry instanceof Response ? entry : await handler.fetch(request, entry);
    // This answers a request with a credential; and a stream must stay untransformed.
    const streamed = response.headers.get('Content-Type') === 'text/event-stream';
    response.headers.set('Cache-Control', streamed ? 'no-store, no-transform' : 'no-store');
    return response;
  };
}

/** What programs call: MCP and REST. */
export function createHandler(service: Service): (request: Request) => Promise<Response> {
  const mcp = createMcp(service);
  const app = createApp(service);
  return async (request) => {
    const answered = await mcp(request);
    return answered ?? app.fetch(request);
  };
}

export function createServer(service: Service): Server {
  return createNodeServer(fetchListener(createHandler(service)), service);
}

/** For whoever has just started it. */
export function tryMcp(origin: string): string {
  const header = 'with the header "Authorization: Bearer $KEY"';
  return `
MCP clients: Streamable HTTP at ${origin}${MCP_PATH}, ${header}. The same by hand:

  curl -H "Authorization: Bearer $KEY" -H "Content-Type: application/json" \\
    -H "Accept: application/json, text/event-stream" ${origin}${MCP_PATH} \\
    -d '{"jsonrpc":"2.0","id":1,"method":"tools/list"}'
      the tools that the key may use: the operations whose scopes it has
`;
}

if (import.meta.main) await run(createServer, tryMcp);
