/** keyscope for Elysia 1. Copy this file and adapt it. It decides nothing: `defineGuard` does. */
import type { Context } from 'elysia';
import type { Admission, GuardOptions, GuardReaders } from 'keyscope';
import { defineGuard } from 'keyscope';

/** What a guard uses of the context. */
type Guarded = Pick<Context, 'request' | 'set'>;

/**
 * `app.get('/threats', guard('listThreats')(handler))`: around handlers, because not each hook that
 * returns a response keeps the handler from running.
 */
export function createGuard<Op extends string>(options: GuardOptions<Op>) {
  const define = defineGuard(options);
  return (operation: Op, readers?: GuardReaders<Request>) => {
    const guard = define(operation, readers);
    /** Handlers get `principal`, and `entityUuid`, which was checked; they use no other. */
    return <C extends Guarded, T>(handler: (context: C & Admission) => T) =>
      Object.assign(async (context: C): Promise<Awaited<T> | Response> => {
        const { request, set } = context;
        set.headers['cache-control'] = 'no-store'; // Unless the handler sets another.
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
