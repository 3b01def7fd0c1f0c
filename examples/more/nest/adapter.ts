/** keyscope for Nest 12. Copy this file and adapt it. It decides nothing: `defineGuard` does. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { CanActivate, ExecutionContext } from '@nestjs/common';
import type { Admission, GuardOptions, GuardReaders } from 'keyscope';
import { defineGuard } from 'keyscope';

/**
 * `@Req() request: Guarded`: `principal`, and `entityUuid`, which was checked: handlers use no
 * other. On a route without a guard both are undefined, whatever the types say.
 */
export interface Guarded extends Admission {
  readonly url: string;
}

/** Node's own is in `raw` where the framework has one of its own, as Fastify has. */
const rawOf = <T>(framework: T & { readonly raw?: T }): T => framework.raw ?? framework;

/** `@UseGuards(guard('listThreats'))`, on the handlers of routes. */
export function createGuard<Op extends string>(options: GuardOptions<Op>) {
  const define = defineGuard(options);
  return (operation: Op, readers?: GuardReaders<IncomingMessage>) => {
    const guard = define(operation, readers);
    const canActivate = async (context: ExecutionContext): Promise<boolean> => {
      if (context.getType() !== 'http') throw new TypeError('guard: for HTTP routes alone');
      const request = context.switchToHttp().getRequest<IncomingMessage>();
      const res = rawOf(context.switchToHttp().getResponse<ServerResponse>());
      res.setHeader('Cache-Control', 'no-store'); // Unless the handler sets another.
      try {
        const req = rawOf(request); // Not its `headers`, which hide a second Authorization line.
        Object.assign(request, await guard.admit(req, req));
        return true;
      } catch (error) {
        const { status, headers, body } = guard.answer(error);
        res.writeHead(status, headers).end(body);
        return false; // Of the ForbiddenException that follows Nest sends nothing more.
      }
    };
    return { canActivate, ...guard.mark } satisfies CanActivate;
  };
}
