/**
 * The platform on Fastify 5. `npx node examples/fastify/server.ts` starts it on the demo's own
 * file, once `npm run demo` or `npm run build` has built the package.
 */
import type { Server } from 'node:http';
import type { FastifyReply } from 'fastify';
import { fastify } from 'fastify';
import type { Service } from '../platform/host/http.ts';
import { answer, entityOf, REALM, unrouted } from '../platform/host/http.ts';
import { createNodeServer, send as sendNode } from '../platform/host/node-server.ts';
import { run } from '../platform/host/run.ts';
import { policy } from '../platform/service/policy.ts';
import type { Answer } from '../platform/service/problem.ts';
import { BODY_LIMIT, failure, reportError } from '../platform/service/problem.ts';
import { routes } from '../platform/service/routes.ts';
import { createGuard } from './adapter.ts';

export async function createServer(service: Service): Promise<Server> {
  const { keyring, report = reportError } = service;
  const app = fastify({
    serverFactory: (listener) => createNodeServer(listener, service),
    clientErrorHandler: () => {}, // createNodeServer has answered; Fastify's own handler would cut that short.
    bodyLimit: BODY_LIMIT,
  });
  const send = (reply: FastifyReply, answer: Answer) => {
    const { status, headers, body } = answer;
    // Fastify closes the connection while the body is unread, which can lose the answer.
    if (status === 413) return sendNode(reply.hijack().raw, answer);
    // As bytes: Fastify adds a charset to JSON texts.
    return reply
      .code(status)
      .headers(headers)
      .send(body === '' ? undefined : Buffer.from(body));
  };

  // Bytes, whatever the type: the table says what the type must be.
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('*', { parseAs: 'buffer' }, (_request, bytes, done) =>
    done(null, bytes),
  );

  // On request, so that strangers cannot upload anything.
  const guard = createGuard({ keyring, policy, realm: REALM, onOutage: report });
  for (const route of routes) {
    app.route<{ Params: { id?: string } }>({
      method: route.method,
      url: route.path,
      onRequest: guard(route.operation, { entity: (request) => entityOf(request.url) }),
      handler: async (request, reply) => {
        const { principal, entityUuid, params, url, body } = request;
        const header = (name: string) => [request.headers[name]].flat()[0];
        return send(
          reply,
          await answer(route, service, { principal, entityUuid, params, url, header, body }),
        );
      },
    });
  }

  app.setNotFoundHandler((request, reply) => send(reply, unrouted(request.method, request.url)));
  app.setErrorHandler((error, request, reply) =>
    send(reply, request.is404 ? unrouted(request.method, request.url) : failure(error, report)),
  );
  await app.ready();
  return app.server;
}

if (import.meta.main) await run(createServer);
