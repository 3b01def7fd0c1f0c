/** keyscope for Hono 4. Copy this file and adapt it. It decides nothing; `defineGuard` does. */
import type { Context, MiddlewareHandler as Handler } from 'hono';
import type { Admission, GuardOptions, RouteGuardOptions } from 'keyscope';
import { defineGuard } from 'keyscope';

/**
 * `new Hono<Guarded>()`. Use no entity other than `entityId`, which is checked. On a route
 * without a guard, both variables are undefined, whatever the types say.
 */
export type Guarded = { Variables: Admission };

/** Use it on routes, not on a prefix: `app.get('/projects', guard('listProjects'), handler)`. */
export function createGuard<Op extends string>(options: GuardOptions<Op>) {
  const define = defineGuard(options);
  return (operation: Op, route?: RouteGuardOptions<Context>): Handler<Guarded> => {
    const guard = define(operation, route);
    return Object.assign<Handler<Guarded>, object>(async (c, next) => {
      c.header('Cache-Control', 'no-store'); // A handler may set another value.
      try {
        const { principal, entityId } = await guard.admit(c, c.req.raw);
        c.set('principal', principal);
        c.set('entityId', entityId);
      } catch (error) {
        c.res.headers.set('Cache-Control', 'no-store'); // Kept if Hono answers the error.
        const { status, headers, body } = guard.answer(error);
        return new Response(body, { status, headers }); // Hono omits the body when it answers HEAD.
      }
      await next();
      // A Response that the handler made does not have the header yet.
      if (!c.res.headers.has('Cache-Control')) c.header('Cache-Control', 'no-store');
      return undefined;
    }, guard.mark);
  };
}
