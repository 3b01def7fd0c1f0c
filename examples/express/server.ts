/**
 * The platform on Express 5. `npx node examples/express/server.ts` starts it on the demo's own file, once `npm run demo` or
 * `npm run build` has built the package.
 */
import type { Server } from 'node:http';
import type { ErrorRequestHandler } from 'express';
import express from 'express';
import { run } from '../platform/boot.ts';
import type { Service } from '../platform/http.ts';
import { answer, createNodeServer, entityOf, REALM, send, unrouted } from '../platform/http.ts';
import { policy } from '../platform/policy.ts';
import { BODY_LIMIT, failure } from '../platform/problem.ts';
import { routes } from '../platform/routes.ts';
import { createGuard } from './adapter.ts';

export function createServer(service: Service): Server {
  const app = express();
  app.disable('x-powered-by');
  app.enable('case sensitive routing'); // A slash at the end never gets here: see createNodeServer.

  const guard = createGuard({ keyring: service.keyring, policy, realm: REALM });
  // Bytes, whatever the type: the table says what they must be. Behind the guard, so that strangers upload nothing.
  const readBody = express.raw({ type: () => true, limit: BODY_LIMIT, inflate: false });

  for (const route of routes) {
    const entity = guard(route.operation, { entity: (req) => entityOf(req.url) });
    const before = route.method === 'GET' ? [entity] : [entity, readBody];
    const verb = route.method.toLowerCase() as 'get' | 'post' | 'patch' | 'delete';
    app[verb](route.path, ...before, async (req, res) => {
      const { principal, entityUuid, params, url, body } = req;
      const header = (name: string) => req.get(name);
      send(res, await answer(route, service, { principal, entityUuid, params, url, header, body }));
    });
  }

  app.use((req, res) => send(res, unrouted(req.method, req.url)));
  const onError: ErrorRequestHandler = (error, _req, res, next) => {
    if (res.headersSent) next(error);
    else send(res, failure(error, service.report));
  };
  app.use(onError);
  return createNodeServer(app, service);
}

if (import.meta.main) await run(createServer);
