/** The adapters on a bare app of each framework: the published contract, and further promises. */
import { readFileSync } from 'node:fs';
import type { RequestListener, Server } from 'node:http';
import { createServer } from 'node:http';
import { Readable } from 'node:stream';
import { inspect } from 'node:util';
import { getRequestListener } from '@hono/node-server';
import type { ErrorRequestHandler } from 'express';
import express from 'express';
import type { FastifyReply } from 'fastify';
import { fastify } from 'fastify';
import type { Context } from 'hono';
import { Hono } from 'hono';
import { afterEach, describe, expect, test } from 'vitest';
import { createGuard as expressGuard } from '../../examples/express/adapter.ts';
import { createGuard as fastifyGuard } from '../../examples/fastify/adapter.ts';
import type { Guarded } from '../../examples/hono/adapter.ts';
import { createGuard as honoGuard } from '../../examples/hono/adapter.ts';
import type { catalog } from '../../examples/platform/service/catalog.ts';
import { type Operation, policy } from '../../examples/platform/service/policy.ts';
import type { Admitting, Principal, StoreError } from '../../src/index.js';
import { causeOf, createKeyring } from '../../src/index.js';
import { memoryStore } from '../../src/stores/memory/index.js';
import { adapterContract, type ServedAdapter } from '../../src/testing/index.js';
import { CONTRACT_APPS } from '../support/contract-apps.ts';
import { A, B, C, close, FRAMEWORKS, listen } from './http-harness.ts';

const REALM = 'test';

interface Setup {
  readonly keyring: Admitting<Operation>;
  readonly realm?: string;
  readonly operation?: 'whoami' | 'listUsers';
  readonly entity?: (header: string | undefined) => unknown;
  readonly onError?: (error: StoreError) => void;
}

/** A request that reached the handler, and an error that reached the framework's error handler. */
interface Seen {
  readonly calls: { readonly principal: Principal; readonly entityId: string }[];
  readonly errors: unknown[];
}

// `GET /` is guarded. Its handler answers "done" with a response that it makes itself, or throws on
// request.
const BOOM = new Error('the handler failed');

// The ways in which a handler can set `Cache-Control` in each framework.
const CACHE = 'cache-control';
const WAYS = {
  express: {
    set: (res: express.Response, value: string) => res.set({ 'Cache-Control': value }).send('done'),
    setHeader: (res: express.Response, value: string) => res.setHeader(CACHE, value).end('done'),
    writeHead: (res: express.Response, value: string) =>
      res.writeHead(200, { 'Cache-Control': value }).end('done'),
  },
  fastify: {
    header: (reply: FastifyReply, value: string) =>
      reply.header('Cache-Control', value).send('done'),
    headers: (reply: FastifyReply, value: string) => reply.headers({ [CACHE]: value }).send('done'),
    stream: (reply: FastifyReply, value: string) =>
      reply.header(CACHE, value).send(Readable.from(['do', 'ne'])),
    Response: (_: FastifyReply, value: string) =>
      new Response('done', { headers: { [CACHE]: value } }),
  },
  hono: {
    header: (c: Context, value: string) => {
      c.header(CACHE, value);
      return c.text('done');
    },
    text: (c: Context, value: string) => c.text('done', 200, { 'Cache-Control': value }),
    Response: (_: Context, value: string) => new Response('done', { headers: { [CACHE]: value } }),
  },
};
const way = <T extends object>(ways: T, name: string): T[keyof T] => ways[name as keyof T];

