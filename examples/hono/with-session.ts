/** Lets a person with a session or a program with a key call a route. Copy and adapt this file. */
import type { Context, MiddlewareHandler } from 'hono';
import type { GuardReaders } from 'keyscope';
import type { createGuard, Guarded } from './adapter.ts';

/** `session` is your own: it returns a 401, or sets `entityId` and calls `next`. */
export function withSession<Op extends string>(
  guard: ReturnType<typeof createGuard<Op>>,
  session: MiddlewareHandler<Guarded>,
) {
  return (operation: Op, readers: GuardReaders<Context> = {}) => {
    const key = guard(operation, { ...readers, also: 'people with a session' });
    const either: MiddlewareHandler<Guarded> = (c, next) => {
      // With the header, the key alone decides: a wrong key is refused despite a session.
      return c.req.header('Authorization') === undefined ? session(c, next) : key(c, next);
    };
    return Object.assign(either, key); // The mark of the guard, for the lock.
  };
}
