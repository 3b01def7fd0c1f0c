/**
 * The platform over MCP, on real sockets: servers and clients of both generations of the SDK, with
 * the same keys, rows and policy as REST.
 */
import { randomUUID } from 'node:crypto';
import type { Server } from 'node:http';
import { inspect } from 'node:util';
import { getRequestListener } from '@hono/node-server';
import {
  Client as Client2,
  StreamableHTTPClientTransport as ClientTransport2,
} from '@modelcontextprotocol/client';
import { Client as Client1 } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport as ClientTransport1 } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { Server as Server1 } from '@modelcontextprotocol/sdk/server/index.js';
import { WebStandardStreamableHTTPServerTransport as ServerTransport1 } from '@modelcontextprotocol/sdk/server/webStandardStreamableHttp.js';
import { CallToolRequestSchema, ListToolsRequestSchema } from '@modelcontextprotocol/sdk/types.js';
import {
  McpServer,
  OAuthError,
  OAuthErrorCode,
  requireBearerAuth,
  WebStandardStreamableHTTPServerTransport as ServerTransport2,
} from '@modelcontextprotocol/server';
import { generateKeyPair } from 'jose';
import { createKeyring, toMe } from 'keyscope';
import type { ExchangeInput } from 'keyscope/jwt';
import { createTokenIssuer, createTokenVerifier } from 'keyscope/jwt';
import type { McpAuthInfo, McpGateOptions } from 'keyscope/mcp';
import { allowedTools, createMcpGate, createMcpVerifier, principalOf } from 'keyscope/mcp';
import { memoryStore } from 'keyscope/stores/memory';
import { afterEach, describe, expect, test, vi } from 'vitest';
import { createServer as createExample } from '../../examples/mcp/server.ts';
import { callTool, tools } from '../../examples/mcp/tools.ts';
import { catalog } from '../../examples/platform/catalog.ts';
import { createNodeServer, REALM } from '../../examples/platform/http.ts';
import type { Operation } from '../../examples/platform/policy.ts';
import { policy } from '../../examples/platform/policy.ts';
import { routes } from '../../examples/platform/routes.ts';
import type { Platform } from '../http/harness.ts';
import { A, B, C, close, createPlatform, exchange, listen, named } from '../http/harness.ts';

// What the service is called is not where it listens.
const PUBLIC_URL = 'https://deception.example';
const METADATA_PATH = '/.well-known/oauth-protected-resource/mcp';
const challenge = (params: string) =>
  `Bearer realm="${REALM}", ${params}resource_metadata="${PUBLIC_URL}${METADATA_PATH}"`;

const stops: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const stop of stops.splice(0).reverse()) await stop();
  vi.restoreAllMocks();
});

// ── Servers ───────────────────────────────────────────────────────────────────────────────────────────

const gateOf = ({ keyring }: Platform, more: Partial<McpGateOptions<Operation>> = {}) =>
  createMcpGate({ keyring, policy, tools, realm: REALM, resource: `${PUBLIC_URL}/mcp`, ...more });

const serviceOf = (platform: Platform) => ({
  keyring: platform.keyring,
  domain: platform.domain,
  publicUrl: PUBLIC_URL,
  report: (error: unknown) => platform.errors.push(error),
});

/** What handlers were given, for the canary. */
const shown: unknown[] = [];

/**
 * A server of the SDK's 1.x: one for everybody, so each list and each call looks at its own
 * request's caller.
 */
function server1(platform: Platform): Server1 {
  const server = new Server1({ name: 'one', version: '1.0.0' }, { capabilities: { tools: {} } });
  server.setRequestHandler(ListToolsRequestSchema, (_request, { authInfo }) => {
    shown.push(authInfo);
    const mine = allowedTools(policy, principalOf(authInfo), tools);
    return { tools: mine.map(({ route: _, ...tool }) => tool) };
  });
  server.setRequestHandler(CallToolRequestSchema, ({ params }, { authInfo }) => {
    const tool = tools.find(({ name }) => name === params.name);
    if (tool === undefined) throw new Error('no such tool');
    return callTool(serviceOf(platform), authInfo, tool, params.arguments ?? {});
  });
  return server;
}

/** Stateless, as the example is: a transport for each request. */
function create1(platform: Platform): Server {
  const gate = gateOf(platform, { onOutage: (error) => platform.errors.push(error) });
  return createNodeServer(
    getRequestListener(async (request) => {
      const entry = await gate(request);
      if (entry instanceof Response) return entry;
      if (request.method !== 'POST') return new Response(null, { status: 405 });
      const transport = new ServerTransport1({ enableJsonResponse: true });
      await server1(platform).connect(transport);
      return transport.handleRequest(request, entry);
    }),
  );
}

const SERVERS = {
  '2.x': (platform: Platform) => createExample(serviceOf(platform)),
  '1.x': create1,
};

