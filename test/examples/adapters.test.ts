/** What an adapter promises to the project that copies it, on a bare app of each framework. */
import { readFileSync } from 'node:fs';
import type { RequestListener, Server } from 'node:http';
import { createServer } from 'node:http';
import { getRequestListener } from '@hono/node-server';
import type { ErrorRequestHandler } from 'express';
import express from 'express';
import { fastify } from 'fastify';
import { Hono } from 'hono';
import { afterEach, describe, expect, test } from 'vitest';
import { createGuard as expressGuard } from '../../examples/express/adapter.ts';
import { createGuard as fastifyGuard } from '../../examples/fastify/adapter.ts';
import type { Guarded } from '../../examples/hono/adapter.ts';
import { createGuard as honoGuard } from '../../examples/hono/adapter.ts';
import { catalog } from '../../examples/platform/catalog.ts';
import { policy } from '../../examples/platform/policy.ts';
import type { Keyring, Principal } from '../../src/index.js';
import { createKeyring } from '../../src/index.js';
import { memoryStore } from '../../src/stores/memory.js';
import { A, B, C, close, FRAMEWORKS, listen } from '../http/harness.ts';

const REALM = 'test';

interface Setup {
  readonly keyring: Pick<Keyring, 'admit'>;
  readonly realm?: string;
  readonly resourceMetadata?: string;
  readonly operation?: 'whoami' | 'listUsers';
  readonly entity?: (header: string | undefined) => unknown;
}

/** A request that reached the handler, and an error that reached the framework's error handler. */
interface Seen {
  readonly calls: { readonly principal: Principal; readonly entityUuid: string }[];
  readonly errors: unknown[];
}

// `GET /` is guarded; its handler answers "done", with a response of its own making, or throws where asked to.
const BOOM = new Error('the handler failed');

const APPS = {
  async express({ operation = 'whoami', entity, ...setup }: Setup, seen: Seen): Promise<RequestListener> {
    const app = express();
    const guard = expressGuard({ policy, realm: REALM, ...setup });
    const reader = entity && { entity: (req: express.Request) => entity(req.get('x-entity')) };
    app.get('/', guard(operation, reader), (req, res) => {
      seen.calls.push({ principal: req.principal, entityUuid: req.entityUuid });
      if (req.get('x-throw')) throw BOOM;
      res.send('done');
    });
    const onError: ErrorRequestHandler = (error, _req, res, _next) => {
      seen.errors.push(error);
      res.status(500).send('failed');
    };
    return app.use(onError);
  },

  async fastify({ operation = 'whoami', entity, ...setup }: Setup, seen: Seen): Promise<RequestListener> {
    const app = fastify();
    const guard = fastifyGuard({ policy, realm: REALM, ...setup });
    const reader = entity && {
      entity: (request: { headers: Record<string, unknown> }) => entity(request.headers['x-entity'] as string),
    };
    app.get('/', { preHandler: guard(operation, reader) }, async (request) => {
      seen.calls.push({ principal: request.principal, entityUuid: request.entityUuid });
      if (request.headers['x-throw']) throw BOOM;
      return 'done';
    });
    app.setErrorHandler((error, _request, reply) => {
      seen.errors.push(error);
      return reply.code(500).send('failed');
    });
    await app.ready();
    return (req, res) => app.routing(req, res);
  },

  async hono({ operation = 'whoami', entity, ...setup }: Setup, seen: Seen): Promise<RequestListener> {
    const app = new Hono<Guarded>();
    const guard = honoGuard({ policy, realm: REALM, ...setup });
    const reader = entity && {
      entity: (c: { req: { header(name: string): string | undefined } }) => entity(c.req.header('x-entity')),
    };
    app.get('/', guard(operation, reader), (c) => {
      seen.calls.push({ principal: c.get('principal'), entityUuid: c.get('entityUuid') });
      if (c.req.header('x-throw')) throw BOOM;
      return new Response('done');
    });
    app.onError((error) => {
      seen.errors.push(error);
      return new Response('failed', { status: 500 });
    });
    return getRequestListener(app.fetch);
  },
};

const GUARDS = { express: expressGuard, fastify: fastifyGuard, hono: honoGuard };

const servers: Server[] = [];
afterEach(async () => {
  for (const server of servers.splice(0)) await close(server);
});

