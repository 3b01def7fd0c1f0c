/** What clients of the SDK do with the 401 of a key: end, without looking for a login. */
import {
  Client as Client2,
  StreamableHTTPClientTransport as ClientTransport2,
} from '@modelcontextprotocol/client';
import { afterEach, expect, test } from 'vitest';
import { connect1, type Fetch, failureOf } from '../support/mcp-clients.ts';
import { onStop, SERVERS, start, stopAll } from '../support/mcp-servers.ts';
import { named } from './http-harness.ts';

afterEach(stopAll);

/** Connects as docs/mcp.md says, with a fetch that records each request. */
async function connect2(url: string, key: string | null, fetch: Fetch): Promise<void> {
  const client = new Client2({ name: 'export', version: '1.0.0' });
  onStop(() => client.close());
  const headers = { Authorization: `Bearer ${key}` };
  await client.connect(new ClientTransport2(new URL(url), { requestInit: { headers }, fetch }));
}

test.each([
  ['1.x', connect1],
  ['2.x', connect2],
])('a client of %s sends the key to the endpoint only, and ends at a 401', async (_, connect) => {
  const platform = await start(SERVERS['2.x']);
  const asked: string[] = [];
  const recording: Fetch = async (url, init) => {
    asked.push(`${init?.method ?? 'GET'} ${new URL(url).pathname}`);
    return fetch(url, init);
  };
  await connect(platform.url, named(platform, 'reader'), recording);
  expect(new Set(asked.map((line) => line.split(' ')[1]))).toEqual(new Set(['/mcp']));
  asked.length = 0;
  const failure = await failureOf(connect(platform.url, named(platform, 'revoked'), recording));
  expect(failure).toMatch(/401|UnauthorizedError/);
  expect(asked).toEqual(['POST /mcp']);
});