async function start(create: (platform: Platform) => Server) {
  const platform = await createPlatform();
  const server = create(platform);
  const port = await listen(server);
  stops.push(() => close(server));
  return { ...platform, port, url: `http://127.0.0.1:${port}/mcp` };
}

// ── Clients ───────────────────────────────────────────────────────────────────────────────────────────

interface Result {
  readonly structuredContent?:
    | { readonly items?: unknown; readonly next?: unknown; readonly id?: unknown }
    | undefined;
  readonly content: { readonly type: string; readonly text?: string }[];
  readonly isError?: boolean | undefined;
}

interface Connection {
  /** Names, in the order listed. */
  list(): Promise<string[]>;
  call(name: string, args?: Record<string, unknown>): Promise<Result>;
}

type Fetch = (url: string | URL, init?: RequestInit) => Promise<Response>;
type Connect = (url: string, key: string | null, fetch?: Fetch) => Promise<Connection>;

const optionsOf = (key: string | null, fetch?: Fetch) => ({
  requestInit: { headers: key === null ? {} : { Authorization: `Bearer ${key}` } },
  ...(fetch !== undefined && { fetch }),
});

const connect1: Connect = async (url, key, fetch) => {
  const client = new Client1({ name: 'test', version: '1.0.0' });
  stops.push(() => client.close());
  const transport = new ClientTransport1(new URL(url), optionsOf(key, fetch));
  // Its `sessionId` is `string | undefined` where its own interface has an optional one.
  await client.connect(transport as Parameters<typeof client.connect>[0]);
  return {
    list: async () => (await client.listTools()).tools.map(({ name }) => name),
    call: async (name, args = {}) =>
      (await client.callTool({ name, arguments: args })) as unknown as Result,
  };
};

const connect2 =
  (mode: 'legacy' | { pin: string }): Connect =>
  async (url, key, fetch) => {
    const client = new Client2(
      { name: 'test', version: '1.0.0' },
      { versionNegotiation: { mode } },
    );
    stops.push(() => client.close());
    await client.connect(new ClientTransport2(new URL(url), optionsOf(key, fetch)));
    return {
      list: async () => (await client.listTools()).tools.map(({ name }) => name),
      call: async (name, args = {}) => (await client.callTool({ name, arguments: args })) as Result,
    };
  };

const PAIRS: readonly (readonly [server: keyof typeof SERVERS, client: string, Connect])[] = [
  ['2.x', '1.x', connect1],
  ['2.x', '2.x, as of 2025', connect2('legacy')],
  ['2.x', '2.x, as of 2026', connect2({ pin: '2026-07-28' })],
  ['1.x', '1.x', connect1],
  ['1.x', '2.x, as of 2025', connect2('legacy')],
];

/**
 * What a client's promise rejects with, as text: the SDKs keep status and body in different places.
 */
const failure = (promise: Promise<unknown>): Promise<string> =>
  promise.then(
    () => Promise.reject(new Error('was not refused')),
    (error) => `${inspect(error, { depth: 5 })} ${JSON.stringify(error)}`,
  );

const HEADERS = {
  'Content-Type': 'application/json',
  Accept: 'application/json, text/event-stream',
};

/** One call without a client. */
async function post(
  url: string,
  key: string | null,
  message: unknown,
  headers: Record<string, string> = {},
) {
  const authorization = key === null ? undefined : { Authorization: `Bearer ${key}` };
  const all = { ...HEADERS, ...authorization, ...headers };
  const response = await fetch(url, {
    method: 'POST',
    headers: all,
    body: JSON.stringify(message),
  });
  return { status: response.status, headers: response.headers, body: await response.text() };
}
const toolCall = (name: string, args = {}) => ({
  jsonrpc: '2.0',
  id: 1,
  method: 'tools/call',
  params: { name, arguments: args },
});

// ── Each client on each server ────────────────────────────────────────────────────────────────────────

