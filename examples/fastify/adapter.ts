/** keyscope for Fastify 5. Copy this file and adapt it. It decides nothing: `defineGuard` does. */
import type { FastifyReply, FastifyRequest, RawServerBase } from 'fastify';
import type { GuardOptions, GuardReaders, Principal } from 'keyscope';
import { defineGuard } from 'keyscope';

// Set by the guard; on a route without one both are undefined, whatever the types say.
declare module 'fastify' {
  interface FastifyRequest {
    principal: Principal;
    entityUuid: string; // The entity that was checked; handlers use no other.
  }
}
type Request = FastifyRequest<object, RawServerBase>;
type Reply = FastifyReply<object, RawServerBase>;

/** `app.get('/threats', { onRequest: guard('listThreats') }, handler)`: before the body is read. */
export function createGuard<Op extends string>(options: GuardOptions<Op>) {
  const define = defineGuard(options);
  return (operation: Op, readers?: GuardReaders<Request>) => {
    const guard = define(operation, readers);
    return Object.assign(async (request: Request, reply: Reply) => {
      reply.header('Cache-Control', 'no-store'); // Unless the handler sets another.
      try {
        // Not `request.headers`, which hides a second Authorization line.
        Object.assign(request, await guard.admit(request, request.raw));
      } catch (error) {
        const { status, headers, body } = guard.answer(error);
        return reply.code(status).headers(headers).send(Buffer.from(body)); // Texts get a charset.
      }
    }, guard.mark);
  };
}
