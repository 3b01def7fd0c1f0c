/** The contract's routes on Nest, on Express and on Fastify. */
import 'reflect-metadata';
import type { ServerResponse } from 'node:http';
import type { ArgumentsHost, INestApplication } from '@nestjs/common';
import { Controller, Get, HttpException, Module, Req, Res, UseGuards } from '@nestjs/common';
import { BaseExceptionFilter, NestFactory } from '@nestjs/core';
import { ExpressAdapter } from '@nestjs/platform-express';
import { FastifyAdapter } from '@nestjs/platform-fastify';
import type { Guarded } from './.project/nest/adapter.ts';
import { createGuard } from './.project/nest/adapter.ts';
import { entitiesOf, type Serve, type Setup, type Spy } from './served.ts';

export { createGuard };

const ADAPTERS = { express: () => new ExpressAdapter(), fastify: () => new FastifyAdapter() };

interface Bytes extends ServerResponse {
  status(code: number): { send(bytes: Buffer): unknown };
}

/** The part of a reply that Express and Fastify share. */
interface Reply {
  header(name: string, value: string): unknown;
}

function createModule({ handle, ...options }: Setup, { cache }: Spy) {
  const guard = createGuard(options);
  const answer = ({ principal, entityId }: Guarded, reply: Reply) => {
    if (cache !== undefined) reply.header('Cache-Control', cache);
    return handle(principal, entityId);
  };
  @Controller()
  class Routes {
    @Get('whoami')
    @UseGuards(guard('whoami'))
    whoami(@Req() request: Guarded, @Res({ passthrough: true }) reply: Reply) {
      return answer(request, reply);
    }

    @Get('reports')
    @UseGuards(guard('readReports', { entity: entitiesOf }))
    reports(@Req() request: Guarded, @Res({ passthrough: true }) reply: Reply) {
      return answer(request, reply);
    }
  }
  @Module({ controllers: [Routes] })
  class App {}
  return App;
}

/**
 * Catches everything, and sends the exception of a denial byte for byte: Nest's own filter would
 * add a charset to the type.
 */
function filterFor(app: INestApplication, errors: unknown[]): BaseExceptionFilter {
  class Filter extends BaseExceptionFilter {
    override catch(error: unknown, host: ArgumentsHost) {
      errors.push(error);
      if (!(error instanceof HttpException)) return super.catch(error, host);
      const reply = host.switchToHttp().getResponse<Bytes>();
      reply.status(error.getStatus()).send(Buffer.from(JSON.stringify(error.getResponse())));
    }
  }
  return new Filter(app.getHttpAdapter());
}

export function serveOn(platform: keyof typeof ADAPTERS): Serve {
  return async (setup, spy) => {
    const module = createModule(setup, spy);
    const app = await NestFactory.create(module, ADAPTERS[platform](), { logger: false });
    app.useGlobalFilters(filterFor(app, spy.errors));
    await app.listen(0, '127.0.0.1');
    return { url: await app.getUrl(), close: () => app.close() };
  };
}