describe.each(PAIRS)('a server of %s and a client of %s', (generation, _client, connect) => {
  const open = () => start(SERVERS[generation]);

  test('list what the key may use, and call it', async () => {
    const platform = await open();
    const reader = await connect(platform.url, named(platform, 'reader'));
    expect(await reader.list()).toEqual(['whoami', 'listThreats', 'readThreat']);
    const { structuredContent, content } = await reader.call('listThreats', { limit: 2 });
    expect(structuredContent?.items).toEqual(
      platform.domain.listThreats(A, { limit: 2, after: null }).items,
    );
    expect(JSON.parse(content[0]?.text ?? '')).toEqual(structuredContent);
    const full = await connect(platform.url, named(platform, 'full'));
    expect(await full.list()).toEqual(policy.operations);
    const bare = await connect(platform.url, named(platform, 'bare'));
    expect(await bare.list()).toEqual(['whoami']);
    expect(platform.errors).toEqual([]);
  });

  test('whoami answers what /me answers', async () => {
    const platform = await open();
    const key = named(platform, 'threats:write');
    const { structuredContent } = await (await connect(platform.url, key)).call('whoami');
    expect(structuredContent).toEqual(toMe(await platform.keyring.verify(key)));
  });

  test('are refused without a key, and with a bad one', async () => {
    const platform = await open();
    expect(await failure(connect(platform.url, null))).toMatch(/401|UnauthorizedError/);
    for (const name of ['unknown', 'revoked', 'expired', 'retired', 'tampered']) {
      expect(await failure(connect(platform.url, named(platform, name)))).toMatch(
        /401|UnauthorizedError/,
      );
    }
  });

  test('a call that lacks a scope is refused with the scope', async () => {
    const platform = await open();
    const client = await connect(platform.url, named(platform, 'reader'));
    expect(await failure(client.call('listUsers'))).toContain('users:read');
    const entity = await failure(client.call('listThreats', { entity_uuid: C }));
    expect(entity).toContain('entity_forbidden');
    expect(entity).toContain('403');
    // The connection goes on.
    expect((await client.call('listThreats', { entity_uuid: B })).structuredContent?.items).toEqual(
      platform.domain.listThreats(B, { limit: 20, after: null }).items,
    );
  });

  test('a key that is revoked between two calls ends the second', async () => {
    const platform = await open();
    const client = await connect(platform.url, named(platform, 'reader'));
    await client.call('whoami');
    await platform.keyring.revoke(named(platform, 'reader.id'), { entityUuid: A });
    expect(await failure(client.call('whoami'))).toMatch(/401|UnauthorizedError/);
    expect(await failure(client.list())).toMatch(/401|UnauthorizedError/);
  });

  test('a broken store is 503, and no bad key', async () => {
    const platform = await open();
    const error = await failure(connect(platform.url, named(platform, 'outage')));
    expect(error).toMatch(/503|Service Unavailable/);
    expect(error).not.toMatch(/invalid_token|database/);
    expect(platform.errors).toMatchObject([{ cause: { message: 'the database is away' } }]);
  });
});

test.each([
  ['2.x', connect2({ pin: '2026-07-28' })],
  ['1.x', connect1],
] as const)(
  '200 calls at once of %s with 20 keys: each sees its own tools and its own rows',
  async (generation, connect) => {
    const platform = await start(SERVERS[generation]);
    const { keyring, domain, url } = platform;
    const scopes = ['threats:read', 'decoys:read', 'canaries:read', 'users:read'] as const;
    const callers = Array.from({ length: 20 }, async (_, i) => {
      const entityUuid = [A, B, C][i % 3] as string;
      const mine = scopes.filter((_scope, bit) => ((i + 1) >> bit) & 1 || bit === 0);
      const input = {
        name: `n${i}`,
        scopes: mine,
        expiresAt: 'never',
        justification: 'tests',
      } as const;
      const { key, info } = await keyring.issue(input, { entityUuid });
      return { entityUuid, info, mine, client: await connect(url, key) };
    });
    const all = await Promise.all(callers);
    const calls = Array.from({ length: 200 }, async (_, i) => {
      const { entityUuid, info, mine, client } = all[(i * 7) % 20] as (typeof all)[number];
      if (i % 3 === 0) {
        const allowed = policy.operations.filter((name) =>
          policy.requires(name).every((s) => mine.includes(s as never)),
        );
        return expect(await client.list()).toEqual(allowed);
      }
      const { structuredContent } = await client.call(i % 3 === 1 ? 'whoami' : 'listThreats');
      const whoami = {
        entity_uuid: entityUuid,
        key_id: info.keyId,
        scopes: mine,
        accessible_entities: [entityUuid],
      };
      const { items } = domain.listThreats(entityUuid, { limit: 20, after: null });
      return expect(structuredContent).toMatchObject(i % 3 === 1 ? whoami : { items });
    });
    await Promise.all(calls);
    expect(platform.errors).toEqual([]);
  },
);

// ── The answers as bytes ──────────────────────────────────────────────────────────────────────────────

