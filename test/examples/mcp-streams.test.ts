/** Streams between a real server and client, which end with the key that opened them. */
import { cacheStore } from 'keyscope/cache';
import { createMcpGate, endWithKey, type McpGateOptions } from 'keyscope/mcp';
import { memoryStore } from 'keyscope/stores/memory';
import { LRUCache } from 'lru-cache';
import { afterEach, describe, expect, test } from 'vitest';
import { AUTHORITY, issue, type Ring, setUp } from '../support/keyring.ts';
import { policy, RESOURCE, tools } from '../support/mcp.ts';
import { connect1, type Fetch, HEADERS } from '../support/mcp-clients.ts';
import { createSessions, mount } from '../support/mcp-mounted.ts';
import { stopAll } from '../support/mcp-servers.ts';

afterEach(stopAll);

/** A channel within this process: all subscribers get the changes. */
function createChannel() {
  const listeners = new Set<(keyId: string) => void>();
  return {
    async publish(keyId: string): Promise<void> {
      for (const listener of listeners) listener(keyId);
    },
    async subscribe(listener: (keyId: string) => void): Promise<void> {
      listeners.add(listener);
    },
  };
}

interface Streaming {
  readonly url: string;
  /** A keyring of another process that changes keys. */
  readonly elsewhere: Ring;
  readonly keyring: Ring;
  /** Opens a session with the SDK's client, and a stream of it. */
  open(key: string): Promise<Stream>;
}

interface Stream {
  /** Everything that the stream sends until it is closed. */
  readonly text: Promise<string>;
  /** Sends a notice on it. */
  say(): Promise<void>;
}

/** A stateful server with a cached store, on a database that other processes change too. */
async function serveStreams(options: Partial<McpGateOptions>): Promise<Streaming> {
  const database = memoryStore();
  const invalidation = createChannel();
  const cached = () =>
    cacheStore(database, {
      cache: new LRUCache<string, object>({ max: 100 }),
      maxStalenessMs: 20,
      invalidation,
    });
  const { keyring } = setUp({ policy, store: cached(), now: Date.now });
  const { keyring: elsewhere } = setUp({ policy, store: cached(), now: Date.now });
  const { sessions, serve } = createSessions({ names: ['whoami'], onCall: () => {} });
  const channel = options.recheckMs === undefined ? { invalidation } : {};
  const gate = createMcpGate({
    keyring,
    tools,
    realm: 'test',
    resource: RESOURCE,
    sessionOwner: (id) => sessions.get(id)?.owner,
    ...channel,
    ...options,
  });
  const url = await mount(async (request) => {
    const entry = await gate(request);
    return entry instanceof Response ? entry : endWithKey(await serve(request, entry), entry);
  });

  async function open(key: string): Promise<Stream> {
    let id = '';
    const spy: Fetch = async (to, init) => {
      // The test opens the stream itself, because a session can have only one.
      if (init?.method === 'GET') return new Response(null, { status: 405 });
      const response = await fetch(to, init);
      id = response.headers.get('mcp-session-id') ?? id;
      return response;
    };
    const client = await connect1(url, key, spy);
    expect(await client.list()).toEqual(['whoami']);
    const headers = { ...HEADERS, Authorization: `Bearer ${key}`, 'mcp-session-id': id };
    const response = await fetch(url, { headers });
    expect(response.status).toBe(200);
    expect(response.headers.get('content-type')).toBe('text/event-stream');
    const say = async () => sessions.get(id)?.server.server.sendToolListChanged();
    return { text: response.text(), say };
  }
  return { url, elsewhere, keyring, open };
}

const NOTICE = 'notifications/tools/list_changed';

/** Without a reason to end, a stream must stay open for this long. */
const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

describe('an open stream', () => {
  // A stream once stayed open after its key had ended, until the client closed it.
  test.each([
    ['the channel says so', {}],
    ['it is checked again', { recheckMs: 50 }],
  ])('ends when another process revokes its key and %s', async (_what, options) => {
    const { elsewhere, keyring, open, url } = await serveStreams(options);
    const revoked = await issue(keyring);
    const other = await issue(keyring);
    const stream = await open(revoked.key);
    const beside = await open(other.key);
    let isOpen = true;
    void beside.text.then(() => {
      isOpen = false;
    });
    await stream.say();
    await pause(200);
    await elsewhere.revoke(revoked.info.keyId, AUTHORITY);
    expect(await stream.text).toContain(NOTICE);
    await beside.say();
    expect(isOpen).toBe(true);
    const headers = { ...HEADERS, Authorization: `Bearer ${revoked.key}` };
    expect((await fetch(url, { headers })).status).toBe(401);
    await elsewhere.revoke(other.info.keyId, AUTHORITY);
    expect(await beside.text).toContain(NOTICE);
  });

  test('ends when its key expires', async () => {
    const { keyring, open } = await serveStreams({});
    const input = { name: 'n', scopes: ['threats:read'] } as const;
    const expiresAt = new Date(Date.now() + 1_500);
    const { key } = await keyring.issue({ ...input, expiresAt }, AUTHORITY);
    const stream = await open(key);
    await stream.say();
    expect(await stream.text).toContain(NOTICE);
    const late = Date.now() - expiresAt.getTime();
    expect(late).toBeGreaterThanOrEqual(0);
    expect(late).toBeLessThan(1_000);
  });
});
