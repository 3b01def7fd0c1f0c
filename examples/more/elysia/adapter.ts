/** keyscope for Elysia 1. Copy this file and adapt it. It decides nothing; `defineGuard` does. */
import type { Context } from 'elysia';
import type { Admission, GuardOptions, RouteGuardOptions } from 'keyscope';
import { defineGuard } from 'keyscope';

/** The parts of the context that a guard uses. */
type Guarded = Pick<Context, 'request' | 'set'>;

/**
 * `app.get('/projects', guard('listProjects')(handler))`. It wraps the handler, because some hooks
 * run the handler even if they return a response.
 */
export function createGuard<Op extends string>(options: GuardOptions<Op>) {
  const define = defineGuard(options);
  return (operation: Op, route?: RouteGuardOptions<Request>) => {
    const guard = define(operation, route);
    /** The handler gets `principal` and the checked `entityId`. Do not use any other entity. */
    return <C extends Guarded, T>(handler: (context: C & Admission) => T) =>
      Object.assign(async (context: C): Promise<Awaited<T> | Response> => {
        const { request, set } = context;
        set.headers['cache-control'] = 'no-store'; // A handler may set another value.
        try {
          Object.assign(context, await guard.admit(request, request));
        } catch (error) {
          const { status, headers, body } = guard.answer(error);
          return new Response(request.method === 'HEAD' ? null : body, { status, headers });
        }
        return await handler(context as C & Admission);
      }, guard.mark);
  };
}
