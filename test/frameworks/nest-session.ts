/** A Nest service in which a session or a key opens a route, with Nest's own filter or another. */
import 'reflect-metadata';
import type { IncomingMessage } from 'node:http';
import type { ArgumentsHost, CanActivate, ExceptionFilter, ExecutionContext } from '@nestjs/common';
import {
  All,
  Catch,
  Controller,
  Get,
  HttpException,
  Injectable,
  Module,
  Post,
  Req,
  UnauthorizedException,
  UseGuards,
  Version,
} from '@nestjs/common';
import { APP_FILTER, NestFactory } from '@nestjs/core';
import { ExpressAdapter } from '@nestjs/platform-express';
import { FastifyAdapter } from '@nestjs/platform-fastify';
import { keyring } from './.project/keys.ts';
import { createGuard, type Guarded } from './.project/nest/adapter.ts';
import { tableOf } from './.project/nest/routes.ts';
import { withSession } from './.project/nest/with-session.ts';

export { keyring, tableOf };

/** The organization of the only session. */
export const OF_SESSION = 'org_of_the_session';

@Injectable()
class SessionGuard implements CanActivate {
  canActivate(context: ExecutionContext): boolean {
    const request = context.switchToHttp().getRequest<IncomingMessage>();
    if (request.headers.cookie === 'sid=public') return true;
    if (request.headers.cookie !== 'sid=good') throw new UnauthorizedException('Sign in.');
    Object.assign(request, { entityId: OF_SESSION });
    return true;
  }
}

const guard = createGuard({ keyring });
const either = withSession(guard, SessionGuard);

@Controller('projects')
class Projects {
  @Get()
  @UseGuards(either('listProjects'))
  list(@Req() { entityId }: Guarded) {
    return { entityId };
  }

  @Post(['', 'import'])
  @UseGuards(guard('listProjects'))
  add() {
    return {};
  }

  @All('bare')
  bare() {
    return {};
  }

  @Get('late')
  @UseGuards(SessionGuard, guard('listProjects'))
  late() {
    return {};
  }

  notARoute() {
    return {};
  }
}

@Controller(['a', 'b'])
@UseGuards(guard('listProjects'))
class Covered {
  @Get(':id')
  read() {
    return {};
  }
}

/** Has the routes of its base class. */
@Controller('inherited')
class Inherited extends Covered {}

@Module({ controllers: [Projects, Covered, Inherited], providers: [SessionGuard] })
class App {}

@Controller('projects')
class Twice {
  @Get()
  list() {
    return {};
  }
}

@Module({ imports: [App], controllers: [Twice] })
class AppWithTwo {}

@Controller()
class Versioned {
  @Version('2')
  @Get('projects')
  list() {
    return {};
  }
}

@Module({ controllers: [Versioned] })
class AppWithVersions {}

/** Answers everything that it does not know with 500, as many services do. */
class CatchAll implements ExceptionFilter {
  readonly seen: unknown[] = [];
  catch(error: unknown, host: ArgumentsHost): void {
    this.seen.push(error);
    const reply = host.switchToHttp().getResponse<Reply>();
    const isKnown = error instanceof HttpException;
    const body = isKnown ? error.getResponse() : { message: 'Internal server error' };
    reply.status(isKnown ? error.getStatus() : 500).send(body);
  }
}
Catch()(CatchAll);

interface Reply {
  status(code: number): { send(body: unknown): unknown };
}

const catchAll = new CatchAll();

@Module({ imports: [App], providers: [{ provide: APP_FILTER, useValue: catchAll }] })
class AppWithFilter {}

const ADAPTERS = { express: () => new ExpressAdapter(), fastify: () => new FastifyAdapter() };
const MODULES = { own: App, all: AppWithFilter, twice: AppWithTwo, versions: AppWithVersions };

/** With Nest's own filter, with a filter for everything, or with a route that has no single row. */
export async function createApp(
  platform: keyof typeof ADAPTERS,
  module: keyof typeof MODULES = 'own',
) {
  const app = await NestFactory.create(MODULES[module], ADAPTERS[platform](), { logger: false });
  catchAll.seen.length = 0;
  return { app, seen: catchAll.seen };
}
