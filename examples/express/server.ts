/**
 * The platform on Express 5, on the database of the demo. Build the package with `npm run demo` or
 * `npm run build`, and start this with `npx node examples/express/server.ts`.
 */
import type { Server } from 'node:http';
import type { ErrorRequestHandler } from 'express';
import express from 'express';
import { readBody } from '../platform/host/body.ts';
import type { Service } from '../platform/host/http.ts';
import { answer, entityOf, REALM, unrouted } from '../platform/host/http.ts';
import { createNodeServer, send } from '../platform/host/node-server.ts';
import { run } from '../platform/host/run.ts';
import { failure, reportError } from '../platform/service/problem.ts';
import { routes } from '../platform/service/routes.ts';
import { createGuard } from './adapter.ts';

export function createServer(service: Service): Server {
  const app = express();
  app.disable('x-powered-by');
  app.enable('case sensitive routing'); // createNodeServer has refused trailing slashes.

  const { keyring, report = reportError } = service;
  const guard = createGuard({ keyring, realm: REALM, onError: report });

  for (const route of routes) {
    const entity = guard(route.operation, { entity: (req) => entityOf(req.url) });
    const verb = route.method.toLowerCase() as 'get' | 'post' | 'patch' | 'delete';
    app[verb](route.path, entity, async (req, res) => {
      const { principal, entityId, params, url } = req;
      // After the guard, so that strangers cannot upload. `express.raw` would answer a body that
      // is too large only at its end.
      const body = route.method === 'GET' ? undefined : await readBody(req);
      const header = (name: string) => req.get(name);
      send(res, await answer(route, service, { principal, entityId, params, url, header, body }));
    });
  }

  app.use((req, res) => send(res, unrouted(req.method, req.url)));
  const onError: ErrorRequestHandler = (error, _req, res, next) => {
    if (res.headersSent) next(error);
    else send(res, failure(error, report));
  };
  app.use(onError);
  return createNodeServer(app, service);
}

if (import.meta.main) await run(createServer);
