/**
 * The platform over MCP, on real sockets: stateless servers of both generations of the SDK, with
 * the same keys, rows and policy as REST.
 */
import type { Server } from 'node:http';
import { getRequestListener } from '@hono/node-server';
import { Server as Server1 } from '@modelcontextprotocol/sdk/server/index.js';
import * as transport1 from '@modelcontextprotocol/sdk/server/webStandardStreamableHttp.js';
import { CallToolRequestSchema, ListToolsRequestSchema } from '@modelcontextprotocol/sdk/types.js';
import type { McpGate, McpGateOptions } from 'keyscope/mcp';
import { allowedTools, createMcpGate, principalOf } from 'keyscope/mcp';
import { createServer as createExample } from '../../examples/mcp/server.ts';
import { callTool, tools } from '../../examples/mcp/tools.ts';
import type { Service } from '../../examples/platform/host/http.ts';
import { REALM } from '../../examples/platform/host/http.ts';
import { createNodeServer } from '../../examples/platform/host/node-server.ts';
import type { Operation } from '../../examples/platform/service/policy.ts';
import { policy } from '../../examples/platform/service/policy.ts';
import type { Platform } from '../examples/http-harness.ts';
import { close, createPlatform, listen } from '../examples/http-harness.ts';

/** The public URL of the service, which differs from its address. */
export const PUBLIC_URL = 'https://deception.example';
export const RESOURCE: string = `${PUBLIC_URL}/mcp`;
export const METADATA_PATH = '/.well-known/oauth-protected-resource/mcp';

/** Returns the challenge with these parameters, each with a comma, between realm and metadata. */
export function challenge(params: string): string {
  return `Bearer realm="${REALM}", ${params}resource_metadata="${PUBLIC_URL}${METADATA_PATH}"`;
}

export function createGate(
  { keyring }: Platform,
  options: Partial<McpGateOptions<Operation>> = {},
): McpGate {
  return createMcpGate({ keyring, tools, realm: REALM, resource: RESOURCE, ...options });
}

/** The input of the example's servers and tools. */
export function serviceOf({ keyring, domain, errors }: Platform): Service {
  return { keyring, domain, publicUrl: PUBLIC_URL, report: (error) => errors.push(error) };
}

// ── Servers ────────────────────

/** Called with the caller that a handler got. */
type OnAuthInfo = (authInfo: unknown) => void;

/** Makes a server that does not listen yet. */
export type CreateServer = (platform: Platform, onAuthInfo?: OnAuthInfo) => Server;

/**
 * Makes a server of SDK 1.x, shared by all callers, so each list and each call checks the caller of
 * its own request.
 */
export function createServer1(platform: Platform, onAuthInfo?: OnAuthInfo): Server1 {
  const server = new Server1({ name: 'one', version: '1.0.0' }, { capabilities: { tools: {} } });
  server.setRequestHandler(ListToolsRequestSchema, (_request, { authInfo }) => {
    onAuthInfo?.(authInfo);
    const mine = allowedTools({ policy }, principalOf(authInfo), tools);
    return { tools: mine.map(({ route: _, ...tool }) => tool) };
  });
  server.setRequestHandler(CallToolRequestSchema, ({ params }, { authInfo }) => {
    const tool = tools.find(({ name }) => name === params.name);
    if (tool === undefined) throw new Error('no such tool');
    return callTool(serviceOf(platform), authInfo, tool, params.arguments ?? {});
  });
  return server;
}

/** Serves like the example, with a transport per request. */
function createStateless1(platform: Platform, onAuthInfo?: OnAuthInfo): Server {
  const gate = createGate(platform, { onError: (error) => platform.errors.push(error) });
  const listener = getRequestListener(async (request) => {
    const entry = await gate(request);
    if (entry instanceof Response) return entry;
    if (request.method !== 'POST') return new Response(null, { status: 405 });
    const transport = createTransport1({ enableJsonResponse: true });
    await createServer1(platform, onAuthInfo).connect(transport);
    return transport.handleRequest(request, entry);
  });
  return createNodeServer(listener);
}

export type Transport1 = transport1.WebStandardStreamableHTTPServerTransport;

export function createTransport1(
  options: transport1.WebStandardStreamableHTTPServerTransportOptions,
): Transport1 {
  return new transport1.WebStandardStreamableHTTPServerTransport(options);
}

export type Generation = '1.x' | '2.x';

export const SERVERS: Readonly<Record<Generation, CreateServer>> = {
  '2.x': (platform) => createExample(serviceOf(platform)),
  '1.x': createStateless1,
};

// ── Starting and stopping ────────────────────

const stops: (() => Promise<unknown>)[] = [];

/** Called by {@link stopAll}. */
export function onStop(stop: () => Promise<unknown>): void {
  stops.push(stop);
}

/** For `afterEach`: stops everything, the latest first. */
export async function stopAll(): Promise<void> {
  for (const stop of stops.splice(0).reverse()) await stop();
}

export interface Started extends Platform {
  readonly port: number;
  /** The URL of the MCP endpoint. */
  readonly url: string;
}

/** Starts a server with a new platform until {@link stopAll}. */
export async function start(create: (platform: Platform) => Server): Promise<Started> {
  return startOn(await createPlatform(), create);
}

export async function startOn(
  platform: Platform,
  create: (platform: Platform) => Server,
): Promise<Started> {
  const server = create(platform);
  const port = await listen(server);
  onStop(() => close(server));
  return { ...platform, port, url: `http://127.0.0.1:${port}/mcp` };
}
