/**
 * An adapter of your own, here for plain `node:http`. It decides nothing. It passes the request to
 * a guard, and then calls the handler with the result or sends the guard's answer.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Admission, GuardOptions, RouteGuardOptions } from 'keyscope';
import { defineGuard } from 'keyscope';

/** Gets the principal and the checked entity. Do not use any other entity in a handler. */
export type Handler = (req: IncomingMessage, res: ServerResponse, admission: Admission) => unknown;

/**
 * `const listProjects = guard('listProjects')(handler)`. Call the result for each request, and
 * catch: Node ignores the promise of a listener, so a rejected one ends the process.
 */
export function createGuard<Op extends string>(options: GuardOptions<Op>) {
  const define = defineGuard(options);
  return (operation: Op, route?: RouteGuardOptions<IncomingMessage>) => {
    const guard = define(operation, route);
    return (handler: Handler) =>
      Object.assign(async (req: IncomingMessage, res: ServerResponse) => {
        res.setHeader('Cache-Control', 'no-store'); // A handler may set another value.
        let admission: Admission;
        try {
          // Pass `req`, because `req.headers` hides a second Authorization line.
          admission = await guard.admit(req, req);
        } catch (error) {
          const { status, headers, body } = guard.answer(error); // Throws on bugs, for your logger.
          res.writeHead(status, headers).end(body);
          return;
        }
        await handler(req, res, admission); // Outside the `try`: its errors are not denials.
      }, guard.mark);
  };
}
