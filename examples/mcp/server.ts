/**
 * The platform with REST and with MCP at `/mcp`, in one process with one policy. Start it with
 * `npm run demo` or `npx node examples/mcp/server.ts`.
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
import { BODY_LIMIT, problem, reportError } from '../platform/service/problem.ts';
import { callTool, tools } from './tools.ts';

export const MCP_PATH = '/mcp';

// Compiled once, not for each request.
const TOOLS = tools.map((tool) => ({
  ...tool,
  schema: fromJsonSchema<Record<string, unknown>>(tool.inputSchema),
}));

/** Makes a server for one request. It has only the caller's tools, for lists and for calls. */
function createMcpServer(service: Service, { authInfo }: McpRequestContext): McpServer {
  // `tools` is declared, so that a caller without tools gets an empty list. It promises no change
  // notices, because no stream stays open.
  const server = new McpServer(
    { name: 'deception-platform', version: '1.0.0' },
    { capabilities: { tools: {} } },
  );
  for (const tool of allowedTools(service.keyring, principalOf(authInfo), TOOLS)) {
    const { name, description, annotations, schema } = tool;
    server.registerTool(name, { description, annotations, inputSchema: schema }, (args, context) =>
      callTool(service, context.http?.authInfo, tool, args),
    );
  }
  return server;
}

type Metadata = ReturnType<typeof protectedResourceMetadata>;

/** Answers a request for the metadata (RFC 9728), which needs no key. */
function answerMetadata({ document }: Metadata, { method }: Request): Response {
  if (method === 'GET' || method === 'HEAD') return Response.json(document);
  const words = 'This path does not take this method.';
  const { status, headers, body } = problem(405, words, { Allow: 'GET, HEAD' });
  return new Response(body, { status, headers });
}

/** Answers requests for MCP and its metadata; returns `null` for all others. */
export function createMcp(service: Service): (request: Request) => Promise<Response | null> {
  // The name of the service is configuration. Clients can write anything into `Host`.
  const resource = `${service.publicUrl}${MCP_PATH}`;
  const keyring = service.mcpKeyring ?? service.keyring;
  const metadata = protectedResourceMetadata({ resource, keyring, name: REALM });
  const gate = createMcpGate({
    keyring,
    tools,
    operation: 'whoami', // Needs no scope, so every caller gets in or is refused with an event.
    realm: REALM,
    resource,
    maxBodyBytes: BODY_LIMIT,
    onError: service.report ?? reportError,
  });
  // Stateless, so nobody can steal a session. Without subscriptions, no stream outlives its key.
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
    // The request had a credential, and proxies must not transform a stream.
    const streamed = response.headers.get('Content-Type') === 'text/event-stream';
    response.headers.set('Cache-Control', streamed ? 'no-store, no-transform' : 'no-store');
    return response;
  };
}

/** Handles requests of programs: MCP and REST. */
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

/** Returns instructions for trying MCP. */
export function tryMcp(origin: string): string {
  const header = 'with the header "Authorization: Bearer $KEY"';
  return `
To connect an MCP client: Streamable HTTP at ${origin}${MCP_PATH}, ${header}. By hand:

  curl -H "Authorization: Bearer $KEY" -H "Content-Type: application/json" \\
    -H "Accept: application/json, text/event-stream" ${origin}${MCP_PATH} \\
    -d '{"jsonrpc":"2.0","id":1,"method":"tools/list"}'
      the tools for which the key has the scopes
`;
}

if (import.meta.main) await run(createServer, tryMcp);
