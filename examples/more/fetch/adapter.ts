/**
 * keyscope for handlers of a fetch `Request`: Next, Bun, Deno, Workers. Copy this file and adapt
 * it. It decides nothing; `defineGuard` does.
 */
import type { Admission, GuardOptions, RouteGuardOptions } from 'keyscope';
import { defineGuard } from 'keyscope';

/** `rest` is what the runtime passes after the request. Use no entity except `entityId`. */
export type Handler<R extends Request, Rest extends readonly unknown[], A> = (
  request: R,
  admission: Admission,
  ...rest: Rest
) => A | Promise<A>;

/** The answer of a handler. On Bun, it is undefined after `server.upgrade(request)`. */
type Answer = Response | undefined;

/** `export const GET = guard('listProjects')((request, { entityId }) => ...)`. */
export function createGuard<Op extends string>(options: GuardOptions<Op>) {
  const define = defineGuard(options);
  return (operation: Op, route?: RouteGuardOptions<Request>) => {
    const guard = define(operation, route);
    return <R extends Request, Rest extends readonly unknown[], A extends Answer>(
      handler: Handler<R, Rest, A>,
    ) =>
      Object.assign(async (request: R, ...rest: Rest): Promise<A | Response> => {
        let admission: Admission;
        try {
          admission = await guard.admit(request, request);
        } catch (error) {
          const { status, headers, body } = guard.answer(error);
          return new Response(request.method === 'HEAD' ? null : body, { status, headers });
        }
        const answer = await handler(request, admission, ...rest); // Its errors are not denials.
        if (!answer || answer.headers.has('Cache-Control')) return answer;
        const response = new Response(answer.body, answer); // Its headers may be read-only.
        response.headers.set('Cache-Control', 'no-store');
        return response;
      }, guard.mark);
  };
}
