/** keyscope for Fastify 5. Copy this file and adapt it. It decides nothing; `defineGuard` does. */
import type { FastifyReply, FastifyRequest, RawServerBase } from 'fastify';
import type { GuardOptions, Principal, RouteGuardOptions } from 'keyscope';
import { defineGuard } from 'keyscope';

// The guard sets both. On a route without a guard they are undefined, whatever the types say.
declare module 'fastify' {
  interface FastifyRequest {
    principal: Principal;
    entityId: string; // The checked entity. Do not use any other in a handler.
  }
}
type Request = FastifyRequest<object, RawServerBase>;
type Reply = FastifyReply<object, RawServerBase>;

/** Runs before the body is read: `app.get('/projects', { onRequest: guard('listProjects') })`. */
export function createGuard<Op extends string>(options: GuardOptions<Op>) {
  const define = defineGuard(options);
  return (operation: Op, route?: RouteGuardOptions<Request>) => {
    const guard = define(operation, route);
    return Object.assign(async (request: Request, reply: Reply) => {
      reply.header('Cache-Control', 'no-store'); // A handler may set another value.
      try {
        // Pass `request.raw`, because `request.headers` hides a second Authorization line.
        Object.assign(request, await guard.admit(request, request.raw));
      } catch (error) {
        const { status, headers, body } = guard.answer(error);
        return reply.code(status).headers(headers).send(Buffer.from(body)); // No charset.
      }
    }, guard.mark);
  };
}
