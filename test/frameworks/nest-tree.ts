/** Modules of Nest with guards in each place that Nest has for them. */
import 'reflect-metadata';
import type { CanActivate, INestApplication } from '@nestjs/common';
import { All, Controller, Get, Module, Post, UseGuards } from '@nestjs/common';
import { APP_GUARD, NestFactory, RouterModule } from '@nestjs/core';
import { ExpressAdapter } from '@nestjs/platform-express';

export async function createTree(
  guard: (name: string) => CanActivate,
  isGlobal: boolean,
): Promise<INestApplication> {
  class Base {
    @Get('inherited')
    inherited() {
      return 'done';
    }
  }

  @Controller('a')
  @UseGuards(guard('ofController'))
  class Guarded extends Base {
    @Get()
    list() {
      return 'done';
    }

    @Post([':id', 'by/:name'])
    @UseGuards(guard('ofHandler'))
    read() {
      return 'done';
    }
  }

  @Controller(['b', '/c/'])
  class Open {
    @Get('x')
    read() {
      return 'done';
    }

    @All()
    all() {
      return 'done';
    }
  }

  @Module({ controllers: [Guarded] })
  class Inner {}

  @Module({
    imports: [Inner, RouterModule.register([{ path: 'in', module: Inner }])],
    controllers: [Open],
    providers: isGlobal ? [{ provide: APP_GUARD, useValue: guard('ofApp') }] : [],
  })
  class App {}

  const app = await NestFactory.create(App, new ExpressAdapter(), { logger: false });
  return app.setGlobalPrefix('v1');
}
