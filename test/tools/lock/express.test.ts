/** Routes of real Express apps and routers. */
import express from 'express';
import { expect, test } from 'vitest';
import { createGuard } from '../../../examples/express/adapter.ts';
import { routesOf } from '../../../src/tools/lock/index.js';
import { guarding } from '../../support/guarded.ts';
import { linesOf } from '../../support/route-lines.ts';

const guard = createGuard(guarding);
const answer: express.RequestHandler = (_req, res) => res.send('done');
const pass: express.RequestHandler = (_req, _res, next) => next();

test('lists each method of a route with the guards in front of its handler', () => {
  const app = express();
  app.get('/a', guard('one'), answer);
  app.post('/a', guard('two'), pass, answer);
  const both: express.RequestHandler[] = [guard('one'), guard('two')];
  app.put('/a', pass, both, answer);
  app.delete('/a', answer);
  expect(linesOf(app)).toEqual(['DELETE /a:', 'GET /a: one', 'POST /a: two', 'PUT /a: one two']);
});

test('lists what route() and all() declare', () => {
  const app = express();
  app.route('/a').all(guard('one')).get(answer).post(guard('two'), answer);
  app.all('/b', guard('one'), answer);
  app.all('/c', answer);
  app.get('/d', answer).head('/d', guard('one'), answer);
  app.get('/e', answer).head('/e', answer);
  expect(linesOf(app)).toEqual([
    'GET /a: one',
    'POST /a: one two',
    'ALL /b: one',
    'ALL /c:',
    'GET /d:',
    'HEAD /d: one',
    'GET /e:',
  ]);
});

test('lists lists of paths and expressions', () => {
  const app = express();
  app.get(['/a', '/b/:id'], guard('one'), answer);
  app.get(/^\/c/, answer);
  const router = express.Router().get(/d$/, answer).get('/', answer);
  app.use(['/m', '/n'], router);
  expect(linesOf(app)).toEqual([
    'GET /^\\/c/:',
    'GET /a: one',
    'GET /b/:id: one',
    'GET /m:',
    'GET /m/d$/:',
    'GET /n:',
    'GET /n/d$/:',
  ]);
});

test('counts guards of routers and prefixes for what is behind them alone', () => {
  const app = express();
  app.get('/v1/before', answer);
  app.use('/v1', guard('one'));
  const inner = express.Router().get('/c', guard('three'), answer);
  const router = express.Router().get('/a', answer).use(guard('two')).get('/b', answer);
  app.use('/v1', router.use('/in', inner));
  app.use('/V1/', express.Router().get('/d', answer));
  app.get('/v2', answer);
  app.get('/:any', answer);
  expect(linesOf(app)).toEqual([
    'GET /:any:',
    'GET /V1/d: one',
    'GET /v1/a: one',
    'GET /v1/b: one two',
    'GET /v1/before:',
    'GET /v1/in/c: one two three',
    'GET /v2:',
  ]);
});

test('counts guards of routes in front only where each request meets them', () => {
  const app = express();
  app.all('/a/*rest', guard('one'));
  app.get('/a', answer).get('/a/b', answer).use('/a/c', express.Router().get('/', answer));
  app.all('/t/{*tail}', guard('one')).get('/t/x', answer).get('/t', answer);
  app.get('/b', guard('one'), pass).get('/b', answer).post('/b', answer);
  app.get('/c', pass, guard('one')).get('/c', answer);
  app.all('/', guard('one')).get('/', answer).use('/z', express.Router().get('/', answer));
  app.route('/d').get(guard('one')).head(pass);
  app.get('/d', answer);
  expect(linesOf(app)).toEqual([
    'GET /: one',
    'GET /a:',
    'GET /a/b: one',
    'GET /a/c: one',
    'GET /b: one',
    'POST /b:',
    'GET /c:',
    'GET /d:',
    'GET /t:',
    'GET /t/x: one',
    'GET /z:',
  ]);
});

test('tells capitals and slashes at the end apart where the routers do', () => {
  const app = express();
  app.enable('case sensitive routing').enable('strict routing');
  app.use('/a', guard('one'));
  app.use('/A', express.Router().get('/x', answer));
  app.all('/b', guard('one')).get('/b/', answer).get('/b', answer);
  app.use('/c/d', guard('one'));
  app.use('/c', express.Router().get('/d', answer));
  app.use('/e', express.Router().get('/f', answer));
  app
    .all('/g/h', guard('one'))
    .use('/g', express.Router({ caseSensitive: true }).get('/h', answer));
  expect(linesOf(app)).toEqual([
    'GET /A/x:',
    'GET /b: one',
    'GET /b/:',
    // A router by itself takes /c/D, too.
    'GET /c/d:',
    'GET /e/f:',
    // And /g/h/.
    'GET /g/h:',
  ]);
});

test('does not take a function for a guard, or an answer for middleware', () => {
  const app = express();
  const onError: express.ErrorRequestHandler = (_error, _req, res, _next) => res.end();
  app.get('/a', answer, guard('one'), answer);
  app.get('/b', guard('one'), onError);
  app.get('/c', (...args) => guard('one')(...args), answer);
  app.use(answer, onError);
  app.use('/d', pass, answer);
  expect(linesOf(app)).toEqual(['GET /a:', 'GET /c:']);
});

test('lists the routes of mounted apps', () => {
  const inner = express().get('/a', guard('two'), answer).get('/b', answer);
  const app = express().use('/x', guard('one')).use('/x', inner).use(['/y', '/z'], inner);
  expect(linesOf(app)).toEqual([
    'GET /x/a: one two',
    'GET /x/b: one',
    'GET /y/a: two',
    'GET /y/b:',
    'GET /z/a: two',
    'GET /z/b:',
  ]);
  const mounted = Object.defineProperty((() => {}) as express.RequestHandler, 'name', {
    value: 'mounted_app',
  });
  expect(() => routesOf(express().use(mounted))).toThrow('a mounted app hides its routes');
});

test('refuses routers in a circle, and other versions', () => {
  const router = express.Router();
  router.use('/again', express.Router().use(router));
  expect(() => routesOf(router)).toThrow('a router is mounted within itself');

  let doubled = express.Router();
  for (let depth = 0; depth < 40; depth += 1) {
    doubled = express.Router().use(doubled).use('/a', doubled);
  }
  expect(() => routesOf(doubled)).toThrow('more than 100000 routes or routers');

  const old = express.Router().use('/a', express.Router().get('/b', answer));
  const hide = (each: object) => Reflect.deleteProperty(each, 'rawPath');
  for (const layer of old.stack) hide(layer);
  expect(() => routesOf(old)).toThrow('install 2.3 or later, or pass a table');
  const plain = express.Router().use(express.Router().get('/b', answer)).get('/c', answer);
  for (const layer of plain.stack) hide(layer);
  expect(linesOf(plain)).toEqual(['GET /b:', 'GET /c:']);

  const express4 = Object.assign(express(), { lazyrouter() {} });
  expect(() => routesOf(express4)).toThrow('of Express it takes version 5');
});
