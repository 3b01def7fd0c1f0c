/** keyscope for Express 4 and 5. Copy and adapt this file. `defineGuard` decides, not it. */
import type { NextFunction as Next, Request, Response } from 'express';
import type { GuardOptions, Principal, RouteGuardOptions } from 'keyscope';
import { defineGuard } from 'keyscope';

// The guard sets both. On a route without a guard they are undefined, whatever the types say.
declare module 'express-serve-static-core' {
  interface Request {
    principal: Principal;
    entityId: string; // The checked entity. Do not use any other in a handler.
  }
}

/** Use it on routes, not on a prefix: `app.get('/projects', guard('listProjects'), handler)`. */
export function createGuard<Op extends string>(options: GuardOptions<Op>) {
  const define = defineGuard(options);
  return (operation: Op, route?: RouteGuardOptions<Request>) => {
    const guard = define(operation, route);
    async function check<P extends Request['params']>(req: Request<P>, res: Response, next: Next) {
      try {
        res.setHeader('Cache-Control', 'no-store'); // A handler may set another value.
        // Pass `req`, because `req.headers` hides a second Authorization line.
        Object.assign(req, await guard.admit(req, req));
      } catch (error) {
        deny(error, res, next);
        return;
      }
      next();
    }
    function deny(error: unknown, res: Response, next: Next) {
      try {
        const { status, headers, body } = guard.answer(error);
        res.status(status).setHeaders(new Headers(headers)).end(body);
      } catch (bug) {
        // Express 4 does not catch it, so it would end the process. `next('')` lets the caller in.
        next(bug instanceof Error ? bug : new Error('The guard failed', { cause: bug }));
      }
    }
    return Object.assign(check, guard.mark) as typeof check;
  };
}