const APPS = {
  async express(
    { operation = 'whoami', entity, ...setup }: Setup,
    seen: Seen,
  ): Promise<RequestListener> {
    const app = express();
    const guard = expressGuard({ realm: REALM, ...setup });
    const reader = entity && { entity: (req: express.Request) => entity(req.get('x-entity')) };
    app.get('/', guard(operation, reader), (req, res) => {
      seen.calls.push({ principal: req.principal, entityId: req.entityId });
      if (req.get('x-throw')) throw BOOM;
      way(WAYS.express, req.get('x-way') ?? 'set')(res, req.get('x-cache') ?? 'no-store');
    });
    const onError: ErrorRequestHandler = (error, _req, res, _next) => {
      seen.errors.push(error);
      res.status(500).send('failed');
    };
    return app.use(onError);
  },

  async fastify(
    { operation = 'whoami', entity, ...setup }: Setup,
    seen: Seen,
  ): Promise<RequestListener> {
    const app = fastify();
    const guard = fastifyGuard({ realm: REALM, ...setup });
    const reader = entity && {
      entity: (request: { headers: Record<string, unknown> }) =>
        entity(request.headers['x-entity'] as string),
    };
    app.get('/', { preHandler: guard(operation, reader) }, async (request, reply) => {
      seen.calls.push({ principal: request.principal, entityId: request.entityId });
      if (request.headers['x-throw']) throw BOOM;
      const { 'x-way': name = 'header', 'x-cache': value = 'no-store' } = request.headers as Record<
        string,
        string
      >;
      return way(WAYS.fastify, name)(reply, value);
    });
    app.setErrorHandler((error, _request, reply) => {
      seen.errors.push(error);
      return reply.code(500).send('failed');
    });
    await app.ready();
    return (req, res) => app.routing(req, res);
  },

  async hono(
    { operation = 'whoami', entity, ...setup }: Setup,
    seen: Seen,
  ): Promise<RequestListener> {
    const app = new Hono<Guarded>();
    const guard = honoGuard({ realm: REALM, ...setup });
    const reader = entity && {
      entity: (c: { req: { header(name: string): string | undefined } }) =>
        entity(c.req.header('x-entity')),
    };
    app.get('/', guard(operation, reader), (c) => {
      seen.calls.push({ principal: c.get('principal'), entityId: c.get('entityId') });
      if (c.req.header('x-throw')) throw BOOM;
      const name = c.req.header('x-way');
      return name === undefined
        ? new Response('done')
        : way(WAYS.hono, name)(c, c.req.header('x-cache') ?? '');
    });
    app.onError((error) => {
      seen.errors.push(error);
      return new Response('failed', { status: 500 });
    });
    return getRequestListener(app.fetch);
  },
};

const GUARDS = { express: expressGuard, fastify: fastifyGuard, hono: honoGuard };

async function overHttp(listener: RequestListener): Promise<ServedAdapter> {
  const server = createServer(listener);
  // With a trailing slash, like the `url` of a Bun server.
  return { url: `http://127.0.0.1:${await listen(server)}/`, close: () => close(server) };
}

describe('the adapter for Express, by the contract', () => {
  adapterContract(test, (setup) => overHttp(CONTRACT_APPS.express(setup)));
});

describe('the adapter for Fastify, by the contract', () => {
  adapterContract(test, async (setup) => overHttp(await CONTRACT_APPS.fastify(setup)));
});

describe('the adapter for Hono, by the contract', () => {
  adapterContract(test, (setup) => overHttp(getRequestListener(CONTRACT_APPS.hono(setup).fetch)));
});

describe('the adapter for Hono without a server, by the contract', () => {
  adapterContract(test, (setup) => ({ fetch: CONTRACT_APPS.hono(setup).fetch }));
});

const servers: Server[] = [];
afterEach(async () => {
  for (const server of servers.splice(0)) await close(server);
});

async function makeKey(scopes: readonly (typeof catalog.all)[number][] = []) {
  const keyring = createKeyring({ prefix: 'lure', policy, store: memoryStore(), peppers: 'none' });
  const authority = { entityId: A, entities: [A, B], scopes: 'all' } as const;
  const input = {
    name: 'test',
    scopes,
    expiresAt: 'never',
    accessibleEntities: [B],
    justification: 'test',
  } as const;
  const { key } = await keyring.issue(input, authority);
  return { keyring, key };
}

