/** Each adapter hands `also` to the lock, with the mark of its guard. */
import express from 'express';
import { fastify } from 'fastify';
import { Hono } from 'hono';
import { expect, test } from 'vitest';
import { createGuard as createCustomGuard } from '../../../examples/custom-adapter/adapter.ts';
import { createGuard as createExpressGuard } from '../../../examples/express/adapter.ts';
import { createGuard as createFastifyGuard } from '../../../examples/fastify/adapter.ts';
import { createGuard as createHonoGuard, type Guarded } from '../../../examples/hono/adapter.ts';
import { createGuard as createFetchGuard } from '../../../examples/more/fetch/adapter.ts';
import { recordRoutes, routesOf } from '../../../src/tools/lock/index.js';
import { guarding } from '../../support/guarded.ts';

const also = 'people with a session';
const OPEN = { operations: ['one'], also: [also] };
const CLOSED = { operations: ['one'] };

test('on Express', () => {
  const guard = createExpressGuard(guarding);
  const app = express();
  app.get('/a', guard('one', { also }), (_req, res) => void res.end());
  app.get('/b', guard('one'), (_req, res) => void res.end());
  app.all('/c', guard('one', { also }), (_req, res) => void res.end());
  const both = app.route('/d').all(guard('one'));
  both.get(guard('one', { also }), (_req, res) => void res.end());
  const [first, second, third, ...others] = routesOf(app);
  expect(first).toEqual({ method: 'GET', path: '/a', ...OPEN });
  expect(second).toEqual({ method: 'GET', path: '/b', ...CLOSED });
  expect(third).toEqual({ method: 'ALL', path: '/c', ...OPEN });
  // One method differs only in who else may call it, so each has its own row.
  expect(others).toContainEqual({ method: 'GET', path: '/d', ...OPEN });
  expect(others).toContainEqual({ method: 'ALL', path: '/d', ...CLOSED });
});

test('on Fastify, also where only the HEAD of a GET differs', async () => {
  const guard = createFastifyGuard(guarding);
  const app = fastify();
  recordRoutes(app);
  const handler = async () => 'done';
  app.get('/a', { onRequest: guard('one', { also }) }, handler);
  app.get('/b', { onRequest: guard('one') }, handler);
  app.head('/c', { onRequest: guard('one', { also }) }, handler);
  app.get('/c', { onRequest: guard('one'), exposeHeadRoute: false }, handler);
  await app.ready();
  expect(routesOf(app)).toEqual([
    { method: 'GET', path: '/a', ...OPEN },
    { method: 'GET', path: '/b', ...CLOSED },
    { method: 'GET', path: '/c', ...CLOSED },
    { method: 'HEAD', path: '/c', ...OPEN },
  ]);
});

test('on Hono', () => {
  const guard = createHonoGuard(guarding);
  const app = new Hono<Guarded>();
  app.get('/a', guard('one', { also }), (c) => c.text('done'));
  app.get('/b', guard('one'), (c) => c.text('done'));
  expect(routesOf(app)).toEqual([
    { method: 'GET', path: '/a', ...OPEN },
    { method: 'GET', path: '/b', ...CLOSED },
  ]);
});

test('in a table of guarded handlers', () => {
  const answer = () => new Response();
  const table = {
    'GET /a': createFetchGuard(guarding)('one', { also })(answer),
    'GET /b': createCustomGuard(guarding)('one', { also })(answer),
  };
  expect(routesOf(table)).toEqual([
    { method: 'GET', path: '/a', ...OPEN },
    { method: 'GET', path: '/b', ...OPEN },
  ]);
});