describe.each(Object.entries(SERVERS))('a server of %s answers', (_, create) => {
  test.each([
    ['no key', null, 'whoami', {}, 401, challenge('')],
    ['a revoked key', 'revoked', 'whoami', {}, 401, challenge('error="invalid_token", ')],
    [
      'a scope that is missing',
      'reader',
      'listUsers',
      {},
      403,
      challenge('error="insufficient_scope", scope="users:read", '),
    ],
    [
      'a reserved scope that is missing',
      'users:read',
      'deleteUser',
      { id: 'x' },
      403,
      challenge('error="insufficient_scope", scope="users:delete", '),
    ],
    ["another's entity", 'reader', 'listThreats', { entity_uuid: C }, 403, null],
    [
      'an entity that is none',
      'reader',
      'listThreats',
      { entity_uuid: A.toUpperCase() },
      400,
      challenge('error="invalid_request", '),
    ],
    ['a broken store', 'outage', 'whoami', {}, 503, null],
  ])('%s', async (_comment, name, tool, args, status, expected) => {
    const platform = await start(create);
    const key = name === null ? null : named(platform, name);
    const answer = await post(platform.url, key, toolCall(tool, args));
    expect({ status: answer.status, challenge: answer.headers.get('www-authenticate') }).toEqual({
      status,
      challenge: expected,
    });
    expect(answer.headers.get('cache-control')).toBe('no-store');
    expect(JSON.parse(answer.body)).toMatchObject({ status });
  });

  test('two Authorization lines with 400, whichever key is good', async () => {
    const platform = await start(create);
    const body = JSON.stringify(toolCall('whoami'));
    for (const keys of [
      ['full', 'unknown'],
      ['unknown', 'full'],
      ['full', 'full'],
    ]) {
      const lines = [
        'POST /mcp HTTP/1.1',
        'Host: localhost',
        'Connection: close',
        ...Object.entries(HEADERS).map(([name, value]) => `${name}: ${value}`),
        ...keys.map((name) => `Authorization: Bearer ${named(platform, name)}`),
        `Content-Length: ${body.length}`,
      ];
      const answer = await exchange(platform.port, `${lines.join('\r\n')}\r\n\r\n${body}`);
      expect([answer.status, JSON.parse(answer.body).error]).toEqual([400, 'invalid_request']);
    }
  });

  test('a batch with one call too many by no call at all', async () => {
    const platform = await start(create);
    const key = named(platform, 'threats:write');
    const id = named(platform, 'threat');
    const change = { ...toolCall('updateThreat', { id, notes: 'changed' }), id: 2 };
    const refused = await post(platform.url, key, [change, toolCall('listUsers')]);
    expect(refused.status).toBe(403);
    expect(platform.domain.readThreat(A, id)?.notes).not.toBe('changed');
    await post(platform.url, key, [change, toolCall('whoami')]);
    expect(platform.domain.readThreat(A, id)?.notes).toBe('changed');
  });

  test('a body that is too large with 413, before it is parsed', async () => {
    const platform = await start((p) =>
      createNodeServer(
        getRequestListener(async (request) => {
          const entry = await gateOf(p, { maxBodyBytes: 1000 })(request);
          return entry instanceof Response ? entry : new Response('in');
        }),
      ),
    );
    const padded = toolCall('whoami', { note: 'x'.repeat(100_000) });
    expect((await post(platform.url, named(platform, 'full'), padded)).status).toBe(413);
    expect((await post(platform.url, null, padded)).status).toBe(401);
  });
});

// ── The example beside REST ───────────────────────────────────────────────────────────────────────────

