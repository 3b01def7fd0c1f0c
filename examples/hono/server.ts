/** The platform on Hono 4. Start it with `npm run demo` or `npx node examples/hono/server.ts`. */
import type { Server } from 'node:http';
import type { Context } from 'hono';
import { Hono } from 'hono';
import { bodyLimit } from 'hono/body-limit';
import { fetchListener } from '../platform/host/fetch.ts';
import type { Admitted, Service } from '../platform/host/http.ts';
import { answer, entityOf, REALM, unrouted } from '../platform/host/http.ts';
import { createNodeServer } from '../platform/host/node-server.ts';
import { run } from '../platform/host/run.ts';
import type { Answer } from '../platform/service/problem.ts';
import { BODY_LIMIT, failure, refused, reportError } from '../platform/service/problem.ts';
import type { Route } from '../platform/service/route.ts';
import { routes } from '../platform/service/routes.ts';
import type { Guarded } from './adapter.ts';
import { createGuard } from './adapter.ts';

function respond({ status, headers, body }: Answer): Response {
  return new Response(body === '' ? null : body, { status, headers });
}

const limitBody = bodyLimit({ maxSize: BODY_LIMIT, onError: () => respond(refused(413).answer) });

/** The client broke off the body. That is not an error of the service. */
function refuseCutShort(): never {
  throw refused(400);
}

/** Reads a request after its guard. */
async function admittedOf(c: Context<Guarded>, { method }: Route): Promise<Admitted> {
  const { raw, url } = c.req;
  const body = method === 'GET' ? undefined : await c.req.arrayBuffer().catch(refuseCutShort);
  return {
    principal: c.var.principal,
    entityId: c.var.entityId,
    params: c.req.param(),
    url,
    header: (name) => raw.headers.get(name),
    body,
  };
}

export function createApp(service: Service): Hono<Guarded> {
  const { keyring, report = reportError } = service;
  const app = new Hono<Guarded>();
  const guard = createGuard({ keyring, realm: REALM, onError: report });
  for (const route of routes) {
    app.on(
      route.method,
      route.path,
      guard(route.operation, { entity: (c) => entityOf(c.req.url) }),
      // After the guard, so that strangers cannot upload.
      (c, next) => limitBody(c, next).catch(refuseCutShort),
      async (c) => respond(await answer(route, service, await admittedOf(c, route))),
    );
  }
  app.notFound((c) => respond(unrouted(c.req.method, c.req.path)));
  app.onError((error) => respond(failure(error, report)));
  return app;
}

export function createServer(service: Service): Server {
  return createNodeServer(fetchListener(createApp(service).fetch), service);
}

if (import.meta.main) await run(createServer);
