/** A session or a key on the same route, with the example of each framework. */
import { createServer, type RequestListener, type Server } from 'node:http';
import { getRequestListener } from '@hono/node-server';
import express, { type RequestHandler } from 'express';
import { type FastifyReply, type FastifyRequest, fastify } from 'fastify';
import { Hono, type MiddlewareHandler } from 'hono';
import { createKeyring, definePolicy, defineScopes } from 'keyscope';
import { recordRoutes, routesOf } from 'keyscope/lock';
import { memoryStore } from 'keyscope/stores/memory';
import { afterEach, describe, expect, test } from 'vitest';
import { createGuard as createExpressGuard } from '../../examples/express/adapter.ts';
import { withSession as withExpressSession } from '../../examples/express/with-session.ts';
import { createGuard as createFastifyGuard } from '../../examples/fastify/adapter.ts';
import { withSession as withFastifySession } from '../../examples/fastify/with-session.ts';
import { createGuard as createHonoGuard, type Guarded } from '../../examples/hono/adapter.ts';
import { withSession as withHonoSession } from '../../examples/hono/with-session.ts';
import { close, listen } from './http-harness.ts';

const catalog = defineScopes({ projects: { read: 'Read projects.' } });
const policy = definePolicy(catalog, { listProjects: ['projects:read'] });

function setUp() {
  const entityIds = 'text';
  return createKeyring({
    prefix: 'acme',
    policy,
    store: memoryStore(),
    peppers: 'none',
    entityIds,
  });
}
type Ring = ReturnType<typeof setUp>;

const OF_SESSION = 'org_of_the_session';
/** The session check lets this one through, as one for public routes would. */
const PASSES = 'sid=public';
const isSignedIn = (cookie: string | undefined): boolean => cookie === 'sid=good';

interface App {
  readonly listener: RequestListener;
  /** For `routesOf`. */
  readonly app: unknown;
}

/** Not the default, which the service of docs/existing-service.md has. */
const PEOPLE = 'editors with a session';

const APPS: Readonly<Record<string, (keyring: Ring) => Promise<App>>> = {
  async express(keyring) {
    const session: RequestHandler = (req, res, next) => {
      if (req.headers.cookie === PASSES) return next();
      if (!isSignedIn(req.headers.cookie)) return void res.status(401).send('Sign in.');
      req.entityId = OF_SESSION;
      return next();
    };
    const either = withExpressSession(createExpressGuard({ keyring }), session, PEOPLE);
    const app = express();
    const entity = (req: { readonly query: object }): unknown =>
      Reflect.get(req.query, 'organization');
    app.get('/projects', either('listProjects', { entity }), (req, res) => {
      res.send(req.entityId);
    });
    // Compiles only if the handler keeps the type of its parameter.
    express().get('/projects/:id', either('listProjects'), (req, res) => {
      res.send(req.params.id satisfies string);
    });
    return { listener: app, app };
  },
  async fastify(keyring) {
    const guard = createFastifyGuard({ keyring });
    const session = async (request: FastifyRequest, reply: FastifyReply) => {
      if (request.headers.cookie === PASSES) return undefined;
      if (!isSignedIn(request.headers.cookie)) return reply.code(401).send('Sign in.');
      request.entityId = OF_SESSION;
      return undefined;
    };
    const either = withFastifySession(guard, session, PEOPLE);
    const app = fastify();
    recordRoutes(app);
    const entity = (request: { readonly query: unknown }): unknown =>
      Reflect.get(request.query as object, 'organization');
    const onRequest = either('listProjects', { entity });
    app.get('/projects', { onRequest }, async ({ entityId }) => entityId);
    await app.ready();
    return { listener: app.routing, app };
  },
  async hono(keyring) {
    const session: MiddlewareHandler<Guarded> = async (c, next) => {
      if (c.req.header('Cookie') === PASSES) return await next();
      if (!isSignedIn(c.req.header('Cookie'))) return c.text('Sign in.', 401);
      c.set('entityId', OF_SESSION);
      return await next();
    };
    const either = withHonoSession(createHonoGuard({ keyring }), session, PEOPLE);
    const app = new Hono<Guarded>();
    const guard = either('listProjects', { entity: (c) => c.req.queries('organization') });
    app.get('/projects', guard, (c) => c.text(c.get('entityId')));
    return { listener: getRequestListener(app.fetch), app };
  },
};

const servers: Server[] = [];
afterEach(async () => {
  for (const server of servers.splice(0)) await close(server);
});

async function start(name: string) {
  const keyring = setUp();
  const input = { name: 'test', scopes: ['projects:read'], expiresAt: 'never' } as const;
  const { key, info } = await keyring.issue(input, { entityId: 'org_a', scopes: 'all' });
  const made = await APPS[name]?.(keyring);
  const server = createServer(made?.listener);
  servers.push(server);
  const url = `http://127.0.0.1:${await listen(server)}/projects`;
  const ask = async (headers: Record<string, string>, query = '') => {
    const response = await fetch(url + query, { headers });
    return { status: response.status, text: await response.text() };
  };
  return { ask, key, info, keyring, app: made?.app };
}

const SESSION = { Cookie: 'sid=good' };

describe.each(Object.keys(APPS))('a session or a key on %s', (name) => {
  test('lets in a session without a key, and a key without a session', async () => {
    const { ask, key } = await start(name);
    expect(await ask(SESSION)).toEqual({ status: 200, text: OF_SESSION });
    expect(await ask({ Authorization: `Bearer ${key}` })).toEqual({ status: 200, text: 'org_a' });
    expect(await ask({})).toEqual({ status: 401, text: 'Sign in.' });
    expect(await ask({ Cookie: 'sid=bad' })).toEqual({ status: 401, text: 'Sign in.' });
  });

  test('lets the key alone decide where there is an Authorization header', async () => {
    const { ask, key, info, keyring } = await start(name);
    const both = { ...SESSION, Authorization: `Bearer ${key}` };
    expect(await ask(both)).toEqual({ status: 200, text: 'org_a' });
    const wrong = [`Bearer ${key}x`, `Bearer ${key}, Bearer ${key}`, 'Basic YTpi', 'Bearer', ''];
    for (const [at, value] of wrong.entries()) {
      const { status, text } = await ask({ ...SESSION, Authorization: value });
      expect({ value, status }).toEqual({ value, status: [401, 400, 401, 400, 400][at] });
      expect(text).toContain('about:blank');
    }
    await keyring.revoke(info.keyId, { entityId: 'org_a' });
    expect((await ask(both)).status).toBe(401);
  });

  // A session check that lets public routes through let everyone in, with no organization.
  test('is an error if the session check lets in someone without an organization', async () => {
    const { ask } = await start(name);
    const { status, text } = await ask({ Cookie: PASSES });
    expect(status).toBe(500);
    expect(text).not.toBe('');
  });

  test('keeps the options of a route', async () => {
    const { ask, key } = await start(name);
    const headers = { Authorization: `Bearer ${key}` };
    expect((await ask(headers, '?organization=org_a')).status).toBe(200);
    expect((await ask(headers, '?organization=org_b')).status).toBe(403);
  });

  test('shows in the lock which people get in, too', async () => {
    const { app } = await start(name);
    const also = [PEOPLE];
    expect(routesOf(app)).toEqual([
      { method: 'GET', path: '/projects', operations: ['listProjects'], also },
    ]);
  });
});
