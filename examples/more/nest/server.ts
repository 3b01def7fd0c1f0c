import 'reflect-metadata';
import type { IncomingMessage } from 'node:http';
import { Controller, Get, Module, Req, UseGuards } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { keyring } from '../keys.ts';
import type { Guarded } from './adapter.ts';
import { createGuard } from './adapter.ts';

const guard = createGuard({ keyring });
// Not Express' own query, which stops at 1,000 parameters.
const entity = ({ url = '' }: IncomingMessage) =>
  new URLSearchParams(url.match(/\?(.*)/)?.[1]).getAll('entity_uuid');

@Controller()
class Projects {
  @Get('projects')
  @UseGuards(guard('listProjects', { entity }))
  list(@Req() request: Guarded) {
    return { projects: [], entity: request.entityId };
  }
}

@Module({ controllers: [Projects] })
class App {}

export const createApp = () => NestFactory.create(App);
if (import.meta.main) await (await createApp()).listen(3000);
