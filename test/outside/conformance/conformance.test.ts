/** MCP's official conformance suite gets the same results with and without the gate. */
import { execFile } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { originValidationResponse } from '@modelcontextprotocol/server';
import { createKeyring, definePolicy, defineScopes } from 'keyscope';
import { createMcpGate, endWithKey, type McpEntry } from 'keyscope/mcp';
import { memoryStore } from 'keyscope/stores/memory';
import { afterEach, describe, expect, test } from 'vitest';
import { type Handle, mount } from '../../support/mcp-mounted.ts';
import { createTransport1, stopAll, type Transport1 } from '../../support/mcp-servers.ts';
import { createEverything, TOOL_NAMES } from './everything.ts';

afterEach(stopAll);

const SUITE = fileURLToPath(new URL('../node_modules/.bin/conformance', import.meta.url));

const ENTITY = '6f1a7c1e-5a0e-4c57-9d5e-2f1f6d3f4a10';

interface Session {
  readonly transport: Transport1;
  readonly owner: string | undefined;
}

type Sessions = Map<string, Session>;

/** Stores the events of all streams, so that clients can ask for those that they missed. */
function createEventStore() {
  const events: { readonly stream: string; readonly message: unknown }[] = [];
  return {
    async storeEvent(stream: string, message: unknown): Promise<string> {
      events.push({ stream, message });
      return String(events.length - 1);
    },
    async replayEventsAfter(
      last: string,
      { send }: { send: (id: string, message: never) => Promise<void> },
    ): Promise<string> {
      const stream = events[Number(last)]?.stream ?? '';
      for (const [id, event] of events.entries()) {
        const isLater = id > Number(last) && event.stream === stream;
        if (isLater) await send(String(id), event.message as never);
      }
      return stream;
    },
  };
}

/** Serves an admitted request with the SDK. */
async function serve(sessions: Sessions, request: Request, entry?: McpEntry): Promise<Response> {
  const known = sessions.get(request.headers.get('mcp-session-id') ?? '');
  if (known !== undefined) return known.transport.handleRequest(request, entry);
  const transport: Transport1 = createTransport1({
    sessionIdGenerator: randomUUID,
    eventStore: createEventStore(),
    retryInterval: 100,
    onsessioninitialized: (id) => void sessions.set(id, { transport, owner: entry?.sessionOwner }),
  });
  await createEverything().connect(transport);
  return transport.handleRequest(request, entry);
}

/** The suite sends no credential, so this adds one, like a proxy. */
async function createGated(sessions: Sessions): Promise<Handle> {
  const catalog = defineScopes({ tools: { call: 'Call every tool.' } });
  const scopes = ['tools:call'] as const;
  const table = Object.fromEntries(TOOL_NAMES.map((name) => [name, scopes]));
  const policy = definePolicy(catalog, table);
  const options = { prefix: 'acme', policy, store: memoryStore(), peppers: 'none' } as const;
  const keyring = createKeyring(options);
  const input = { name: 'n', scopes, expiresAt: 'never' } as const;
  const { key } = await keyring.issue(input, { entityId: ENTITY, scopes });
  const gate = createMcpGate({
    keyring,
    tools: TOOL_NAMES.map((name) => ({ name })),
    realm: 'acme',
    resource: 'https://api.example.com/mcp',
    sessionOwner: (id) => sessions.get(id)?.owner,
  });
  return async (request) => {
    const headers = new Headers(request.headers);
    headers.set('authorization', `Bearer ${key}`);
    const authorized = new Request(request, { headers });
    const entry = await gate(authorized);
    if (entry instanceof Response) return entry;
    return endWithKey(await serve(sessions, authorized, entry), entry);
  };
}

/** Rejects requests to other host names, as the suite requires of local servers. */
function withOrigin(handle: Handle): Handle {
  return async (request) => {
    const isHere = ['localhost', '127.0.0.1'].includes(new URL(request.url).hostname);
    if (!isHere) return new Response(null, { status: 403 });
    return originValidationResponse(request, ['localhost', '127.0.0.1']) ?? handle(request);
  };
}

/** Runs the suite and returns the result line of each scenario. */
async function runSuite(handle: Handle): Promise<readonly string[]> {
  const url = await mount(withOrigin(handle));
  const output = await new Promise<string>((resolve) => {
    execFile(process.execPath, [SUITE, 'server', '--url', url], (_error, stdout) =>
      resolve(stdout),
    );
  });
  return output.split('\n').filter((line) => /^[✓✗] /.test(line));
}

const { CI } = process.env;

describe.skipIf(!existsSync(SUITE) && CI !== 'true')('the conformance suite', () => {
  test('gets the same results with and without the gate', { timeout: 120_000 }, async () => {
    const sessions: Sessions = new Map();
    const bare = await runSuite((request) => serve(sessions, request));
    const gated = await runSuite(await createGated(new Map()));
    console.log(bare.join('\n'));
    expect(bare.length).toBeGreaterThan(25);
    expect(gated).toEqual(bare);
    expect(bare.filter((line) => !line.startsWith('✓'))).toEqual([]);
  });
});
