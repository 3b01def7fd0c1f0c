/** keyscope for Nest 11 and 12. Copy and adapt this file. `defineGuard` decides, not it. */
import type { IncomingMessage } from 'node:http';
import { type CanActivate, type ExecutionContext, HttpException } from '@nestjs/common';
import type { Admission, GuardOptions, RouteGuardOptions } from 'keyscope';
import { defineGuard } from 'keyscope';

/**
 * `@Req() request: Guarded`. Use no entity other than `entityId`, which is checked. On a route
 * without a guard, both fields are undefined, whatever the types say.
 */
export interface Guarded extends Admission {
  readonly url: string;
}

/** Fastify has its own request, and Node's in `raw`. */
type Request = IncomingMessage & { readonly raw?: IncomingMessage };

/** The part of a response that Express and Fastify share. */
interface Reply {
  header(name: string, value: string): unknown;
}

/** Use it on the handlers of routes: `@UseGuards(guard('listProjects'))`. */
export function createGuard<Op extends string>(options: GuardOptions<Op>) {
  const define = defineGuard(options);
  return (operation: Op, route?: RouteGuardOptions<IncomingMessage>) => {
    const guard = define(operation, route);
    const canActivate = async (context: ExecutionContext): Promise<boolean> => {
      if (context.getType() !== 'http') throw new TypeError('guard: use it on HTTP routes only');
      const request = context.switchToHttp().getRequest<Request>();
      const reply = context.switchToHttp().getResponse<Reply>();
      reply.header('Cache-Control', 'no-store'); // A handler may set another value.
      try {
        const req = request.raw ?? request; // `request.headers` hides a second Authorization line.
        Object.assign(request, await guard.admit(req, req));
        return true;
      } catch (error) {
        const { status, headers, body } = guard.answer(error);
        // An exception has no headers. These stay on the response when a filter answers.
        for (const [name, value] of Object.entries(headers)) reply.header(name, value);
        const problem = JSON.parse(body) as { readonly detail: string };
        const exception = new HttpException(problem, status, { cause: error });
        exception.message = problem.detail; // For filters that send it, and for logs.
        throw exception;
      }
    };
    return { canActivate, ...guard.mark } satisfies CanActivate;
  };
}
