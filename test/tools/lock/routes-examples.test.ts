/** `routesOf` on the reference service: every framework has the routes of the same table. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createApp as createHono } from '../../../examples/hono/server.ts';
import { policy } from '../../../examples/platform/service/policy.ts';
import { routes } from '../../../examples/platform/service/routes.ts';
import { routesOf } from '../../../src/tools/lock/index.js';
import { createPlatform, type Platform } from '../../examples/http-harness.ts';
import { APPS } from '../../support/platform-apps.ts';

const PUBLIC_URL = 'http://localhost';

let platform: Platform;
beforeAll(async () => {
  platform = await createPlatform();
});
afterAll(() => platform.db.close());

const table = routes.map(({ method, path, operation }) => {
  return { method, path, operations: [operation] };
});

test.each(Object.entries(APPS))('lists every route of %s with its guard', async (_, make) => {
  const listed = routesOf(await make({ ...platform, publicUrl: PUBLIC_URL }));
  expect(listed).toEqual(routesOf(table));
  const operations = listed.flatMap((route) => route.operations);
  expect([...operations].sort()).toEqual([...policy.operations].sort());
});

test('lists a route without a guard', () => {
  const app = createHono({ ...platform, publicUrl: PUBLIC_URL });
  app.get('/threats/:id/notes', (c) => c.text('done'));
  const unguarded = routesOf(app).filter(({ operations }) => operations.length === 0);
  expect(unguarded).toEqual([{ method: 'GET', path: '/threats/:id/notes', operations: [] }]);
});
