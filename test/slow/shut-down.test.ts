/**
 * How the reference service shuts down: what it still answers, what it closes, and that it ends.
 */
import { once } from 'node:events';
import type { Socket } from 'node:net';
import { connect } from 'node:net';
import { afterAll, describe, expect, test } from 'vitest';
import { ENTITY, openPlatform } from '../../examples/platform/host/boot.ts';
import { folder } from '../support/folder.ts';
import {
  environmentWith,
  type RunningServer,
  START_TIMEOUT,
  startPlatform,
} from '../support/service-process.ts';

const timeout = START_TIMEOUT;
const { file, remove } = folder();
const env = environmentWith(file('cache'), { PUBLIC_URL: '' });
afterAll(remove);

const keyIn = ({ out }: RunningServer) => /export KEY=(\S+)/.exec(out)?.[1] ?? '';

/** A client that sends what a test gives it and receives everything until the connection ends. */
async function dial({ origin }: RunningServer) {
  const socket: Socket = connect(Number(new URL(origin).port), '127.0.0.1');
  socket.on('error', () => {});
  const ended = once(socket, 'close');
  let heard = '';
  let tell = () => {};
  socket.on('data', (data) => {
    heard += data.toString();
    tell();
  });
  await once(socket, 'connect');
  return {
    say: (text: string) => new Promise<void>((sent) => void socket.write(text, () => sent())),
    async hear(words: string): Promise<void> {
      while (!heard.includes(words)) {
        await new Promise<void>((hears) => {
          tell = hears;
        });
      }
    },
    /** Everything received, once the connection has ended. */
    async rest(): Promise<string> {
      await ended;
      return heard;
    },
  };
}

const me = (key: string) =>
  `GET /v1/me HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${key}\r\n\r\n`;

const EXCHANGE = (key: string) =>
  String(
    new URLSearchParams({
      grant_type: 'urn:ietf:params:oauth:grant-type:token-exchange',
      subject_token: key,
      subject_token_type: 'urn:ietf:params:oauth:token-type:access_token',
    }),
  );

/** A request that stays in progress as long as the test wants, because its body is incomplete. */
async function beginSlow(server: RunningServer, key: string) {
  const client = await dial(server);
  const body = EXCHANGE(key);
  const head = [
    'POST /v1/token HTTP/1.1',
    'Host: x',
    'Expect: 100-continue',
    'Content-Type: application/x-www-form-urlencoded',
    `Content-Length: ${body.length}`,
  ];
  await client.say(`${head.join('\r\n')}\r\n\r\n`);
  // The server is processing it now.
  await client.hear('HTTP/1.1 100 Continue');
  await client.say(body.slice(0, 20));
  return { ...client, finish: () => client.say(body.slice(20)) };
}

async function isRefused({ origin }: RunningServer): Promise<boolean> {
  const socket = connect(Number(new URL(origin).port), '127.0.0.1');
  const refused = await Promise.race([
    once(socket, 'connect').then(() => false),
    once(socket, 'error').then(() => true),
  ]).catch(() => true);
  socket.destroy();
  return refused;
}

/** Retries until it is true, limited only by the test's timeout. */
async function until(holds: () => Promise<boolean>): Promise<void> {
  while (!(await holds())) await new Promise<void>((done) => void setImmediate(done));
}

describe.concurrent('at SIGTERM, the service', () => {
  test('answers what is in progress, ends the rest, writes usage, and exits with 0', {
    timeout,
  }, async () => {
    const path = file('orderly');
    const server = await startPlatform(path, [], env);
    const key = keyIn(server);
    const idle = await dial(server);
    await idle.say(me(key));
    await idle.hear('"key_id"');
    const slow = await beginSlow(server, key);
    server.kill('SIGTERM');
    // A kept-alive connection, closed before its next request.
    expect(await idle.rest()).toContain('HTTP/1.1 200 OK');
    // Node closes idle connections a moment before it stops listening.
    await until(() => isRefused(server));
    await slow.finish();
    const answered = await slow.rest();
    expect(answered).toContain('HTTP/1.1 200 OK');
    expect(answered).toContain('"access_token"');
    expect(answered).toMatch(/\r\nConnection: close\r\n/i);
    expect(await server.ended).toBe(0);

    const { keyring, close } = await openPlatform(path);
    const { keys } = await keyring.list({ limit: 1 }, { entityId: ENTITY });
    await close();
    expect(keys[0]).toHaveProperty('lastUsedAt', expect.any(Date));
  });

  test('waits only a limited time for a client that never finishes', { timeout }, async () => {
    const server = await startPlatform(file('patient'), [], env);
    const slow = await beginSlow(server, keyIn(server));
    const began = performance.now();
    server.kill('SIGTERM');
    expect(await server.ended).toBe(0);
    expect(await slow.rest()).not.toContain('200 OK');
    // Five seconds of grace, plus what a busy machine needs.
    expect(performance.now() - began).toBeLessThan(15_000);
  });

  test('ends at once at a second signal', { timeout }, async () => {
    const server = await startPlatform(file('hurried'), [], env);
    await beginSlow(server, keyIn(server));
    server.kill('SIGTERM');
    await until(() => isRefused(server));
    server.kill('SIGINT');
    expect(await server.ended).toBe('SIGINT');
  });
});