describe.each(FRAMEWORKS)('the adapter for %s', (framework) => {
  async function start(setup: Setup) {
    const seen: Seen = { calls: [], errors: [] };
    const server = createServer(await APPS[framework](setup, seen));
    servers.push(server);
    const port = await listen(server);
    const get = async (headers: Record<string, string> = {}) => {
      const response = await fetch(`http://127.0.0.1:${port}/`, { headers });
      return { status: response.status, headers: response.headers, body: await response.text() };
    };
    return { ...seen, get };
  }
  const bearer = (key: string) => ({ Authorization: `Bearer ${key}` });

  test('passes on the result of the entity reader unchanged', async () => {
    const { keyring, key } = await makeKey();
    const { get, calls } = await start({
      keyring,
      entity: (header) => header && (JSON.parse(header) as unknown),
    });
    const ask = async (entity: unknown) => {
      const answer = await get({
        ...bearer(key),
        ...(entity !== undefined && { 'x-entity': JSON.stringify(entity) }),
      });
      return answer.status;
    };
    expect(await Promise.all([undefined, [], B, [B]].map(ask))).toEqual([200, 200, 200, 200]);
    expect(calls.map(({ entityId }) => entityId).sort()).toEqual([A, A, B, B]);
    expect(await Promise.all([[A, A], '', [''], C, [C], 1, {}].map(ask))).toEqual([
      400, 400, 400, 403, 403, 400, 400,
    ]);
    expect(calls).toHaveLength(4);
  });

  test("keeps denials away from the framework's error handler", async () => {
    const { keyring, key } = await makeKey();
    const { get, calls, errors } = await start({ keyring, operation: 'listUsers' });
    for (const headers of [{}, { Authorization: 'Bearer' }, bearer(`${key}x`), bearer(key)]) {
      expect((await get(headers)).headers.get('Content-Type')).toBe('application/problem+json');
    }
    expect({ calls, errors }).toEqual({ calls: [], errors: [] });
  });

  // A broken store once caused only 503 answers, and no log said why.
  test('reports only outages to onError, which cannot change the answer', async () => {
    const away = new Error('away');
    const store = { ...memoryStore(), findByDigest: () => Promise.reject(away) };
    const broken = createKeyring({ prefix: 'lure', policy, store, peppers: 'none' });
    const { keyring, key } = await makeKey();
    const told: StoreError[] = [];
    const listeners: ((error: StoreError) => void)[] = [
      (error) => told.push(error),
      (error) => {
        told.push(error);
        throw BOOM;
      },
      async (error) => {
        told.push(error);
        throw BOOM;
      },
    ];
    for (const onError of listeners) {
      const { get, calls, errors } = await start({ keyring: broken, onError });
      expect((await get(bearer(key))).status).toBe(503);
      expect((await get()).status).toBe(401);
      expect({ calls, errors }).toEqual({ calls: [], errors: [] });
    }
    expect(told.map((error) => ({ message: error.message, cause: causeOf(error) }))).toEqual(
      listeners.map(() => ({ message: 'store.findByDigest failed: see causeOf', cause: away })),
    );
    const { get } = await start({
      keyring,
      operation: 'listUsers',
      onError: (error) => told.push(error),
    });
    expect([(await get(bearer(key))).status, (await get(bearer('x'))).status]).toEqual([403, 401]);
    expect(told).toHaveLength(listeners.length);
  });

  // Hono's guard once overruled a handler, and the other two did not.
  test('keeps the caching headers of a handler, however it sets them', async () => {
    const { keyring, key } = await makeKey();
    const { get, calls } = await start({ keyring });
    const names = Object.keys(WAYS[framework]);
    for (const name of names) {
      const { status, headers, body } = await get({
        ...bearer(key),
        'x-way': name,
        'x-cache': 'private',
      });
      const cache = headers.get('Cache-Control');
      expect({ name, status, body, cache }).toEqual({
        name,
        status: 200,
        body: 'done',
        cache: 'private',
      });
    }
    expect(calls).toHaveLength(names.length);
  });

  test("passes a bug to the framework's error handler, and does not call the handler", async () => {
    const bug = new TypeError('a bug in a store adapter');
    const { keyring } = await makeKey();
    const { get, calls, errors } = await start({
      keyring: { ...keyring, admit: () => Promise.reject(bug) },
    });
    const { status, body, headers } = await get(bearer('x'));
    expect({ status, body, store: headers.get('Cache-Control') }).toEqual({
      status: 500,
      body: 'failed',
      store: 'no-store',
    });
    expect(errors).toEqual([bug]);
    expect(calls).toEqual([]);
  });

  test('says no-store also in the answer to a failing handler', async () => {
    const { keyring, key } = await makeKey();
    const { get, errors } = await start({ keyring });
    const { status, headers } = await get({ ...bearer(key), 'x-throw': '1' });
    expect({ status, store: headers.get('Cache-Control') }).toEqual({
      status: 500,
      store: 'no-store',
    });
    expect(errors).toEqual([BOOM]);
  });

  test('refuses an unknown operation when the route is declared', async () => {
    const { keyring } = await makeKey();
    const guard = GUARDS[framework]({ keyring, realm: REALM });
    for (const operation of ['listThreat', '', 'constructor', '__proto__', undefined]) {
      expect(() => guard(operation as 'whoami'), String(operation)).toThrow(TypeError);
    }
  });

  // From JavaScript, `{ entityId: reader }` was once ignored, and requests for another entity got
  // the key's own.
  test('refuses an unknown option when the route is declared', async () => {
    const { keyring } = await makeKey();
    const guard = GUARDS[framework]({ keyring, realm: REALM }) as (
      name: string,
      options?: unknown,
    ) => unknown;
    const read = () => A;
    for (const options of [undefined, {}, { entity: read }])
      expect(() => guard('whoami', options)).not.toThrow();
    for (const options of [
      { entityId: read },
      { entity: read, realm: 'x' },
      { [Symbol('x')]: read },
      read,
      null,
    ]) {
      expect(() => guard('whoami', options), inspect(options)).toThrow(TypeError);
    }
    expect(() => guard('whoami', { entityId: read })).toThrow('guard: pass { entity, context');
  });

  test('refuses to make a guard without a keyring that has a policy, and says how to', async () => {
    const { keyring } = await makeKey();
    const make = (options: object) => GUARDS[framework]({ realm: REALM, ...options } as never);
    for (const options of [
      {},
      { policy },
      { keyring: Promise.resolve(keyring) },
      { keyring: { ...keyring, policy: undefined } },
    ]) {
      const usage = 'createGuard: pass { keyring }, made with a policy';
      expect(() => make(options)).toThrow(new TypeError(usage));
    }
  });

  test('refuses a realm that does not fit a header, and an unknown option, at once', async () => {
    const { keyring } = await makeKey();
    const make = (options: object) => () =>
      GUARDS[framework]({ keyring, realm: REALM, ...options });
    expect(make({})).not.toThrow();
    for (const options of [
      { realm: 'a\r\nb' },
      { resourceMetadata: 'é' },
      { relam: 'x' },
      { onOutage() {} },
      { policy },
    ]) {
      expect(make(options), JSON.stringify(options)).toThrow(TypeError);
    }
  });

  test('has at most 50 lines, and does not read the Authorization header itself', () => {
    const source = readFileSync(
      new URL(`../../examples/${framework}/adapter.ts`, import.meta.url),
      'utf8',
    );
    expect(source.trimEnd().split('\n').length).toBeLessThanOrEqual(50);
    expect(source.replaceAll(/\/\/.*|\/\*[\s\S]*?\*\//g, '')).not.toMatch(/authorization/i);
  });
});
