/** The answers that a fetched list gets over HTTP: which are used, and which it asks for again. */
import { once } from 'node:events';
import { createServer, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { causeOf } from 'keyscope';
import { afterEach, describe, expect, it } from 'vitest';
import { createFetchedList } from '../../src/http/fetched-list.js';
import { storeError } from '../support/keyring.ts';

const TIMES = { maxAgeMs: 900_000, refreshMs: 480_000, pauseMs: 30_000, overlapMs: 0 };

describe('an answer over HTTP', () => {
  const servers: Server[] = [];
  afterEach(() => {
    for (const server of servers.splice(0)) {
      server.closeAllConnections();
      server.close();
    }
  });

  /** Serves answers at an address of this machine. */
  async function serve(answer: (response: ServerResponse, path: string | undefined) => unknown) {
    const server = createServer(({ url }, response) => void answer(response, url));
    servers.push(server);
    // Avoids resets of idle connections on a busy machine: see `listen` in the tests of examples.
    server.keepAliveTimeout = 0;
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const url = new URL(`http://127.0.0.1:${(server.address() as AddressInfo).port}/`);
    const errors: unknown[] = [];
    const read = (json: unknown) => new Map(Object.entries(json as object));
    const list = createFetchedList({ name: 'list', url, read, ...TIMES }, (error) =>
      errors.push(error),
    );
    return { list, errors };
  }

  const GOOD = JSON.stringify({ first: 1 });
  const longest = JSON.stringify({ first: 1, pad: 'x'.repeat(65_536 - 20) }).padEnd(65_536);
  const gone = { location: '/good' };

  function breakOff(response: ServerResponse): void {
    response.writeHead(200, { 'content-length': 99 });
    response.write(GOOD, () => response.destroy());
  }

  it('may have 64 KiB', async () => {
    const { list } = await serve((response) => response.end(longest));
    expect(await list.find('first')).toBe(1);
  });

  it.each<[string, (response: ServerResponse) => unknown]>([
    ['a closed connection', (response) => response.destroy()],
    ['an error', (response) => response.writeHead(500).end()],
    ['broken off', breakOff],
  ])('that is %s once, and then good, is neither an outage nor reported', async (_what, fail) => {
    let requests = 0;
    const { list, errors } = await serve((response) => {
      requests += 1;
      if (requests === 1) fail(response);
      else response.end(GOOD);
    });
    expect(await list.find('first')).toBe(1);
    expect([requests, errors]).toEqual([2, []]);
  });

  // A list without items is a whole answer, so a second one would say the same.
  it('that is empty leads to an outage without a second try', async () => {
    let requests = 0;
    const { list, errors } = await serve((response) => {
      requests += 1;
      response.end('{}');
    });
    const error = await storeError(() => list.find('first'));
    expect(String(causeOf(error))).toContain('no usable items');
    expect([requests, errors]).toEqual([1, [error]]);
  });

  it.each<[string, (response: ServerResponse) => unknown, RegExp]>([
    ['an error', (response) => response.writeHead(500).end(GOOD), /status 500/],
    ['a rate limit', (response) => response.writeHead(403).end(GOOD), /status 403/],
    ['a part', (response) => response.writeHead(206).end(GOOD), /status 206/],
    ['no content', (response) => response.writeHead(204).end(), /status 204/],
    // Nobody has agreed to trust the target of a redirect.
    ['a redirect', (response) => response.writeHead(302, gone).end(GOOD), /status 302/],
    ['a kept method', (response) => response.writeHead(307, gone).end(GOOD), /status 307/],
    ['nothing', (response) => response.end(), /JSON/],
    ['not JSON', (response) => response.end('<html>'), /JSON/],
    ['unreadable', (response) => response.end('null'), /null/],
    ['a byte too long', (response) => response.end(`${longest} `), /more than 65536 bytes/],
    [
      'too long, without a length',
      (response) => {
        response.write(longest);
        response.end(' ');
      },
      /more than 65536 bytes/,
    ],
    ['a closed connection', (response) => response.destroy(), /fetch failed/],
    ['broken off', breakOff, /broke off|terminated/],
  ])('that is %s, twice, leads to an outage', async (_what, answer, reason) => {
    let requests = 0;
    const { list, errors } = await serve((response, path) => {
      requests += 1;
      if (path === '/good') response.end(GOOD);
      else answer(response);
    });
    const error = await storeError(() => list.find('first'));
    expect(String(causeOf(error))).toMatch(reason);
    expect(errors).toEqual([error]);
    expect(requests).toBe(2);
  });
});
