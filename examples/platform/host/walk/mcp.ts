/** An MCP client that has the endpoint and a key. */
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { assertSame, say } from './surprise.ts';

async function connect(url: string, key: string): Promise<Client> {
  const client = new Client({ name: 'check', version: '1.0.0' });
  const requestInit = { headers: { Authorization: `Bearer ${key}` } };
  await client.connect(new StreamableHTTPClientTransport(new URL(url), { requestInit }));
  return client;
}

/** Lists the tools and calls one, with the SDK's client. `me` is the expected answer of whoami. */
export async function useTools(url: string, key: string, me: unknown): Promise<void> {
  const client = await connect(url, key);
  const { tools } = await client.listTools();
  const names = tools.map(({ name }) => name);
  say(`   tools/list → ${names.join(' ')}`);
  assertSame(names, ['whoami', 'listThreats', 'readThreat', 'listDecoys', 'readDecoy']);
  const { structuredContent } = await client.callTool({ name: 'whoami', arguments: {} });
  say(`   whoami → ${JSON.stringify(structuredContent)}`);
  assertSame(structuredContent, me);
  await client.close();
}

export interface RefusedCall {
  readonly tool: string;
  readonly key: string | null;
  readonly status: number;
  /** The part of the challenge between realm and metadata. */
  readonly challenge: string;
}

/** Makes a call that is refused before it reaches a tool. Status and challenge say why. */
export async function callRefused(
  url: string,
  publicUrl: string,
  { tool, key, status, challenge }: RefusedCall,
): Promise<void> {
  const headers = {
    'Content-Type': 'application/json',
    Accept: 'application/json, text/event-stream',
    ...(key !== null && { Authorization: `Bearer ${key}` }),
  };
  const params = { name: tool, arguments: {} };
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params });
  const response = await fetch(url, { method: 'POST', headers, body });
  const got = response.headers.get('WWW-Authenticate');
  say(`   tools/call ${tool} → ${response.status} ${got}`);
  const metadata = `${publicUrl}/.well-known/oauth-protected-resource/mcp`;
  const expected = [
    'Bearer realm="deception platform"',
    ...(challenge === '' ? [] : [challenge]),
    `resource_metadata="${metadata}"`,
  ];
  assertSame(response.status, status);
  assertSame(got, expected.join(', '));
  assertSame(response.headers.get('Cache-Control'), 'no-store');
}
