/** keyscope for Koa 3. Copy this file and adapt it. It decides nothing: `defineGuard` does. */

import type { Admission, GuardOptions, GuardReaders } from 'keyscope';
import { defineGuard } from 'keyscope';
import type { Context, Middleware } from 'koa';

/**
 * `new Router<Guarded>()`: `principal`, and `entityUuid`, which was checked: handlers use no other.
 * Set by the guard; on a route without one both are undefined, whatever the types say.
 */
export type Guarded = Admission;

/** `router.get('/threats', guard('listThreats'), handler)`: on routes, never on a path prefix. */
export function createGuard<Op extends string>(options: GuardOptions<Op>) {
  const define = defineGuard(options);
  return (operation: Op, readers?: GuardReaders<Context>) => {
    const guard = define(operation, readers);
    /** False if the request was answered. */
    const isAdmitted = async (ctx: Context): Promise<boolean> => {
      try {
        // Not `ctx.headers`, which hides a second Authorization line.
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
      ctx.set('Cache-Control', 'no-store'); // Unless the handler sets another.
      try {
        if (await isAdmitted(ctx)) await next();
      } catch (error) {
        throw notStored(error);
      }
    };
    return Object.assign(middleware, guard.mark);
  };
}

/** Of an answer to an error, Koa keeps the headers of the error alone. */
function notStored(error: unknown): unknown {
  if (!(error instanceof Error) || !Object.isExtensible(error)) return error;
  const { headers } = error as { headers?: object };
  return Object.assign(error, { headers: { 'Cache-Control': 'no-store', ...headers } });
}
