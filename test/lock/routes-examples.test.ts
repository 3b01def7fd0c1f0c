/** The reference service on each framework: what is listed is the table that it was made from. */
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import express from 'express';
import type { FastifyInstance } from 'fastify';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { createServer as createExpress } from '../../examples/express/server.ts';
import { createServer as createFastify } from '../../examples/fastify/server.ts';
import { createApp as createHono } from '../../examples/hono/server.ts';
import { policy } from '../../examples/platform/service/policy.ts';
import { routes } from '../../examples/platform/service/routes.ts';
import { recordRoutes, routesOf } from '../../src/lock/index.js';
import { createPlatform, type Platform } from '../http/harness.ts';

const PUBLIC_URL = 'http://localhost';

let platform: Platform;
beforeAll(async () => {
  platform = await createPlatform();
});
afterAll(() => platform.db.close());

const table = routes.map(({ method, path, operation }) => {
  return { method, path, operations: [operation] };
});

/** The app that the example makes, which it keeps to itself. */
function createExpressApp(): unknown {
  const init = vi.spyOn(express.application as unknown as { init(): void }, 'init');
  createExpress({ ...platform, publicUrl: PUBLIC_URL });
  const [app] = init.mock.contexts;
  init.mockRestore();
  return app;
}

async function createFastifyApp(): Promise<unknown> {
  const apps: FastifyInstance[] = [];
  const record = (message: unknown) => {
    const { fastify: app } = message as { readonly fastify: FastifyInstance };
    recordRoutes(app);
    apps.push(app);
  };
  subscribe('fastify.initialization', record);
  await createFastify({ ...platform, publicUrl: PUBLIC_URL });
  unsubscribe('fastify.initialization', record);
  return apps[0];
}

const APPS = {
  Express: createExpressApp,
  Fastify: createFastifyApp,
  Hono: () => createHono({ ...platform, publicUrl: PUBLIC_URL }),
};

test.each(Object.entries(APPS))('%s has the routes of the table, each guarded', async (_, make) => {
  const listed = routesOf(await make());
  expect(listed).toEqual(routesOf(table));
  const operations = listed.flatMap((route) => route.operations);
  expect([...operations].sort()).toEqual([...policy.operations].sort());
});

test('a route without a guard shows up', () => {
  const app = createHono({ ...platform, publicUrl: PUBLIC_URL });
  app.get('/threats/:id/notes', (c) => c.text('done'));
  const unguarded = routesOf(app).filter(({ operations }) => operations.length === 0);
  expect(unguarded).toEqual([{ method: 'GET', path: '/threats/:id/notes', operations: [] }]);
});
