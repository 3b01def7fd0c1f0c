/** keyscope for Express 5. Copy this file and adapt it. It decides nothing: `defineGuard` does. */
import type { NextFunction as Next, Request, Response } from 'express';
import type { GuardOptions, GuardReaders, Principal } from 'keyscope';
import { defineGuard } from 'keyscope';

// Set by the guard; on a route without one both are undefined, whatever the types say.
declare module 'express-serve-static-core' {
  interface Request {
    principal: Principal;
    entityUuid: string; // The entity that was checked; handlers use no other.
  }
}

/** `app.get('/threats', guard('listThreats'), handler)`: on routes, never on a path prefix. */
export function createGuard<Op extends string>(options: GuardOptions<Op>) {
  const define = defineGuard(options);
  return (operation: Op, readers?: GuardReaders<Request>) => {
    const guard = define(operation, readers);
    async function check<P extends Request['params']>(req: Request<P>, res: Response, next: Next) {
      res.setHeader('Cache-Control', 'no-store'); // Unless the handler sets another.
      try {
        // Not `req.headers`, which hides a second Authorization line.
        Object.assign(req, await guard.admit(req, req));
      } catch (error) {
        const { status, headers, body } = guard.answer(error);
        res.status(status).setHeaders(new Headers(headers)).end(body);
        return;
      }
      next();
    }
    return Object.assign(check, guard.mark) as typeof check;
  };
}
