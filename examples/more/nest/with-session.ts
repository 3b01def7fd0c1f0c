/** Lets a person with a session or a program with a key call a route. Copy and adapt this file. */
import type { IncomingMessage } from 'node:http';
import type { CanActivate, ExecutionContext, Type } from '@nestjs/common';
import { Inject, mixin } from '@nestjs/common';
import type { GuardReaders } from 'keyscope';

/** `session` is your own guard, a provider of the module. It must set `entityId` on the request. */
export function withSession<Op extends string>(
  guard: (operation: Op, readers: GuardReaders<IncomingMessage>) => CanActivate,
  session: Type<CanActivate>,
) {
  return (operation: Op, readers: GuardReaders<IncomingMessage> = {}) => {
    const key = guard(operation, { ...readers, also: 'people with a session' });
    class Either implements CanActivate {
      @Inject(session) readonly session!: CanActivate;
      canActivate(context: ExecutionContext) {
        const { headers } = context.switchToHttp().getRequest<IncomingMessage>();
        // With the header, the key alone decides: a wrong key is refused despite a session.
        return (headers.authorization === undefined ? this.session : key).canActivate(context);
      }
    }
    const { canActivate: _, ...mark } = key;
    return mixin(Object.assign(Either, mark));
  };
}
