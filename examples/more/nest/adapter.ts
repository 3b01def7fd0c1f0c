/** keyscope for Nest 12. Copy this file and adapt it. It decides nothing; `defineGuard` does. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { CanActivate, ExecutionContext } from '@nestjs/common';
import type { Admission, GuardOptions, GuardReaders } from 'keyscope';
import { defineGuard } from 'keyscope';

/**
 * `@Req() request: Guarded`. Use no entity other than `entityId`, which is checked. On a route
 * without a guard, both fields are undefined, whatever the types say.
 */
export interface Guarded extends Admission {
  readonly url: string;
}

/** Returns Node's request or response. Fastify has its own, and Node's in `raw`. */
const rawOf = <T>(framework: T & { readonly raw?: T }): T => framework.raw ?? framework;

/** Use it on the handlers of routes: `@UseGuards(guard('listProjects'))`. */
export function createGuard<Op extends string>(options: GuardOptions<Op>) {
  const define = defineGuard(options);
  return (operation: Op, readers?: GuardReaders<IncomingMessage>) => {
    const guard = define(operation, readers);
    const canActivate = async (context: ExecutionContext): Promise<boolean> => {
      if (context.getType() !== 'http') throw new TypeError('guard: use it on HTTP routes only');
      const request = context.switchToHttp().getRequest<IncomingMessage>();
      const res = rawOf(context.switchToHttp().getResponse<ServerResponse>());
      res.setHeader('Cache-Control', 'no-store'); // A handler may set another value.
      try {
        const req = rawOf(request); // `request.headers` hides a second Authorization line.
        Object.assign(request, await guard.admit(req, req));
        return true;
      } catch (error) {
        const { status, headers, body } = guard.answer(error);
        res.writeHead(status, headers).end(body);
        return false; // Nest then throws a ForbiddenException, and does not send it.
      }
    };
    return { canActivate, ...guard.mark } satisfies CanActivate;
  };
}