describe('one table', () => {
  test('has a tool for each operation, in the policy by the same name', () => {
    expect(policy.unmapped(tools.map(({ name }) => name))).toEqual([]);
    expect(tools.map(({ name }) => name)).toEqual(policy.operations);
  });

  test('names no argument twice, and never one that the guard reads', () => {
    for (const { path, query, body } of routes) {
      const path1 = path.includes(':id') ? ['id'] : [];
      const names = [
        'entity_uuid',
        ...path1,
        ...Object.keys(query.shape),
        ...Object.keys(body?.shape ?? {}),
      ];
      expect(names).toEqual([...new Set(names)]);
    }
  });

  test('reads over MCP what it reads over REST', async () => {
    const platform = await start(SERVERS['2.x']);
    const key = named(platform, 'full');
    const client = await connect2({ pin: '2026-07-28' })(platform.url, key);
    const kinds: Record<string, string> = {
      threats: 'threat',
      interactions: 'interaction',
      decoys: 'decoy',
      canaries: 'canary',
      users: 'user',
    };
    for (const { method, path, operation } of routes) {
      if (method !== 'GET') continue;
      const id = path.includes(':id')
        ? named(platform, kinds[path.split('/')[2] ?? ''] ?? '')
        : undefined;
      for (const entity of [undefined, B]) {
        if (entity === B && id !== undefined) continue;
        const query = entity === undefined ? '' : `?entity_uuid=${entity}`;
        const rest = await fetch(
          platform.url.replace('/mcp', path.replace(':id', id ?? '')) + query,
          { headers: { Authorization: `Bearer ${key}` } },
        );
        const args = {
          ...(id !== undefined && { id }),
          ...(entity !== undefined && { entity_uuid: entity }),
        };
        const { structuredContent } = await client.call(operation, args);
        expect({ operation, body: structuredContent }).toEqual({
          operation,
          body: await rest.json(),
        });
      }
    }
  });

  test('walks over pages, and writes what REST reads', async () => {
    const platform = await start(SERVERS['2.x']);
    const { domain } = platform;
    const client = await connect2({ pin: '2026-07-28' })(platform.url, named(platform, 'full'));
    const first = await client.call('listThreats', { limit: 3 });
    const second = await client.call('listThreats', {
      limit: 100,
      after: first.structuredContent?.next,
    });
    const items = [first, second].flatMap(({ structuredContent }) => structuredContent?.items);
    expect(items).toEqual(domain.listThreats(A, { limit: 100, after: null }).items);

    const [threat, decoy, canary, user] = ['threat', 'decoy', 'canary', 'user'].map((name) =>
      named(platform, name),
    );
    await client.call('updateThreat', { id: threat, status: 'resolved', notes: 'seen' });
    expect(domain.readThreat(A, threat ?? '')).toMatchObject({ status: 'resolved', notes: 'seen' });
    const created = await client.call('createCanary', { name: 'c', kind: 'dns', entity_uuid: B });
    const id = String(created.structuredContent?.id);
    expect(domain.readCanary(B, id)).toMatchObject({ name: 'c', notes: '' });
    expect(domain.readCanary(A, id)).toBeNull();
    await client.call('updateCanary', { id: canary, notes: 'n' });
    expect(domain.readCanary(A, canary ?? '')).toMatchObject({ notes: 'n' });
    await client.call('updateDecoy', { id: decoy });
    expect(domain.readDecoy(A, decoy ?? '')).not.toMatchObject({ update_requested_at: null });
    expect((await client.call('deleteUser', { id: user })).content).toEqual([
      { type: 'text', text: 'Done.' },
    ]);
    expect(domain.readUser(A, user ?? '')).toBeNull();
    await client.call('createUser', { email: 'New@example.com', name: 'N', role: 'viewer' });
    expect(domain.listUsers(A, { limit: 100, after: null }).items).toContainEqual(
      expect.objectContaining({ email: 'new@example.com' }),
    );
    await client.call('decommissionDecoy', { id: decoy });
    await client.call('decommissionCanary', { id: canary });
    const after = await client.call('updateDecoy', { id: decoy });
    expect([after.isError, JSON.parse(after.content[0]?.text ?? '').status]).toEqual([true, 409]);
    expect(platform.errors).toEqual([]);
  });

  test.each([
    ['readThreat', {}, /id/],
    ['readThreat', { id: 'nothing' }, /There is nothing with this id/],
    ['readThreat', { id: 'threatB' }, /There is nothing with this id/],
    ['listThreats', { limit: 0 }, /limit/],
    ['listThreats', { limit: 101 }, /limit/],
    ['listThreats', { after: 'x' }, /after/],
    ['listThreats', { id: 'x' }, /id|additional|unknown/i],
    ['updateThreat', { id: 'threat' }, /at least one field/],
    ['updateThreat', { id: 'threat', status: 'gone' }, /status/],
    ['updateThreat', { id: 'threat', owner: 'x' }, /unknown|additional/i],
    ['createCanary', { kind: 'dns' }, /name/],
    ['whoami', { note: 'x' }, /unknown|additional/i],
  ])(
    '%s of %j is an error that says what to mend, on both generations',
    async (name, args, expected) => {
      for (const [create, connect] of [
        [SERVERS['2.x'], connect2({ pin: '2026-07-28' })],
        [SERVERS['1.x'], connect1],
      ] as const) {
        const platform = await start(create);
        const filled = Object.entries(args).map(([k, v]) => [k, platform.values[String(v)] ?? v]);
        const client = await connect(platform.url, named(platform, 'full'));
        const { isError, content } = await client.call(name, Object.fromEntries(filled));
        expect([isError, content[0]?.text]).toEqual([true, expect.stringMatching(expected)]);
        expect(platform.errors).toEqual([]);
      }
    },
  );

  test('an error of ours is reported, and the client learns nothing of it', async () => {
    for (const [create, connect] of [
      [SERVERS['2.x'], connect2({ pin: '2026-07-28' })],
      [SERVERS['1.x'], connect1],
    ] as const) {
      const platform = await start(create);
      const client = await connect(platform.url, named(platform, 'full'));
      platform.db.close();
      const { isError, content } = await client.call('listThreats');
      expect([isError, JSON.parse(content[0]?.text ?? '')]).toEqual([
        true,
        {
          type: 'about:blank',
          title: 'Internal Server Error',
          status: 500,
          detail: 'Something went wrong.',
        },
      ]);
      expect(platform.errors).toMatchObject([{ message: 'database is not open' }]);
    }
  });

  test('REST goes on beside it, and other paths are none', async () => {
    const platform = await start(SERVERS['2.x']);
    const get = (path: string) =>
      fetch(platform.url.replace('/mcp', path), {
        headers: { Authorization: `Bearer ${named(platform, 'bare')}` },
      });
    expect((await get('/v1/me')).status).toBe(200);
    for (const path of [
      '/mcp/',
      '/mcp/x',
      '/v1/mcp',
      '/MCP',
      '/.well-known/other',
      '/.well-known',
    ]) {
      expect((await get(path)).status).toBe(404);
    }
    expect((await get('/mcp')).status).toBe(405);
  });
});

