/** keyscope for Hono 4. Copy this file and adapt it. It decides nothing: `defineGuard` does. */
import type { Context, MiddlewareHandler as Handler } from 'hono';
import type { Admission, GuardOptions, GuardReaders } from 'keyscope';
import { defineGuard } from 'keyscope';

// Set by the guard; on a route without one both are undefined, whatever the types say.
/** `new Hono<Guarded>()`: `principal`, and `entityUuid`, the checked one: use no other. */
export type Guarded = { Variables: Admission };

/** `app.get('/threats', guard('listThreats'), handler)`: on routes, never on a path prefix. */
export function createGuard<Op extends string>(options: GuardOptions<Op>) {
  const define = defineGuard(options);
  return (operation: Op, readers?: GuardReaders<Context>): Handler<Guarded> => {
    const guard = define(operation, readers);
    return Object.assign<Handler<Guarded>, object>(async (c, next) => {
      c.header('Cache-Control', 'no-store'); // Unless the handler sets another.
      try {
        const { principal, entityUuid } = await guard.admit(c, c.req.raw);
        c.set('principal', principal);
        c.set('entityUuid', entityUuid);
      } catch (error) {
        c.res.headers.set('Cache-Control', 'no-store'); // Hono's answer to an error takes it over.
        const { status, headers, body } = guard.answer(error);
        return new Response(body, { status, headers }); // Hono omits the body when it answers HEAD.
      }
      await next();
      // A Response that the handler made itself does not have it yet.
      if (!c.res.headers.has('Cache-Control')) c.header('Cache-Control', 'no-store');
      return undefined;
    }, guard.mark);
  };
}
