/** A Nest service whose guards of sessions and roles are global, with routes that take keys. */
import 'reflect-metadata';
import type { IncomingMessage } from 'node:http';
import type { CanActivate, ExecutionContext } from '@nestjs/common';
import {
  Controller,
  ForbiddenException,
  Get,
  Injectable,
  Module,
  Req,
  SetMetadata,
  UnauthorizedException,
} from '@nestjs/common';
import { APP_GUARD, NestFactory } from '@nestjs/core';
import { ExpressAdapter } from '@nestjs/platform-express';
import { FastifyAdapter } from '@nestjs/platform-fastify';
import { keyring } from './.project/keys.ts';
import { createGuard, type Guarded } from './.project/nest/adapter.ts';
import { exceptWithKeys, keyOrSession } from './.project/nest/global-guards.ts';
import { withSession } from './.project/nest/with-session.ts';

export { keyring };

const Public = () => SetMetadata('public', true);
const Admins = () => SetMetadata('admins', true);
const isMarked = (mark: string, context: ExecutionContext): boolean =>
  Reflect.getMetadata(mark, context.getHandler()) === true;

/** Cookies: `role=admin`, `role=member`. */
const roleOf = (context: ExecutionContext): string | undefined => {
  const { headers } = context.switchToHttp().getRequest<IncomingMessage>();
  return /^role=(\w+)$/.exec(headers.cookie ?? '')?.[1];
};

@Injectable()
class SessionGuard implements CanActivate {
  canActivate(context: ExecutionContext): boolean {
    if (isMarked('public', context)) return true;
    if (roleOf(context) === undefined) throw new UnauthorizedException('Sign in.');
    Object.assign(context.switchToHttp().getRequest<object>(), { entityId: 'org_of_the_session' });
    return true;
  }
}

@Injectable()
class RolesGuard implements CanActivate {
  canActivate(context: ExecutionContext): boolean {
    if (isMarked('admins', context) && roleOf(context) !== 'admin') throw new ForbiddenException();
    return true;
  }
}

const either = withSession(createGuard({ keyring }), SessionGuard);
const KeyOrSession = keyOrSession(either, RolesGuard);

@Controller()
class Routes {
  @Get('projects')
  @KeyOrSession('listProjects')
  list(@Req() { entityId }: Guarded) {
    return { entityId };
  }

  @Get('archive')
  @Admins()
  @KeyOrSession('listProjects')
  archive(@Req() { entityId }: Guarded) {
    return { entityId };
  }

  @Get('forgotten')
  @Public()
  @KeyOrSession('listProjects')
  forgotten(@Req() { entityId }: Guarded) {
    return { entityId };
  }

  @Get('settings')
  @Admins()
  settings() {
    return {};
  }

  @Get('profile')
  profile() {
    return {};
  }

  @Get('healthz')
  @Public()
  health() {
    return {};
  }
}

@Module({
  controllers: [Routes],
  providers: [
    SessionGuard,
    RolesGuard,
    { provide: APP_GUARD, useClass: exceptWithKeys(SessionGuard) },
    { provide: APP_GUARD, useClass: exceptWithKeys(RolesGuard) },
  ],
})
class App {}

const ADAPTERS = { express: () => new ExpressAdapter(), fastify: () => new FastifyAdapter() };

export function createApp(platform: keyof typeof ADAPTERS) {
  return NestFactory.create(App, ADAPTERS[platform](), { logger: false });
}
