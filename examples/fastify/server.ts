/**
 * The platform on Fastify 5, on the database of the demo. Build the package with `npm run demo` or
 * `npm run build`, and start this with `npx node examples/fastify/server.ts`.
 */
import type { Server } from 'node:http';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { fastify } from 'fastify';
import type { Service } from '../platform/host/http.ts';
import { answer, entityOf, REALM, unrouted } from '../platform/host/http.ts';
import { createNodeServer, send as sendNode } from '../platform/host/node-server.ts';
import { run } from '../platform/host/run.ts';
import type { Answer } from '../platform/service/problem.ts';
import { BODY_LIMIT, failure, reportError } from '../platform/service/problem.ts';
import { routes } from '../platform/service/routes.ts';
import { createGuard } from './adapter.ts';

function createApp(service: Service): FastifyInstance {
  return fastify({
    serverFactory: (listener) => createNodeServer(listener, service),
    // createNodeServer has answered. Fastify's own handler would cut off that answer.
    clientErrorHandler: () => {},
    bodyLimit: BODY_LIMIT,
  });
}

function send(reply: FastifyReply, answered: Answer): FastifyReply {
  const { status, headers, body } = answered;
  if (status === 413) {
    // Fastify would close the connection with unread bytes, which can lose the answer.
    sendNode(reply.hijack().raw, answered);
    return reply;
  }
  // As bytes: Fastify adds a charset to JSON texts.
  const bytes = body === '' ? undefined : Buffer.from(body);
  return reply.code(status).headers(headers).send(bytes);
}

/** Returns the first line of a header. */
function headerOf(request: FastifyRequest, name: string): string | undefined {
  const value = request.headers[name];
  return Array.isArray(value) ? value[0] : value;
}

function serveRoutes(app: FastifyInstance, service: Service): void {
  const { keyring, report = reportError } = service;
  const guard = createGuard({ keyring, realm: REALM, onError: report });
  for (const route of routes) {
    app.route<{ Params: { id?: string } }>({
      method: route.method,
      url: route.path,
      // Before the body is read, so that strangers cannot upload.
      onRequest: guard(route.operation, { entity: (request) => entityOf(request.url) }),
      handler: async (request, reply) => {
        const { principal, entityId, params, url, body } = request;
        const header = (name: string) => headerOf(request, name);
        const admitted = { principal, entityId, params, url, header, body };
        return send(reply, await answer(route, service, admitted));
      },
    });
  }
}

export async function createServer(service: Service): Promise<Server> {
  const { report = reportError } = service;
  const app = createApp(service);

  // Read every type as bytes. The route table checks the type.
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('*', { parseAs: 'buffer' }, (_request, bytes, done) => {
    done(null, bytes);
  });
  serveRoutes(app, service);
  app.setNotFoundHandler((request, reply) => send(reply, unrouted(request.method, request.url)));
  app.setErrorHandler((error, request, reply) => {
    if (request.is404) return send(reply, unrouted(request.method, request.url));
    return send(reply, failure(error, report));
  });
  await app.ready();
  return app.server;
}

if (import.meta.main) await run(createServer);
