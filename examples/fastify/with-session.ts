/** Lets a person with a session or a program with a key call a route. Copy and adapt this file. */
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { RouteGuardOptions } from 'keyscope';

type Hook = (request: FastifyRequest, reply: FastifyReply) => Promise<unknown>;

/** `session` is your own hook: it sends the 401 itself and returns `reply`, or sets `entityId`. */
export function withSession<Op extends string>(
  guard: (operation: Op, route: RouteGuardOptions<FastifyRequest>) => Hook,
  session: Hook,
  people = 'people with a session', // Whom it lets in, for the lock.
) {
  return (operation: Op, route: RouteGuardOptions<FastifyRequest> = {}) => {
    const key = guard(operation, { also: people, ...route });
    const either: Hook = async (request, reply) => {
      // With the header, the key alone decides: a wrong key is refused despite a session.
      if (request.headers.authorization !== undefined) return key(request, reply);
      const answer = await session(request, reply);
      const isIn = reply.sent || typeof request.entityId === 'string';
      if (!isIn) throw new TypeError('withSession: no entityId was set');
      return answer;
    };
    return Object.assign(either, key); // The mark of the guard, for the lock.
  };
}
