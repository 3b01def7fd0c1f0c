/** Lets a person with a session or a program with a key call a route. Copy and adapt this file. */
import type { Request, RequestHandler } from 'express';
import type { RouteGuardOptions } from 'keyscope';

/** `session` is your own: it answers 401 itself, or sets `entityId` and calls `next`. */
export function withSession<Op extends string, Guard extends RequestHandler>(
  guard: (operation: Op, route: RouteGuardOptions<Request>) => Guard,
  session: RequestHandler,
  people = 'people with a session', // Whom it lets in, for the lock.
) {
  return (operation: Op, route: RouteGuardOptions<Request> = {}): Guard => {
    const key = guard(operation, { also: people, ...route });
    const either: RequestHandler = (req, res, next) => {
      // With the header, the key alone decides: a wrong key is refused despite a session.
      if (req.headers.authorization !== undefined) return key(req, res, next);
      return session(req, res, (error?: unknown) => {
        const isIn = error === undefined && typeof req.entityId === 'string';
        next(isIn ? undefined : (error ?? new TypeError('withSession: no entityId was set')));
      });
    };
    return Object.assign(either, key); // The mark of the guard, for the lock.
  };
}