test('an answer to a key is stored by nobody, as a document or as a stream', async () => {
  const platform = await start(SERVERS['2.x']);
  const seen: string[] = [];
  const spy: Fetch = async (to, init) => {
    const response = await fetch(to, init);
    seen.push(`${response.headers.get('content-type')}; ${response.headers.get('cache-control')}`);
    return response;
  };
  for (const mode of ['legacy', { pin: '2026-07-28' }] as const) {
    await (await connect2(mode)(platform.url, named(platform, 'bare'), spy)).list();
  }
  expect(seen).toContain('application/json; no-store');
  expect(seen).toContain('text/event-stream; no-store, no-transform');
  expect(seen.filter((line) => !line.includes('no-store'))).toEqual([]);
});

describe('the metadata', () => {
  test('needs no key, and is the same whatever a request says about hosts', async () => {
    const { port, url } = await start(SERVERS['2.x']);
    const plain = await fetch(`http://127.0.0.1:${port}${METADATA_PATH}`);
    const text = await plain.text();
    expect(JSON.parse(text)).toMatchObject({
      resource: `${PUBLIC_URL}/mcp`,
      bearer_methods_supported: ['header'],
    });
    const forged = [
      'Host: evil.example',
      'X-Forwarded-Host: evil.example',
      'X-Forwarded-Proto: http',
      'Forwarded: host=evil.example',
    ];
    const ask = (target: string) =>
      exchange(
        port,
        `GET ${target} HTTP/1.1\r\nConnection: close\r\n${forged.join('\r\n')}\r\n\r\n`,
      );
    expect((await ask(METADATA_PATH)).body).toBe(text);
    expect((await ask('/mcp')).headers['www-authenticate']).toBe(challenge(''));
    const post = await fetch(`http://127.0.0.1:${port}${METADATA_PATH}`, { method: 'POST' });
    expect([post.status, post.headers.get('allow')]).toEqual([405, 'GET, HEAD']);
    expect(url).not.toContain('deception.example');
  });
});

test("another site's page is turned away, whatever it carries", async () => {
  const platform = await start(SERVERS['2.x']);
  const ask = (origin: string) =>
    post(platform.url, named(platform, 'full'), toolCall('whoami'), { Origin: origin });
  expect((await ask('https://evil.example')).status).toBe(403);
  expect((await ask('null')).status).toBe(403);
  expect((await ask(PUBLIC_URL)).status).toBe(200);
});

// ── Without the gate's look at the body ───────────────────────────────────────────────────────────────

test("the second line holds by itself, behind the SDK's own door", async () => {
  const platform = await start((p) => {
    const invalidToken = (message: string) => new OAuthError(OAuthErrorCode.InvalidToken, message);
    const verifier = createMcpVerifier({
      keyring: p.keyring,
      resource: `${PUBLIC_URL}/mcp`,
      invalidToken,
    });
    const bearer = requireBearerAuth({
      verifier,
      resourceMetadataUrl: `${PUBLIC_URL}${METADATA_PATH}`,
    });
    return createNodeServer(
      getRequestListener(async (request) => {
        const authInfo = await bearer(request);
        if (authInfo instanceof Response) return authInfo;
        const transport = new ServerTransport1({ enableJsonResponse: true });
        await server1(p).connect(transport);
        return transport.handleRequest(request, { authInfo });
      }),
    );
  });
  const ask = async (key: string | null, name: string, args = {}) => {
    const { status, body } = await post(platform.url, key, toolCall(name, args));
    const { result } = JSON.parse(body);
    return [
      status,
      result?.isError,
      result?.isError ? JSON.parse(result.content[0].text) : undefined,
    ];
  };
  const reader = named(platform, 'reader');
  expect(await ask(null, 'whoami')).toEqual([401, undefined, undefined]);
  expect(await ask(reader, 'whoami')).toEqual([200, undefined, undefined]);
  const scope = { error: 'insufficient_scope', scope: 'users:read', status: 403 };
  expect(await ask(reader, 'listUsers')).toEqual([200, true, expect.objectContaining(scope)]);
  const entity = { error: 'entity_forbidden', status: 403 };
  expect(await ask(reader, 'listThreats', { entity_uuid: C })).toEqual([
    200,
    true,
    expect.objectContaining(entity),
  ]);
  const malformed = { error: 'invalid_request', status: 400 };
  expect(await ask(reader, 'listThreats', { entity_uuid: [B, C] })).toEqual([
    200,
    true,
    expect.objectContaining(malformed),
  ]);
});

// ── Sessions ──────────────────────────────────────────────────────────────────────────────────────────

interface SessionTransport {
  handleRequest(
    request: Request,
    options: { authInfo: McpAuthInfo; parsedBody?: unknown },
  ): Promise<Response>;
}

/**
 * A stateful server: the transports live on between requests, so whose they are must be asked each
 * time.
 */
