/** Lets a person with a session or a program with a key call a route. Copy and adapt this file. */
import type { Context, MiddlewareHandler } from 'hono';
import type { Admission, RouteGuardOptions } from 'keyscope';

type Guard = MiddlewareHandler<{ Variables: Admission }>;

/** `session` is your own: it returns a 401, or sets `entityId` and calls `next`. */
export function withSession<Op extends string>(
  guard: (operation: Op, route: RouteGuardOptions<Context>) => Guard,
  session: Guard,
  people = 'people with a session', // Whom it lets in, for the lock.
) {
  return (operation: Op, route: RouteGuardOptions<Context> = {}) => {
    const key = guard(operation, { also: people, ...route });
    const either: Guard = (c, next) => {
      // With the header, the key alone decides: a wrong key is refused despite a session.
      if (c.req.header('Authorization') !== undefined) return key(c, next);
      return session(c, async () => {
        if (typeof c.get('entityId') !== 'string')
          throw new TypeError('withSession: no entityId was set');
        await next();
      });
    };
    return Object.assign(either, key); // The mark of the guard, for the lock.
  };
}
