/** Other sites in a browser, on every server of the platform: none, unless they are named. */
import type { Server } from 'node:http';
import { afterEach, describe, expect, it } from 'vitest';
import { createServer as createConsole } from '../../examples/console/server.ts';
import { createServer as createExpress } from '../../examples/express/server.ts';
import { createServer as createFastify } from '../../examples/fastify/server.ts';
import { createServer as createHono } from '../../examples/hono/server.ts';
import { createServer as createMcp } from '../../examples/mcp/server.ts';
import { openPlatform } from '../../examples/platform/host/boot.ts';
import { createCors } from '../../examples/platform/host/cors.ts';
import { folder } from '../support/folder.ts';
import { close, createPlatform, listen, named } from './http-harness.ts';

const SERVERS = {
  express: createExpress,
  fastify: createFastify,
  hono: createHono,
  mcp: createMcp,
};
const APP = 'https://app.example';
const STRANGER = 'https://stranger.example';

const ends: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end();
});

async function start(name: keyof typeof SERVERS, corsOrigins?: readonly string[]) {
  const platform = await createPlatform();
  const { keyring, domain } = platform;
  const publicUrl = 'https://deception.example';
  const service = {
    keyring,
    domain,
    publicUrl,
    report: () => {},
    ...(corsOrigins && { corsOrigins }),
  };
  const server: Server = await SERVERS[name](service);
  const port = await listen(server);
  ends.push(() => close(server));
  const key = named(platform, 'full');
  const ask = (path: string, init: RequestInit & { headers?: Record<string, string> } = {}) =>
    fetch(`http://127.0.0.1:${port}${path}`, init);
  return { ask, key };
}

/** What a browser asks before it sends a key. */
const preflight = (origin: string, method = 'GET') => ({
  method: 'OPTIONS',
  headers: {
    Origin: origin,
    'Access-Control-Request-Method': method,
    'Access-Control-Request-Headers': 'authorization,content-type',
  },
});

const corsOf = (response: Response) =>
  [...response.headers].filter(([name]) => name.startsWith('access-control-'));

describe.each(Object.keys(SERVERS) as (keyof typeof SERVERS)[])('other sites, on %s', (name) => {
  const paths = [
    '/v1/me',
    '/v1/threats',
    '/v1/none',
    '/v1/openapi.json',
    ...(name === 'mcp' ? ['/mcp'] : []),
  ];

  it('are let in by name, with the key in a header and never by themselves', async () => {
    const { ask, key } = await start(name, [APP, 'http://localhost:5173']);
    for (const path of paths) {
      for (const origin of [APP, 'http://localhost:5173']) {
        const asked = await ask(path, preflight(origin, 'POST'));
        expect([path, asked.status, await asked.text()]).toEqual([path, 204, '']);
        expect(Object.fromEntries(corsOf(asked))).toEqual({
          'access-control-allow-origin': origin,
          'access-control-allow-methods': 'DELETE, GET, HEAD, PATCH, POST',
          'access-control-allow-headers':
            'Authorization, Content-Type, Last-Event-ID, Mcp-Protocol-Version, Mcp-Session-Id',
          'access-control-expose-headers': 'Allow, Retry-After, WWW-Authenticate',
          'access-control-max-age': '600',
        });
        expect(asked.headers.get('Vary')).toBe('Origin');
        expect(asked.headers.get('Cache-Control')).toBe('no-store');
      }
    }
    const headers = { Origin: APP, Authorization: `Bearer ${key}` };
    const answered = await ask('/v1/me', { headers });
    expect([answered.status, corsOf(answered), answered.headers.get('Vary')]).toEqual([
      200,
      [
        ['access-control-allow-origin', APP],
        ['access-control-expose-headers', 'Allow, Retry-After, WWW-Authenticate'],
      ],
      'Origin',
    ]);
  });

  // Without it, a script sees 401 and not why.
  it('read why they were refused', async () => {
    const { ask } = await start(name, [APP]);
    for (const path of ['/v1/me', ...(name === 'mcp' ? ['/mcp'] : [])]) {
      const refused = await ask(path, { headers: { Origin: APP } });
      expect(refused.status).toBe(401);
      expect(refused.headers.get('WWW-Authenticate')).toMatch(/^Bearer /);
      expect(refused.headers.get('Access-Control-Allow-Origin')).toBe(APP);
      const exposed = refused.headers.get('Access-Control-Expose-Headers');
      expect(exposed).toContain('WWW-Authenticate');
    }
  });

  it.each([
    ['a stranger', STRANGER],
    ['no site in particular', 'null'],
    ['a site within', `${APP}.stranger.example`],
    ['another port', `${APP}:8443`],
    ['another scheme', 'http://app.example'],
    ['another spelling', 'https://APP.example'],
    ['two', `${APP}, ${STRANGER}`],
  ])('are not let in: %s', async (_, origin) => {
    const { ask, key } = await start(name, [APP]);
    for (const path of paths) {
      const asked = await ask(path, preflight(origin));
      expect([path, corsOf(asked), asked.headers.get('Vary')]).toEqual([path, [], 'Origin']);
    }
    const headers = { Origin: origin, Authorization: `Bearer ${key}` };
    expect(corsOf(await ask('/v1/me', { headers }))).toEqual([]);
    // A cache that keeps an answer for whoever has no origin must not give it to a site.
    expect((await ask('/v1/openapi.json')).headers.get('Vary')).toBe('Origin');
  });

  it('are none by default', async () => {
    const { ask } = await start(name);
    for (const path of paths) {
      const asked = await ask(path, preflight(APP));
      expect([path, corsOf(asked), asked.headers.get('Vary')]).toEqual([path, [], null]);
    }
    const allowed = await ask('/v1/me', preflight(APP));
    expect([allowed.status, allowed.headers.get('Allow')]).toEqual([204, 'GET, HEAD, OPTIONS']);
  });
});

describe('the console', () => {
  it('is for no other site', async () => {
    const { file, remove } = folder();
    ends.push(async () => remove());
    const platform = await openPlatform(file('cors'), { corsOrigins: [APP] });
    ends.push(() => platform.close());
    const server = createConsole(platform);
    const port = await listen(server);
    ends.push(() => close(server));
    for (const path of ['/console', '/console/sign-in', '/console/v1/me', '/consolev1']) {
      const asked = await fetch(`http://127.0.0.1:${port}${path}`, preflight(APP));
      expect([path, corsOf(asked)]).toEqual([path, []]);
    }
    const rest = await fetch(`http://127.0.0.1:${port}/v1/me`, preflight(APP));
    expect(rest.headers.get('Access-Control-Allow-Origin')).toBe(APP);
  });
});

describe('the names of sites', () => {
  it.each([
    '*',
    'null',
    '',
    'app.example',
    'https://app.example/',
    'https://APP.example',
    'https://app.example:443',
    'https://*.example',
    'file:///x',
    'https://u@app.example',
  ])('are origins as browsers spell them, which this is not: %s', (origin) => {
    expect(() => createCors([APP, origin])).toThrow('--cors-origin: pass an origin such as');
  });
});