function stateful(
  open: (
    platform: Platform,
    started: (id: string, t: SessionTransport) => void,
  ) => Promise<SessionTransport>,
) {
  return (platform: Platform): Server => {
    const sessions = new Map<
      string,
      { readonly transport: SessionTransport; readonly owner: string }
    >();
    const gate = gateOf(platform, { sessionOwner: (id) => sessions.get(id)?.owner });
    return createNodeServer(
      getRequestListener(async (request) => {
        const entry = await gate(request);
        if (entry instanceof Response) return entry;
        const { sessionOwner: owner } = entry;
        const session = sessions.get(request.headers.get('mcp-session-id') ?? '');
        const started = (id: string, transport: SessionTransport) =>
          void sessions.set(id, { transport, owner });
        const transport = session?.transport ?? (await open(platform, started));
        return transport.handleRequest(request, entry);
      }),
    );
  };
}

const streamOf = (eventId: string) => eventId.slice(0, eventId.lastIndexOf('_'));

/**
 * Keeps what was sent, so that a client whose connection broke can ask for what came after an
 * event.
 */
function createEventStore<Message>() {
  const events: { readonly id: string; readonly message: Message }[] = [];
  return {
    async storeEvent(streamId: string, message: Message): Promise<string> {
      const id = `${streamId}_${events.length}`;
      events.push({ id, message });
      return id;
    },
    async replayEventsAfter(
      last: string,
      { send }: { send(id: string, message: Message): Promise<void> },
    ) {
      const after = events.slice(events.findIndex(({ id }) => id === last) + 1);
      for (const { id, message } of after)
        if (streamOf(id) === streamOf(last)) await send(id, message);
      return streamOf(last);
    },
  };
}

const STATEFUL = {
  '1.x': stateful(async (platform, started) => {
    const transport: ServerTransport1 = new ServerTransport1({
      sessionIdGenerator: randomUUID,
      eventStore: createEventStore(),
      onsessioninitialized: (id) => started(id, transport),
    });
    await server1(platform).connect(transport);
    return transport;
  }),
  '2.x': stateful(async (platform, started) => {
    const transport: ServerTransport2 = new ServerTransport2({
      sessionIdGenerator: randomUUID,
      eventStore: createEventStore(),
      onsessioninitialized: (id) => started(id, transport),
    });
    const server = new McpServer({ name: 'two', version: '1.0.0' });
    const whoami = tools.find(({ name }) => name === 'whoami') as (typeof tools)[number];
    server.registerTool('whoami', {}, (context) =>
      callTool(serviceOf(platform), context.http?.authInfo, whoami, {}),
    );
    await server.connect(transport);
    return transport;
  }),
};

test.each(Object.entries(STATEFUL))(
  'a session of %s is open to the key that started it, and to nobody else',
  async (_, create) => {
    const platform = await start(create);
    const { url, keyring } = platform;
    let id = '';
    const spy: Fetch = async (to, init) => {
      const response = await fetch(to, init);
      id = response.headers.get('mcp-session-id') ?? id;
      return response;
    };
    const [reader, full] = [named(platform, 'reader'), named(platform, 'full')];
    const mine = await connect1(url, reader, spy);
    expect((await mine.call('whoami')).structuredContent).toMatchObject({
      key_id: named(platform, 'reader.id'),
    });
    expect(id).not.toBe('');

    const session = { 'mcp-session-id': id };
    expect((await post(url, reader, toolCall('whoami'), session)).status).toBe(200);
    expect((await post(url, null, toolCall('whoami'), session)).status).toBe(401);
    const foreign = await post(url, full, toolCall('whoami'), session);
    const unknown = await post(url, full, toolCall('whoami'), { 'mcp-session-id': randomUUID() });
    expect([foreign.status, foreign.body]).toEqual([404, unknown.body]);
    // Nor to listen in, nor to end it.
    for (const method of ['GET', 'DELETE']) {
      const headers = { ...HEADERS, ...session, Authorization: `Bearer ${full}` };
      expect((await fetch(url, { method, headers })).status).toBe(404);
    }
    await mine.call('whoami');
    await keyring.revoke(named(platform, 'reader.id'), { entityUuid: A });
    expect((await post(url, reader, toolCall('whoami'), session)).status).toBe(401);
    expect(await failure(mine.call('whoami'))).toMatch(/401/);
  },
);

