/**
 * keyscope for your own framework, here for none: plain `node:http`. It decides nothing: it passes
 * the request to a guard, and the result to the handler, or it sends the guard's answer.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Admission, GuardOptions, GuardReaders } from 'keyscope';
import { defineGuard } from 'keyscope';

/** Gets the principal, and the entity that was checked: handlers use no other. */
export type Handler = (req: IncomingMessage, res: ServerResponse, admission: Admission) => unknown;

/** `const listThreats = guard('listThreats')(handler)`; call it with each request of the route. */
export function createGuard<Op extends string>(options: GuardOptions<Op>) {
  const define = defineGuard(options);
  return (operation: Op, readers?: GuardReaders<IncomingMessage>) => {
    const guard = define(operation, readers);
    return (handler: Handler) =>
      Object.assign(async (req: IncomingMessage, res: ServerResponse) => {
        res.setHeader('Cache-Control', 'no-store'); // A handler may set another, at its own risk.
        let admission: Admission;
        try {
          // `req` and not `req.headers`, which hides a second Authorization line.
          admission = await guard.admit(req, req);
        } catch (error) {
          const { status, headers, body } = guard.answer(error); // Throws a bug, for your logger.
          res.writeHead(status, headers).end(body);
          return;
        }
        await handler(req, res, admission); // Outside the `try`: its errors are not denials.
      }, guard.mark);
  };
}
