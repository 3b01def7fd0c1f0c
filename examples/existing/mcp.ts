import { createMcpHandler, McpServer } from '@modelcontextprotocol/server';
import { allowedTools, createMcpGate, guardTool, principalOf } from 'keyscope/mcp';
import { z } from 'zod';
import { keyring } from './access.ts';
import { invoicesOf } from './product.ts';

const listInvoices = (server: McpServer) =>
  server.registerTool(
    'listInvoices',
    { description: 'List invoices.', inputSchema: z.object({}) },
    async (_args, ctx) => {
      const { entityId } = guardTool(keyring, ctx.http?.authInfo, 'listInvoices');
      return { content: [{ type: 'text', text: JSON.stringify(await invoicesOf(entityId)) }] };
    },
  );

/** The name of a tool is an operation of the policy. */
export const tools = [{ name: 'listInvoices', add: listInvoices }] as const;
const resource = process.env.MCP_URL ?? 'http://127.0.0.1:3000/mcp';
const gate = createMcpGate({ keyring, tools, resource, resourceMetadata: false });

const handler = createMcpHandler(({ authInfo }) => {
  const server = new McpServer({ name: 'acme', version: '1.0.0' }, { capabilities: { tools: {} } });
  for (const { add } of allowedTools(keyring, principalOf(authInfo), tools)) add(server);
  return server;
});

/** Pass the body if something has read it before. */
export async function mcp(request: Request, parsedBody?: unknown): Promise<Response> {
  const entry = await gate(request, { parsedBody });
  const response = entry instanceof Response ? entry : await handler.fetch(request, entry);
  response.headers.set('Cache-Control', 'no-store');
  return response;
}
