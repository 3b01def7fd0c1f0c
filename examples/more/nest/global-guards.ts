/** Routes that take keys in an app with global guards. Copy and adapt this file. */
import 'reflect-metadata';
import type { CanActivate, ExecutionContext, Type } from '@nestjs/common';
import { applyDecorators, Inject, mixin, SetMetadata, UseGuards } from '@nestjs/common';
import type { Guarded } from './adapter.ts';

const TAKES_KEYS = 'keyscope:takes-keys';

/**
 * For `APP_GUARD`: your guard, except on routes of `keyOrSession`. Global guards run before those
 * of a route, and know no key.
 */
export function exceptWithKeys(guard: Type<CanActivate>): Type<CanActivate> {
  class Global implements CanActivate {
    @Inject(guard) readonly guard!: CanActivate;
    canActivate(context: ExecutionContext) {
      const isMarked = Reflect.getMetadata(TAKES_KEYS, context.getHandler()) === true;
      return isMarked || this.guard.canActivate(context);
    }
  }
  return mixin(Global);
}

/**
 * `const KeyOrSession = keyOrSession(either, RolesGuard)`, then `@KeyOrSession('listInvoices')` on
 * a handler. `roles` is your check of a person's role: keys have scopes instead.
 */
export function keyOrSession<Op extends string>(
  either: (operation: Op) => Type<CanActivate>,
  roles: Type<CanActivate>,
) {
  class OfPersons implements CanActivate {
    @Inject(roles) readonly roles!: CanActivate;
    canActivate(context: ExecutionContext) {
      // Only the guard sets it. The header would prove nothing: a person can send any.
      const { principal } = context.switchToHttp().getRequest<Partial<Guarded>>();
      return principal !== undefined || this.roles.canActivate(context);
    }
  }
  const ofPersons = mixin(OfPersons);
  return (operation: Op): MethodDecorator =>
    applyDecorators(SetMetadata(TAKES_KEYS, true), UseGuards(either(operation), ofPersons));
}
