/** keyscope for Koa 3. Copy this file and adapt it. It decides nothing; `defineGuard` does. */

import type { Admission, GuardOptions, RouteGuardOptions } from 'keyscope';
import { defineGuard } from 'keyscope';
import type { Context, Middleware } from 'koa';

/**
 * `new Router<Guarded>()`. Use no entity other than `entityId`, which is checked. On a route
 * without a guard, both fields are undefined, whatever the types say.
 */
export type Guarded = Admission;

/** Use it on routes, not on a prefix: `router.get('/projects', guard('listProjects'), handler)`. */
export function createGuard<Op extends string>(options: GuardOptions<Op>) {
  const define = defineGuard(options);
  return (operation: Op, route?: RouteGuardOptions<Context>) => {
    const guard = define(operation, route);
    /** Returns false if it answered the request. */
    const isAdmitted = async (ctx: Context): Promise<boolean> => {
      try {
        // Pass `ctx.req`, because `ctx.headers` hides a second Authorization line.
        Object.assign(ctx.state, await guard.admit(ctx, ctx.req));
        return true;
      } catch (error) {
        const { status, headers, body } = guard.answer(error);
        ctx.status = status;
        ctx.set(headers);
        ctx.body = body;
        return false;
      }
    };
    const middleware: Middleware<Guarded> = async (ctx, next) => {
      ctx.set('Cache-Control', 'no-store'); // A handler may set another value.
      try {
        if (await isAdmitted(ctx)) await next();
      } catch (error) {
        throw notStored(error);
      }
    };
    return Object.assign(middleware, guard.mark);
  };
}

/** In its answer to an error, Koa keeps only the headers of the error. */
function notStored(error: unknown): unknown {
  if (!(error instanceof Error) || !Object.isExtensible(error)) return error;
  const { headers } = error as { headers?: object };
  return Object.assign(error, { headers: { 'Cache-Control': 'no-store', ...headers } });
}
