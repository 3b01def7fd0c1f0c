/** The owner of a session, on stateful servers of both generations. */
import { randomUUID } from 'node:crypto';
import type { Server } from 'node:http';
import { getRequestListener } from '@hono/node-server';
import * as server2 from '@modelcontextprotocol/server';
import { generateKeyPair } from 'jose';
import type { Keyring } from 'keyscope';
import { createKeyring } from 'keyscope';
import type { ExchangeInput, TokenIssuer } from 'keyscope/jwt';
import { createTokenIssuer, createTokenVerifier } from 'keyscope/jwt';
import type { McpAuthInfo } from 'keyscope/mcp';
import { memoryStore } from 'keyscope/stores/memory';
import { afterEach, describe, expect, test } from 'vitest';
import { callTool, tools } from '../../examples/mcp/tools.ts';
import { createNodeServer } from '../../examples/platform/host/node-server.ts';
import { catalog } from '../../examples/platform/service/catalog.ts';
import { policy } from '../../examples/platform/service/policy.ts';
import {
  connect1,
  type Fetch,
  failureOf,
  HEADERS,
  type HeaderFields,
  post,
  toolCall,
} from '../support/mcp-clients.ts';
import {
  createGate,
  createServer1,
  createTransport1,
  PUBLIC_URL,
  RESOURCE,
  type Started,
  serviceOf,
  start,
  startOn,
  stopAll,
  type Transport1,
} from '../support/mcp-servers.ts';
import type { Platform } from './http-harness.ts';
import { A, B, createPlatform, named } from './http-harness.ts';

afterEach(stopAll);

// ── Servers ────────────────────

/** The common part of transports of both generations. */
interface SessionTransport {
  handleRequest(
    request: Request,
    options: { authInfo: McpAuthInfo; parsedBody?: unknown },
  ): Promise<Response>;
}

/** Gets the id of a new session. */
type OnSession = (id: string, transport: SessionTransport) => void;

type OpenTransport = (platform: Platform, onSession: OnSession) => Promise<SessionTransport>;

interface Session {
  readonly transport: SessionTransport;
  readonly owner: string;
}

/** A stateful server. Its transports outlive a request, so it must check their owner each time. */
function createStateful(open: OpenTransport, platform: Platform): Server {
  const sessions = new Map<string, Session>();
  const gate = createGate(platform, { sessionOwner: (id) => sessions.get(id)?.owner });
  const listener = getRequestListener(async (request) => {
    const entry = await gate(request);
    if (entry instanceof Response) return entry;
    const { sessionOwner: owner } = entry;
    const session = sessions.get(request.headers.get('mcp-session-id') ?? '');
    const onSession: OnSession = (id, transport) => void sessions.set(id, { transport, owner });
    const transport = session?.transport ?? (await open(platform, onSession));
    return transport.handleRequest(request, entry);
  });
  return createNodeServer(listener);
}

/** Returns the stream of an event. The event's id is that of the stream with a number. */
function streamOf(eventId: string): string {
  return eventId.slice(0, eventId.lastIndexOf('_'));
}

interface EventStore<Message> {
  storeEvent(streamId: string, message: Message): Promise<string>;
  replayEventsAfter(lastEventId: string, options: Replay<Message>): Promise<string>;
}

interface Replay<Message> {
  send(eventId: string, message: Message): Promise<void>;
}

/** Keeps sent events, so that a client can request those it missed after its connection broke. */
function createEventStore<Message>(): EventStore<Message> {
  const events: { readonly id: string; readonly message: Message }[] = [];
  return {
    async storeEvent(streamId, message) {
      const id = `${streamId}_${events.length}`;
      events.push({ id, message });
      return id;
    },
    async replayEventsAfter(last, { send }) {
      const after = events.slice(events.findIndex(({ id }) => id === last) + 1);
      for (const { id, message } of after) {
        if (streamOf(id) === streamOf(last)) await send(id, message);
      }
      return streamOf(last);
    },
  };
}