async function makeKey(scopes: readonly (typeof catalog.all)[number][] = []) {
  const keyring = createKeyring({ prefix: 'lure', catalog, store: memoryStore(), peppers: 'none' });
  const authority = { entityUuid: A, entities: [A, B] };
  const input = { name: 'test', scopes, expiresAt: 'never', accessibleEntities: [B], justification: 'test' } as const;
  const { key, info } = await keyring.issue(input, authority);
  return { keyring, key, keyId: info.keyId };
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

  test('puts the principal and the checked entity where handlers look', async () => {
    const { keyring, key, keyId } = await makeKey();
    const { get, calls } = await start({ keyring });
    const { status, body, headers } = await get(bearer(key));
    expect({ status, body }).toEqual({ status: 200, body: 'done' });
    expect(headers.get('Cache-Control')).toBe('no-store');
    expect(calls).toMatchObject([{ principal: { keyId, entityUuid: A }, entityUuid: A }]);
  });

  test('passes on what the entity reader says, as it is', async () => {
    const { keyring, key } = await makeKey();
    const { get, calls } = await start({ keyring, entity: (header) => header && JSON.parse(header) });
    const ask = async (entity: unknown) => {
      const answer = await get({ ...bearer(key), ...(entity !== undefined && { 'x-entity': JSON.stringify(entity) }) });
      return answer.status;
    };
    expect(await Promise.all([undefined, [], B, [B]].map(ask))).toEqual([200, 200, 200, 200]);
    expect(calls.map(({ entityUuid }) => entityUuid).sort()).toEqual([A, A, B, B]);
    expect(await Promise.all([[A, A], '', [''], C, [C], 1, {}].map(ask))).toEqual([400, 400, 400, 403, 403, 400, 400]);
    expect(calls).toHaveLength(4);
  });

  test('answers denials itself and lets nothing through', async () => {
    const { keyring, key } = await makeKey();
    const { get, calls, errors } = await start({ keyring, operation: 'listUsers' });
    const answers = [
      await get(),
      await get({ Authorization: 'Bearer' }),
      await get(bearer(`${key}x`)),
      await get(bearer(key)),
    ];
    expect(answers.map(({ status }) => status)).toEqual([401, 400, 401, 403]);
    for (const { headers, body } of answers) {
      expect(headers.get('Cache-Control')).toBe('no-store');
      expect(headers.get('Content-Type')).toBe('application/problem+json');
      expect(headers.get('WWW-Authenticate')).toMatch(/^Bearer realm="test"/);
      expect(JSON.parse(body)).toMatchObject({ type: 'about:blank' });
    }
    expect({ calls, errors }).toEqual({ calls: [], errors: [] });
  });

  test('names the resource metadata in challenges', async () => {
    const { keyring } = await makeKey();
    const { get } = await start({ keyring, resourceMetadata: 'https://example.com/meta' });
    expect((await get()).headers.get('WWW-Authenticate')).toBe(
      'Bearer realm="test", resource_metadata="https://example.com/meta"',
    );
  });

  test('answers 503 where the store is away', async () => {
    const findByDigest = () => Promise.reject(new Error('away'));
    const store = { ...memoryStore(), findByDigest };
    const keyring = createKeyring({ prefix: 'lure', catalog, store, peppers: 'none' });
    const { key } = await makeKey();
    const { get, calls } = await start({ keyring });
    const { status, headers } = await get(bearer(key));
    expect({ status, retry: headers.get('Retry-After') }).toEqual({ status: 503, retry: '1' });
    expect(headers.get('WWW-Authenticate')).toBeNull();
    expect(calls).toEqual([]);
  });

  test("hands a bug to the framework's error handler, and lets nothing through", async () => {
    const bug = new TypeError('a bug in a store adapter');
    const { get, calls, errors } = await start({ keyring: { admit: () => Promise.reject(bug) } });
    const { status, body, headers } = await get(bearer('x'));
    expect({ status, body, store: headers.get('Cache-Control') }).toEqual({
      status: 500,
      body: 'failed',
      store: 'no-store',
    });
    expect(errors).toEqual([bug]);
    expect(calls).toEqual([]);
  });

  test('a handler that fails is answered without being stored either', async () => {
    const { keyring, key } = await makeKey();
    const { get, errors } = await start({ keyring });
    const { status, headers } = await get({ ...bearer(key), 'x-throw': '1' });
    expect({ status, store: headers.get('Cache-Control') }).toEqual({ status: 500, store: 'no-store' });
    expect(errors).toEqual([BOOM]);
  });

  test('an operation that the policy does not have fails when the route is declared', async () => {
    const { keyring } = await makeKey();
    const guard = GUARDS[framework]({ keyring, policy, realm: REALM });
    for (const operation of ['listThreat', '', 'constructor', '__proto__', undefined]) {
      expect(() => guard(operation as 'whoami'), String(operation)).toThrow(TypeError);
    }
  });

  test('a realm that no header can carry fails when the guard is made, and so does an unknown option', async () => {
    const { keyring } = await makeKey();
    const make = (options: object) => () => GUARDS[framework]({ keyring, policy, realm: REALM, ...options });
    expect(make({})).not.toThrow();
    for (const options of [{ realm: 'a\r\nb' }, { realm: undefined }, { resourceMetadata: 'é' }, { relam: 'x' }]) {
      expect(make(options), JSON.stringify(options)).toThrow(TypeError);
    }
  });

  test('is at most 50 lines, and never reads the Authorization header by itself', () => {
    const source = readFileSync(new URL(`../../examples/${framework}/adapter.ts`, import.meta.url), 'utf8');
    expect(source.trimEnd().split('\n').length).toBeLessThanOrEqual(50);
    expect(source.replaceAll(/\/\/.*|\/\*[\s\S]*?\*\//g, '')).not.toMatch(/authorization/i);
  });
});
