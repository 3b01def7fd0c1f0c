/** keyscope for tRPC 11. Copy this file and adapt it. It decides nothing; `defineGuard` does. */
import { initTRPC, TRPCError } from '@trpc/server';
import type { ChallengeOptions, GuardOptions, RequestLike, RouteGuardOptions } from 'keyscope';
import { defineGuard, isAccessError, isStoreError, toResponse } from 'keyscope';

/** `createContext` returns this. `req` is Node's request, or the `Request` on a fetch server. */
export interface Context {
  readonly req: RequestLike;
}

const CODES = { 400: 'BAD_REQUEST', 401: 'UNAUTHORIZED', 403: 'FORBIDDEN' } as const;

/** `t.procedure.use(guard('listProjects'))` sets `ctx.principal` and `ctx.entityId`. */
export function createGuard<Op extends string>(options: GuardOptions<Op>) {
  const define = defineGuard(options);
  const t = initTRPC.context<Context>().create();
  // `entity` gets the unparsed input.
  return (operation: Op, route?: Omit<RouteGuardOptions<unknown>, 'context'>) => {
    const guard = define(operation, route);
    const middleware = t.middleware(async ({ ctx, getRawInput, next }) => {
      const input = await getRawInput();
      const admission = await guard.admit(input, ctx.req).catch((error: unknown) => {
        const { status, body } = guard.answer(error); // Throws a bug on, for `onError`.
        const code = CODES[status as keyof typeof CODES] ?? 'SERVICE_UNAVAILABLE';
        const { detail } = JSON.parse(body) as { detail: string };
        throw new TRPCError({ code, message: detail, cause: error });
      });
      return next({ ctx: admission }); // Use no entity except this one in handlers.
    });
    for (const each of middleware._middlewares) Object.assign(each, guard.mark);
    return middleware;
  };
}

/** Sets the headers: `createHTTPServer({ responseMeta: createResponseMeta({ realm }), ... })`. */
export function createResponseMeta(challenge: ChallengeOptions) {
  toResponse(undefined, challenge);
  return ({ errors }: { errors: readonly TRPCError[] }) => {
    const denial = errors.find(({ cause }) => isAccessError(cause) || isStoreError(cause))?.cause;
    const headers = denial === undefined ? {} : toResponse(denial, challenge).headers;
    const { 'Content-Type': _, ...rest } = headers; // tRPC writes the body.
    return { headers: { ...rest, 'Cache-Control': 'no-store' } };
  };
}
