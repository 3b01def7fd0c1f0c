/** Small servers of both generations of the SDK behind a gate, on real sockets. */
import { randomUUID } from 'node:crypto';
import type { RequestListener } from 'node:http';
import { createServer } from 'node:http';
import { getRequestListener } from '@hono/node-server';
import { McpServer as McpServer1 } from '@modelcontextprotocol/sdk/server/mcp.js';
import { createMcpHandler, McpServer as McpServer2 } from '@modelcontextprotocol/server';
import type { McpEntry, McpGate } from 'keyscope/mcp';
import { close, listen } from '../examples/http-harness.ts';
import { createTransport1, type Generation, onStop, type Transport1 } from './mcp-servers.ts';

/** Answers a request, whose body a parser may have read. */
export type Handle = (request: Request, parsedBody?: unknown) => Promise<Response>;

/** Serves an admitted request. */
export type Serve = (request: Request, entry: McpEntry) => Promise<Response>;

const INFO = { name: 'mounted', version: '1.0.0' };

/** The registered tools, and a function that is called for each call that reaches one. */
interface Tools {
  readonly names: readonly string[];
  readonly onCall: (name: string) => void;
}

function resultOf(name: string): { content: { type: 'text'; text: string }[] } {
  return { content: [{ type: 'text', text: `${name} was served` }] };
}

/** Makes a server of 1.x with these tools, without `guardTool`. */
export function createServer1({ names, onCall }: Tools): McpServer1 {
  const server = new McpServer1(INFO);
  for (const name of names) {
    server.registerTool(name, {}, () => {
      onCall(name);
      return resultOf(name);
    });
  }
  return server;
}

function createServer2({ names, onCall }: Tools): McpServer2 {
  const server = new McpServer2(INFO);
  for (const name of names) {
    server.registerTool(name, {}, () => {
      onCall(name);
      return resultOf(name);
    });
  }
  return server;
}

/** Serves each request without a session. */
export function serveStateless(generation: Generation, tools: Tools): Serve {
  if (generation === '2.x') {
    const handler = createMcpHandler(() => createServer2(tools), { maxSubscriptions: 0 });
    return (request, entry) => handler.fetch(request, entry);
  }
  return async (request, entry) => {
    if (request.method !== 'POST') return new Response(null, { status: 405 });
    const transport = createTransport1({ enableJsonResponse: true });
    await createServer1(tools).connect(transport);
    return transport.handleRequest(request, entry);
  };
}

interface Session {
  readonly transport: Transport1;
  readonly server: McpServer1;
  readonly owner: string;
}

/** Serves sessions of 1.x, which keep a stream open for messages of the server. */
export function createSessions(tools: Tools): {
  readonly sessions: ReadonlyMap<string, Session>;
  readonly serve: Serve;
} {
  const sessions = new Map<string, Session>();
  const serve: Serve = async (request, entry) => {
    const known = sessions.get(request.headers.get('mcp-session-id') ?? '');
    if (known !== undefined) return known.transport.handleRequest(request, entry);
    const server = createServer1(tools);
    const transport: Transport1 = createTransport1({
      sessionIdGenerator: randomUUID,
      onsessioninitialized: (id) =>
        void sessions.set(id, { transport, server, owner: entry.sessionOwner }),
    });
    await server.connect(transport);
    return transport.handleRequest(request, entry);
  };
  return { sessions, serve };
}

/** Puts a gate in front of a server. */
export function handleBehind(gate: McpGate, serve: Serve): Handle {
  return async (request) => {
    const entry = await gate(request);
    return entry instanceof Response ? entry : serve(request, entry);
  };
}

/** Listens until `stopAll`, and returns the URL of the endpoint. */
export async function listenWith(listener: RequestListener): Promise<string> {
  const server = createServer(listener);
  const port = await listen(server);
  onStop(() => close(server));
  return `http://127.0.0.1:${port}/mcp`;
}

/** A server with only the endpoint. */
export function mount(handle: Handle): Promise<string> {
  return listenWith(getRequestListener((request) => handle(request)));
}
