/** The platform as a process: its files, its shutdown and its output. */
import { once } from 'node:events';
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { createServer as createNode } from 'node:http';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { ENTITY, OTHER_ENTITY, openPlatform, PREFIX } from '../../examples/platform/host/boot.ts';
import { listen as listenAt, stop } from '../../examples/platform/host/listen.ts';
import { createNodeServer } from '../../examples/platform/host/node-server.ts';
import { type Whereabouts, whereabouts } from '../../examples/platform/host/whereabouts.ts';
import { keyPattern } from '../../src/index.js';
import { close, listen } from './http-harness.ts';

describe('the platform on a file', () => {
  let folder: string;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'keyscope-platform-'));
    vi.stubEnv('PEPPER', '');
  });
  afterEach(() => {
    rmSync(folder, { recursive: true, force: true });
    vi.unstubAllEnvs();
  });
  const issue = (platform: Awaited<ReturnType<typeof openPlatform>>) =>
    platform.keyring.issue(
      { name: 'n', scopes: ['threats:read'], expiresAt: 'never' },
      { entityId: ENTITY, scopes: 'all' },
    );

  test('keeps keys and rows after the process, and no file contains a key', async () => {
    const inner = join(folder, 'of-its-own');
    const first = await openPlatform(inner);
    const { key, info } = await issue(first);
    const [threat] = first.domain.listThreats(ENTITY, { limit: 1, after: null }).items;
    first.domain.updateThreat(ENTITY, threat?.id ?? '', { notes: 'kept' });
    await first.close();

    expect(statSync(join(inner, 'pepper')).mode & 0o777).toBe(0o600);
    expect(statSync(inner).mode & 0o777).toBe(0o700);
    const files = readdirSync(inner).map((name) => readFileSync(join(inner, name), 'latin1'));
    expect(files.join('').match(new RegExp(keyPattern(PREFIX)))).toBeNull();
    expect(files.join('')).not.toContain(key.slice(-32));

    const second = await openPlatform(inner);
    expect(await second.keyring.verify(key)).toMatchObject({ keyId: info.keyId });
    expect(second.domain.readThreat(ENTITY, threat?.id ?? '')).toMatchObject({ notes: 'kept' });
    expect(second.domain.listThreats(OTHER_ENTITY, { limit: 9, after: null }).items).toHaveLength(
      5,
    );
    await second.close();
  });

  test('prefers the pepper from the environment, and keys of the file keep working', async () => {
    const first = await openPlatform(folder);
    const old = await issue(first);
    await first.close();
    vi.stubEnv('PEPPER', 'a pepper from the environment, 32 bytes or more');
    const second = await openPlatform(folder);
    expect(second.pepper).toContain('PEPPER');
    const next = await issue(second);
    expect(await second.keyring.verify(old.key)).toMatchObject({ keyId: old.info.keyId });
    expect(await second.keyring.verify(next.key)).toMatchObject({ keyId: next.info.keyId });
    await second.close();
  });

  test('does not create a file for a pepper from the environment', async () => {
    vi.stubEnv('PEPPER', 'a pepper from the environment, 32 bytes or more');
    await (await openPlatform(folder)).close();
    expect(readdirSync(folder)).not.toContain('pepper');
  });

  test('names the file of a pepper that keys still need', async () => {
    await (await openPlatform(folder)).close();
    vi.stubEnv('PEPPER', 'a pepper from the environment, 32 bytes or more');
    const { pepper, close: end } = await openPlatform(folder);
    await end();
    expect(pepper).toMatch(/PEPPER, and \S+pepper for keys made under it$/);
  });

  test('fails at once if its port is in use', async () => {
    const one = createNode();
    const two = createNode();
    const port = await listen(one);
    await expect(listenAt(two, port)).rejects.toMatchObject({ code: 'EADDRINUSE' });
    await close(one);
  });
});

describe('a server that stops', () => {
  // Node once waited forever for a silent client, so usage was never written and the store never
  // closed.
  test.each([
    ['nothing', ''],
    ['half of its headers', 'GET /v1/me HTTP/1.1\r\nHost: x\r\n'],
    ['half of a body', 'POST /v1/token HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\nhalf'],
  ])('waits only for a while for a client that sends %s', async (_, said) => {
    const server = createNode((req, res) => req.resume().on('end', () => res.end()));
    const socket = connect(Number(new URL(await listenAt(server, 0)).port), '127.0.0.1').on(
      'error',
      () => {},
    );
    const closed = once(socket, 'close');
    await Promise.all([
      once(server, 'connection'),
      new Promise<void>((sent) => void socket.write(said, () => sent())),
    ]);
    await stop(server, 50);
    await closed;
  });

  // A stream does not end, and once delayed the shutdown to its limit.
  test('ends streams, and each connection with its answer', async () => {
    let finish = () => {};
    let serve = () => {};
    const served = new Promise<void>((done) => {
      serve = done;
    });
    const server = createNodeServer((req, res) => {
      if (req.url === '/v1/stream') {
        res.writeHead(200, { 'Content-Type': 'text/event-stream' });
        res.write('data: begun\n\n');
        return;
      }
      finish = () => res.end('whole');
      serve();
    });
    const { origin } = new URL(await listenAt(server, 0));
    const headers = { Accept: 'text/event-stream' };
    const stream = await fetch(`${origin}/v1/stream`, { headers });
    const answer = fetch(`${origin}/v1/slow`);
    await served;
    const stopped = stop(server, 60_000);
    expect(await stream.text()).toBe('data: begun\n\n');
    finish();
    expect(await (await answer).text()).toBe('whole');
    expect((await answer).headers.get('Connection')).toBe('close');
    await stopped;
  });

  test('finishes an open request', async () => {
    let stopped: Promise<void> | undefined;
    const server = createNode((_, res) => {
      stopped = stop(server, 60_000);
      setImmediate(() => res.end('whole'));
    });
    const answer = await fetch(await listenAt(server, 0), { headers: { Connection: 'close' } });
    expect([answer.status, await answer.text()]).toEqual([200, 'whole']);
    await stopped;
  });
});

// With keys in PostgreSQL, it once said that they were in the folder, and offered to remove their
// pepper.
describe('whereabouts', () => {
  const stored = { file: '/srv/demo/platform.db', pepper: 'the pepper of the tests' };
  const told = (keys: Whereabouts['keys']): string => whereabouts({ ...stored, keys }, '/srv/demo');

  test('says how to start over if the keys are in the folder', () => {
    const text = told('file');
    expect(text).toMatch(
      /^Database: \S+srv\/demo\/platform\.db .+Pepper: the pepper of the tests\.\n/,
    );
    expect(text).toMatch(/\nStop: Ctrl-C\. Start over: rm -r \S+demo$/);
    expect(text).not.toContain('Keep the pepper');
  });

  test('says to keep the pepper if the keys are elsewhere', () => {
    const text = told('store');
    expect(text).toMatch(/^Keys: in the store that you named .+demo\/platform\.db\. Pepper: .+/);
    expect(text).toMatch(/\nKeep the pepper: without it, .+\nStop: Ctrl-C$/);
    expect(text).not.toContain('rm -r');
  });

  test('says that keys in memory end with the process', () => {
    const text = told('memory');
    expect(text).toMatch(
      /^Keys: in memory, until you stop it\. .+demo\/platform\.db\. Pepper: .+\nStop: Ctrl-C$/,
    );
  });
});
