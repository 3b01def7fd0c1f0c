/** The block of docs/mcp.md for Vercel's mcp-handler, with the real package. */
import type { McpServer } from '@modelcontextprotocol/server';
import { definePolicy } from 'keyscope';
import { createMcpGate, guardTool } from 'keyscope/mcp';
import { memoryStore } from 'keyscope/stores/memory';
import { createMcpHandler } from 'mcp-handler';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { bearer, catalog, issue, OWN, setUp, wrap } from '../support/keyring.ts';
import { readProjectFile } from '../support/source.ts';

const [, BLOCK = ''] =
  /from 'mcp-handler';\n([\s\S]*?)\nexport /.exec(readProjectFile('docs/mcp.md')) ?? [];
const policy = definePolicy(catalog, { listThreats: ['threats:read'] });
const resource = 'https://api.example.com/mcp';
const tools = [
  {
    name: 'listThreats',
    add: (server: McpServer) =>
      server.registerTool('listThreats', { inputSchema: z.object({}) }, (_args, ctx) => {
        const { entityId } = guardTool({ policy }, ctx.http?.authInfo, 'listThreats');
        return { content: [{ type: 'text', text: entityId }] };
      }),
  },
];

describe('the gate in front of mcp-handler', () => {
  // Behind its own wrapper, an outage was a 401, and clients threw good keys away.
  test('passes calls on, and answers an outage with 503', async () => {
    let isAway = false;
    const store = wrap(memoryStore(), (method, _args, read) => {
      if (isAway && method === 'findByDigest') throw new Error('away');
      return read();
    });
    const { keyring } = setUp({ policy, store });
    const { key } = await issue(keyring);
    const gate = createMcpGate({ keyring, tools, resource });
    const code = `${BLOCK}\nreturn guarded;`;
    const make = new Function('createMcpHandler', 'tools', 'gate', code) as (
      ...given: readonly unknown[]
    ) => (request: Request) => Promise<Response>;
    const guarded = make(createMcpHandler, tools, gate);
    const call = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'listThreats' } };
    const ask = async (authorization: object) => {
      const accepted = 'application/json, text/event-stream';
      const headers = { 'Content-Type': 'application/json', Accept: accepted, ...authorization };
      const body = JSON.stringify(call);
      const response = await guarded(new Request(resource, { method: 'POST', headers, body }));
      return [response.status, await response.text()];
    };
    const good = { Authorization: bearer(key) };
    expect(await ask(good)).toEqual([200, expect.stringContaining(`"text":"${OWN}"`)]);
    expect((await ask({}))[0]).toBe(401);
    isAway = true;
    expect((await ask(good))[0]).toBe(503);
  });
});
