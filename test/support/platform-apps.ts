/** The apps that the example servers create and do not export. */
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import express from 'express';
import type { FastifyInstance } from 'fastify';
import { recordRoutes } from 'keyscope/lock';
import { vi } from 'vitest';
import { createServer as createExpress } from '../../examples/express/server.ts';
import { createServer as createFastify } from '../../examples/fastify/server.ts';
import { createApp as createHono } from '../../examples/hono/server.ts';
import type { Service } from '../../examples/platform/host/http.ts';

/** The app that the example creates and does not export. */
function createExpressApp(service: Service): unknown {
  const init = vi.spyOn(express.application as unknown as { init(): void }, 'init');
  createExpress(service);
  const [app] = init.mock.contexts;
  init.mockRestore();
  return app;
}

async function createFastifyApp(service: Service): Promise<unknown> {
  const apps: FastifyInstance[] = [];
  const record = (message: unknown) => {
    const { fastify: app } = message as { readonly fastify: FastifyInstance };
    recordRoutes(app);
    apps.push(app);
  };
  subscribe('fastify.initialization', record);
  await createFastify(service);
  unsubscribe('fastify.initialization', record);
  return apps[0];
}

/** By framework. */
export const APPS: Readonly<Record<string, (service: Service) => unknown>> = {
  Express: createExpressApp,
  Fastify: createFastifyApp,
  Hono: createHono,
};
