/** The recipe for WebSockets, with the real `ws`: who gets a socket, and when it ends. */
import { EventEmitter, once } from 'node:events';
import { createServer, type IncomingMessage, type Server } from 'node:http';
import type { Admission, KeyStore } from 'keyscope';
import { definePolicy } from 'keyscope';
import { memoryStore } from 'keyscope/stores/memory';
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from 'vitest';
import * as wsPackage from 'ws';
import { close, listen } from '../examples/http-harness.ts';
import { AUTHORITY, bearer, catalog, denied, issue, OWN, setUp, wrap } from '../support/keyring.ts';
import { type Recipes, writeRecipes } from '../support/recipes.ts';

/** The part of `ws` that the tests use, and its receiver, which has no type. */
interface Socket extends EventEmitter {
  send(text: string, sent?: () => void): void;
  terminate(): void;
  readonly _receiver: EventEmitter;
}
interface Ws {
  readonly WebSocket: new (url: string, options?: object) => Socket;
  readonly WebSocketServer: new (options: object) => Socket;
}
type Admit = (request: IncomingMessage) => Promise<Admission>;
interface Printed {
  guardUpgrades(server: Server, sockets: unknown, admit: Admit, recheckMs?: number): void;
}

const ws = wsPackage as unknown as Ws;
const policy = definePolicy(catalog, { listen: ['threats:read'], write: ['threats:write'] });

describe('a WebSocket', () => {
  let recipes: Recipes;
  let printed: Printed;
  beforeAll(async () => {
    recipes = writeRecipes('docs/recipes.md', 'test/recipes', ['sockets.ts']);
    printed = (await recipes.load('sockets.ts')) as Printed;
  });
  afterAll(() => recipes.remove());

  const servers: Server[] = [];
  const clients: Socket[] = [];
  afterEach(async () => {
    for (const client of clients.splice(0)) client.terminate();
    for (const server of servers.splice(0)) await close(server);
  });

  /** A server that sends each message back, with the entity of the caller. */
  async function serve(operation: 'listen' | 'write' = 'listen', store: KeyStore = memoryStore()) {
    const { keyring } = setUp({ policy, store });
    const { key, info } = await issue(keyring);
    const admit: Admit = (request) => keyring.admit(request, { operation });
    const server = createServer();
    servers.push(server);
    const sockets = new ws.WebSocketServer({ noServer: true });
    printed.guardUpgrades(server, sockets, admit, 10);
    const received: string[] = [];
    const requests: IncomingMessage[] = [];
    const ends = new EventEmitter();
    const gone = once(ends, 'close');
    sockets.on('connection', (socket: Socket, request: IncomingMessage, admission: Admission) => {
      requests.push(request);
      socket.on('close', () => ends.emit('close'));
      socket.on('message', (data: unknown) => {
        received.push(String(data));
        socket.send(`${admission.entityId} ${String(data)}`);
      });
    });
    const port = await listen(server);
    function connect(...authorization: readonly string[]): Socket {
      const headers = authorization.length === 0 ? {} : { authorization };
      const client = new ws.WebSocket(`ws://127.0.0.1:${port}/`, { headers });
      client.on('error', () => undefined); // refused
      clients.push(client);
      return client;
    }
    return { admit, keyring, key, keyId: info.keyId, connect, received, requests, gone };
  }

  /** The answer to an upgrade that was refused. */
  async function refusal(client: Socket) {
    const [, response] = (await once(client, 'unexpected-response')) as [unknown, IncomingMessage];
    let body = '';
    for await (const chunk of response) body += String(chunk);
    return { status: response.statusCode, headers: response.headers, body };
  }

  test('opens for a key with the scope, and passes on the admission', async () => {
    const { connect, key } = await serve();
    const client = connect(bearer(key));
    client.on('open', () => client.send('hello'));
    const [data] = (await once(client, 'message')) as [Buffer];
    expect(String(data)).toBe(`${OWN} hello`);
  });

  test.each<[number, string, (key: string) => readonly string[]]>([
    [401, 'without a credential', () => []],
    [401, 'with an unknown key', (key) => [bearer(`${key.slice(0, -1)}x`)]],
    [400, 'with two credentials', (key) => [bearer(key), bearer(key)]],
  ])('is refused with %i %s, before the upgrade', async (status, _, lines) => {
    const { connect, key, received } = await serve();
    const answer = await refusal(connect(...lines(key)));
    expect(answer.status).toBe(status);
    expect(answer.headers['www-authenticate']).toMatch(/^Bearer realm="acme"/);
    expect(JSON.parse(answer.body)).toMatchObject({ status });
    expect(received).toEqual([]);
  });

  test('is refused with 403 and the scope to a key without it', async () => {
    const { connect, key } = await serve('write');
    const { status, headers } = await refusal(connect(bearer(key)));
    expect(status).toBe(403);
    expect(headers['www-authenticate']).toContain('scope="threats:write"');
  });

  test('is refused with 503 while the store is broken', async () => {
    const logged = vi.spyOn(console, 'error').mockReturnValue();
    const broken = wrap(memoryStore(), (method, _, call) => {
      if (method === 'findByDigest') throw new Error('away');
      return call();
    });
    const { connect, key } = await serve('listen', broken);
    expect((await refusal(connect(bearer(key)))).status).toBe(503);
    expect(logged).toHaveBeenCalledTimes(1);
    logged.mockRestore();
  });

  test('is closed with 1008 when its key is revoked', async () => {
    const { connect, key, keyId, keyring } = await serve();
    const client = connect(bearer(key));
    await once(client, 'open');
    const closed = once(client, 'close');
    await keyring.revoke(keyId, AUTHORITY);
    expect((await closed)[0]).toBe(1008);
  });

  test('is closed with 1013 when its key cannot be checked', async () => {
    let isBroken = false;
    const store = wrap(memoryStore(), (method, _, call) => {
      if (isBroken && method === 'findByDigest') throw new Error('away');
      return call();
    });
    const { connect, key } = await serve('listen', store);
    const client = connect(bearer(key));
    await once(client, 'open');
    const closed = once(client, 'close');
    isBroken = true;
    expect((await closed)[0]).toBe(1013);
  });

  test('is not read after its key was revoked, even if the client does not close it', async () => {
    const { connect, key, keyId, keyring, received, gone } = await serve();
    const client = connect(bearer(key));
    await once(client, 'open');
    client._receiver.removeAllListeners('conclude'); // does not answer a close
    const closing = once(client._receiver, 'conclude');
    await keyring.revoke(keyId, AUTHORITY);
    await closing;
    client.send('late', () => client.terminate());
    await gone;
    expect(received).toEqual([]);
  });

  test('can have each message checked', async () => {
    const { admit, connect, key, keyId, keyring, requests } = await serve();
    await once(connect(bearer(key)), 'open');
    const [request] = requests;
    if (request === undefined) throw new Error('no request');
    expect((await admit(request)).entityId).toBe(OWN);
    await keyring.revoke(keyId, AUTHORITY);
    await denied(() => admit(request), 'invalid_token', 'revoked');
  });
});