async function open1(platform: Platform, onSession: OnSession): Promise<SessionTransport> {
  const transport: Transport1 = createTransport1({
    sessionIdGenerator: randomUUID,
    eventStore: createEventStore(),
    onsessioninitialized: (id) => onSession(id, transport),
  });
  await createServer1(platform).connect(transport);
  return transport;
}

async function open2(platform: Platform, onSession: OnSession): Promise<SessionTransport> {
  const transport: server2.WebStandardStreamableHTTPServerTransport =
    new server2.WebStandardStreamableHTTPServerTransport({
      sessionIdGenerator: randomUUID,
      eventStore: createEventStore(),
      onsessioninitialized: (id) => onSession(id, transport),
    });
  const server = new server2.McpServer({ name: 'two', version: '1.0.0' });
  const whoami = tools.find(({ name }) => name === 'whoami');
  if (whoami === undefined) throw new Error('no such tool');
  server.registerTool('whoami', {}, (context) =>
    callTool(serviceOf(platform), context.http?.authInfo, whoami, {}),
  );
  await server.connect(transport);
  return transport;
}

// ── Tokens ────────────────────

interface TokenPlatform {
  readonly platform: Platform;
  readonly keyring: Keyring<typeof catalog>;
  readonly issuer: TokenIssuer;
}

/** A platform with a keyring that also accepts tokens. */
async function createTokenPlatform(): Promise<TokenPlatform> {
  const common = { issuer: PUBLIC_URL, audience: RESOURCE };
  const { privateKey } = await generateKeyPair('ES256', { extractable: true });
  const issuer = createTokenIssuer({ ...common, privateKey, alg: 'ES256', kid: 'k1' });
  const jwks = await issuer.jwks();
  const tokens = createTokenVerifier({ ...common, jwks, algorithms: ['ES256'], catalog });
  const store = memoryStore();
  const keyring = createKeyring({ prefix: 'lure', policy, store, peppers: 'none', tokens });
  return { platform: { ...(await createPlatform()), keyring }, keyring, issuer };
}

const PROTOCOL = '2025-11-25';

const INITIALIZE = {
  jsonrpc: '2.0',
  id: 0,
  method: 'initialize',
  params: { protocolVersion: PROTOCOL, capabilities: {}, clientInfo: { name: 'c', version: '1' } },
};

/** Starts a session, and returns its headers. */
async function openSession({ url }: Started, credential: string): Promise<HeaderFields> {
  const { status, headers } = await post(url, credential, INITIALIZE);
  expect(status).toBe(200);
  const id = headers.get('mcp-session-id');
  return { 'mcp-session-id': String(id), 'mcp-protocol-version': PROTOCOL };
}

interface Attempt {
  /** The statuses of the answers. */
  readonly called: number;
  readonly replayed: number;
  readonly ended: number;
  /** Whether the server sent an earlier result again. */
  readonly sawResult: boolean;
}

const LET_IN: Attempt = { called: 200, replayed: 200, ended: 200, sawResult: true };
const KEPT_OUT: Attempt = { called: 404, replayed: 404, ended: 404, sawResult: false };

/** Calls a tool, requests the earlier events of a stream, and ends the session. */
async function tryAll(
  { url }: Started,
  credential: string,
  session: HeaderFields,
  eventId: string,
): Promise<Attempt> {
  const headers = { ...HEADERS, ...session, Authorization: `Bearer ${credential}` };
  const called = await post(url, credential, toolCall('whoami'), session);
  const lastEventId = `${streamOf(eventId)}_start`;
  const again = await fetch(url, { headers: { ...headers, 'Last-Event-ID': lastEventId } });
  const sawResult = await contains(again, 'key_id');
  const ended = await fetch(url, { method: 'DELETE', headers });
  return { called: called.status, replayed: again.status, ended: ended.status, sawResult };
}