// A token without any scope, made from the key, had the key's earlier results again, and could end
// the session.
test.each(Object.entries(STATEFUL))(
  'a session of %s is open to tokens that may do the same, not to others of the same key, nor is that one to them',
  async (_, create) => {
    const resource = `${PUBLIC_URL}/mcp`;
    const common = { issuer: PUBLIC_URL, audience: resource };
    const { privateKey } = await generateKeyPair('ES256', { extractable: true });
    const issuer = createTokenIssuer({ ...common, privateKey, alg: 'ES256', kid: 'k1' });
    const tokens = createTokenVerifier({
      ...common,
      jwks: await issuer.jwks(),
      algorithms: ['ES256'],
      catalog,
    });
    const keyring = createKeyring({
      prefix: 'lure',
      catalog,
      store: memoryStore(),
      peppers: 'none',
      tokens,
    });
    const platform = { ...(await createPlatform()), keyring };
    const server = create(platform);
    const url = `http://127.0.0.1:${await listen(server)}/mcp`;
    stops.push(() => close(server));
    const input = { name: 'n', scopes: ['threats:read'], expiresAt: 'never' } as const;
    const { key } = await keyring.issue(
      { ...input, accessibleEntities: [B] },
      { entityUuid: A, entities: [B] },
    );
    const exchanged = async (narrowed: ExchangeInput = {}) =>
      (await issuer.exchange(await keyring.verify(key), narrowed)).accessToken;

    const open = async (credential: string) => {
      const params = {
        protocolVersion: '2025-11-25',
        capabilities: {},
        clientInfo: { name: 'c', version: '1' },
      };
      const { status, headers } = await post(url, credential, {
        jsonrpc: '2.0',
        id: 0,
        method: 'initialize',
        params,
      });
      expect(status).toBe(200);
      return {
        'mcp-session-id': String(headers.get('mcp-session-id')),
        'mcp-protocol-version': '2025-11-25',
      };
    };
    /** Calls, asks for what was sent before on the stream of `eventId`, and ends the session. */
    const tries = async (credential: string, session: Record<string, string>, eventId: string) => {
      const headers = { ...HEADERS, ...session, Authorization: `Bearer ${credential}` };
      const called = await post(url, credential, toolCall('whoami'), session);
      const again = await fetch(url, {
        headers: { ...headers, 'Last-Event-ID': `${streamOf(eventId)}_start` },
      });
      let text = '';
      for await (const chunk of again.body ?? []) {
        text += new TextDecoder().decode(chunk);
        if (text.includes('key_id')) break; // The stream stays open for what is to come.
      }
      const ended = await fetch(url, { method: 'DELETE', headers });
      return [called.status, again.status, text.includes('key_id'), ended.status];
    };

    const narrowed = { scopes: [], accessibleEntities: [] };
    const makers = {
      key: async () => key,
      all: () => exchanged(),
      narrowed: () => exchanged(narrowed),
    };
    for (const [owner, make] of Object.entries(makers)) {
      const session = await open(await make());
      const { status, body } = await post(url, await make(), toolCall('whoami'), session);
      expect([status, body]).toEqual([200, expect.stringContaining('key_id')]);
      const eventId = /^id: (.+)$/m.exec(body)?.[1] ?? '';
      for (const [name, other] of Object.entries(makers)) {
        if (name !== owner)
          expect([owner, name, await tries(await other(), session, eventId)]).toEqual([
            owner,
            name,
            [404, 404, false, 404],
          ]);
      }
      // With another token, made alike.
      expect([owner, await tries(await make(), session, eventId)]).toEqual([
        owner,
        [200, 200, true, 200],
      ]);
    }
  },
);

// ── Canary ────────────────────────────────────────────────────────────────────────────────────────────

test('no key stands in an answer, an error, a log line or what handlers see', async () => {
  const lines: unknown[] = [];
  for (const method of ['log', 'info', 'warn', 'error', 'debug'] as const) {
    vi.spyOn(console, method).mockImplementation((...line) => void lines.push(...line));
  }
  shown.length = 0;
  const texts: string[] = [];
  const keys: string[] = [];
  const calls: [string, Record<string, unknown>?][] = [
    ['whoami'],
    ['listUsers'],
    ['readThreat', { id: 'x' }],
    ['nothing'],
    ['listThreats', { entity_uuid: C }],
  ];
  const spy: Fetch = async (to, init) => {
    const response = await fetch(to, init);
    texts.push(await response.clone().text(), JSON.stringify([...response.headers]));
    return response;
  };
  for (const [generation, , connect] of PAIRS) {
    const platform = await start(SERVERS[generation]);
    const names = [
      'full',
      'bare',
      'reader',
      'outage',
      'unknown',
      'revoked',
      'expired',
      'tampered',
      'checksum',
    ];
    keys.push(...names.map((name) => named(platform, name)));
    for (const name of names) {
      const client = await connect(platform.url, named(platform, name), spy).catch(
        (error) => void texts.push(inspect(error)),
      );
      if (!client) continue;
      await client.list();
      for (const [tool, args] of calls) {
        await client.call(tool, args).catch((error) => texts.push(inspect(error)));
      }
    }
    lines.push(...platform.errors);
  }
  const all = [
    ...texts,
    ...[...lines, ...shown].map((it) => inspect(it, { depth: 9, showHidden: true, getters: true })),
    JSON.stringify(shown),
  ].join('\n');
  expect(shown.length).toBeGreaterThan(3);
  expect(all).toContain('insufficient_scope');
  for (const key of keys) {
    const secret = key.slice(-32);
    for (const part of [secret.slice(0, 16), secret.slice(16)])
      expect(all.includes(part)).toBe(false);
  }
});
