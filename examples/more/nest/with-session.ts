/** Lets a person with a session or a program with a key call a route. Copy and adapt this file. */
import type { IncomingMessage } from 'node:http';
import type { CanActivate, ExecutionContext, Type } from '@nestjs/common';
import { Inject, mixin } from '@nestjs/common';
import type { RouteGuardOptions } from 'keyscope';

type Request = IncomingMessage & { readonly entityId?: unknown };

/** `session` is your own guard, a provider of the module. If it lets in, it sets `entityId`. */
export function withSession<Op extends string>(
  guard: (operation: Op, route: RouteGuardOptions<IncomingMessage>) => CanActivate,
  session: Type<CanActivate>,
  people = 'people with a session', // Whom it lets in, for the lock.
) {
  return (operation: Op, route: RouteGuardOptions<IncomingMessage> = {}) => {
    const key = guard(operation, { also: people, ...route });
    class Either implements CanActivate {
      @Inject(session) readonly session!: CanActivate;
      async canActivate(context: ExecutionContext) {
        const request = context.switchToHttp().getRequest<Request>();
        // With the header, the key alone decides: a wrong key is refused despite a session.
        const hasKey = request.headers.authorization !== undefined;
        if (hasKey) return (await key.canActivate(context)) === true;
        const answer = await this.session.canActivate(context);
        if (answer === false) return false;
        // A guard that passes public routes would let everyone in here.
        const isIn = answer === true && typeof request.entityId === 'string';
        if (!isIn) throw new TypeError('withSession: the session did not set entityId');
        return true;
      }
    }
    const { canActivate: _, ...mark } = key;
    return mixin(Object.assign(Either, mark));
  };
}