/** Reads until the word, because the stream stays open for later events. */
async function contains({ body }: Response, word: string): Promise<boolean> {
  const chunks: AsyncIterable<Uint8Array> | readonly Uint8Array[] = body ?? [];
  let text = '';
  for await (const chunk of chunks) {
    text += new TextDecoder().decode(chunk);
    if (text.includes(word)) return true;
  }
  return false;
}

// ── Tests ────────────────────

describe.each([
  ['1.x', open1],
  ['2.x', open2],
] as const)('a session of %s', (_, open) => {
  const create = (platform: Platform): Server => createStateful(open, platform);

  test('is open only to the key that started it', async () => {
    const platform = await start(create);
    const { url, keyring } = platform;
    let id = '';
    const spy: Fetch = async (to, init) => {
      const response = await fetch(to, init);
      id = response.headers.get('mcp-session-id') ?? id;
      return response;
    };
    const reader = named(platform, 'reader');
    const full = named(platform, 'full');
    const mine = await connect1(url, reader, spy);
    const { structuredContent } = await mine.call('whoami');
    expect(structuredContent).toMatchObject({ key_id: named(platform, 'reader.id') });
    expect(id).not.toBe('');

    const session = { 'mcp-session-id': id };
    expect((await post(url, reader, toolCall('whoami'), session)).status).toBe(200);
    expect((await post(url, null, toolCall('whoami'), session)).status).toBe(401);
    const foreign = await post(url, full, toolCall('whoami'), session);
    const unknown = await post(url, full, toolCall('whoami'), { 'mcp-session-id': randomUUID() });
    expect(foreign.status).toBe(404);
    expect(foreign.body).toBe(unknown.body);
    // The other key can neither listen in nor end it.
    for (const method of ['GET', 'DELETE']) {
      const headers = { ...HEADERS, ...session, Authorization: `Bearer ${full}` };
      expect((await fetch(url, { method, headers })).status).toBe(404);
    }
    await mine.call('whoami');
    await keyring.revoke(named(platform, 'reader.id'), { entityId: A });
    expect((await post(url, reader, toolCall('whoami'), session)).status).toBe(401);
    expect(await failureOf(mine.call('whoami'))).toMatch(/401/);
  });

  // A token without any scope, made from the key, could once read the key's earlier results and end
  // the session.
  test.each(['key', 'token', 'narrowed token'] as const)(
    'of a %s is open to credentials with the same rights, and to no others of that key',
    async (owner) => {
      const { platform, keyring, issuer } = await createTokenPlatform();
      const started = await startOn(platform, create);
      const input = { name: 'n', scopes: ['threats:read'], expiresAt: 'never' } as const;
      const { key } = await keyring.issue(
        { ...input, accessibleEntities: [B] },
        { entityId: A, entities: [B], scopes: 'all' },
      );
      const exchange = async (narrowed: ExchangeInput = {}): Promise<string> => {
        const { accessToken } = await issuer.exchange(await keyring.verify(key), narrowed);
        return accessToken;
      };
      // Each request uses a new token.
      const makers = {
        key: async () => key,
        token: () => exchange(),
        'narrowed token': () => exchange({ scopes: [], accessibleEntities: [] }),
      };
      const session = await openSession(started, await makers[owner]());
      const first = await post(started.url, await makers[owner](), toolCall('whoami'), session);
      expect(first.status).toBe(200);
      expect(first.body).toContain('key_id');
      const eventId = /^id: (.+)$/m.exec(first.body)?.[1] ?? '';
      for (const [name, make] of Object.entries(makers)) {
        if (name === owner) continue;
        const attempt = await tryAll(started, await make(), session, eventId);
        expect({ name, attempt }).toEqual({ name, attempt: KEPT_OUT });
      }
      const own = await tryAll(started, await makers[owner](), session, eventId);
      expect(own).toEqual(LET_IN);
    },
  );
});
