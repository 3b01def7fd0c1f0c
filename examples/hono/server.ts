/**
 * The platform on Hono 4. `npm run demo` starts it, and so does `npx node examples/hono/server.ts`.
 */
import type { Server } from 'node:http';
import { Hono } from 'hono';
import { bodyLimit } from 'hono/body-limit';
import { fetchListener } from '../platform/host/fetch.ts';
import type { Service } from '../platform/host/http.ts';
import { answer, entityOf, REALM, unrouted } from '../platform/host/http.ts';
import { createNodeServer } from '../platform/host/node-server.ts';
import { run } from '../platform/host/run.ts';
import { policy } from '../platform/service/policy.ts';
import type { Answer } from '../platform/service/problem.ts';
import { BODY_LIMIT, failure, refused, reportError } from '../platform/service/problem.ts';
import { routes } from '../platform/service/routes.ts';
import type { Guarded } from './adapter.ts';
import { createGuard } from './adapter.ts';

export function createApp(service: Service): Hono<Guarded> {
  const app = new Hono<Guarded>();
  const respond = ({ status, headers, body }: Answer) =>
    new Response(body === '' ? null : body, { status, headers });

  const { keyring, report = reportError } = service;
  const guard = createGuard({ keyring, policy, realm: REALM, onOutage: report });
  const limit = bodyLimit({ maxSize: BODY_LIMIT, onError: () => respond(refused(413).answer) });
  // A body that ends prematurely is the client's doing, and nobody waits for the answer.
  const cutShort = (): never => {
    throw refused(400);
  };

  for (const route of routes) {
    // The limit comes after the guard, so that strangers cannot upload anything.
    app.on(
      route.method,
      route.path,
      guard(route.operation, { entity: (c) => entityOf(c.req.url) }),
      (c, next) => limit(c, next).catch(cutShort),
      async (c) => {
        const { principal, entityUuid } = c.var;
        const { url } = c.req;
        const body = route.method === 'GET' ? undefined : await c.req.arrayBuffer().catch(cutShort);
        const header = (name: string) => c.req.raw.headers.get(name);
        return respond(
          await answer(route, service, {
            principal,
            entityUuid,
            params: c.req.param(),
            url,
            header,
            body,
          }),
        );
      },
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
