/** `routesOf` on real Express apps and routers. */
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import express from 'express';
import { expect, test } from 'vitest';
import { createGuard } from '../../../examples/express/adapter.ts';
import { routesOf } from '../../../src/tools/lock/index.js';
import { guarding } from '../../support/guarded.ts';
import { linesOf } from '../../support/route-lines.ts';

const guard = createGuard(guarding);
const answer: express.RequestHandler = (_req, res) => res.send('done');
const pass: express.RequestHandler = (_req, _res, next) => next();

test('lists each method of a route with the guards that come first in its list', () => {
  const app = express();
  app.get('/a', guard('one'), answer);
  app.post('/a', guard('two'), pass, answer);
  const both: express.RequestHandler[] = [guard('one'), guard('two')];
  app.put('/a', both, answer);
  app.delete('/a', answer);
  app.patch('/a', pass, guard('one'), answer);
  expect(linesOf(app)).toEqual([
    'DELETE /a:',
    'GET /a: one',
    'PATCH /a: (one)',
    'POST /a: two',
    'PUT /a: one two',
  ]);
});

test('lists routes declared with route() and all()', () => {
  const app = express();
  app.route('/a').all(guard('one')).get(answer).post(guard('two'), answer);
  app.all('/b', guard('one'), answer);
  app.all('/c', answer);
  app.get('/d', answer).head('/d', guard('one'), answer);
  app.route('/e').get(guard('one'), answer).all(answer);
  app.connect('/f', answer).trace('/f', answer).get('/f', guard('one'), answer);
  app.route('/g');
  expect(linesOf(app)).toEqual([
    'ALL /a: one',
    'GET /a: one',
    'POST /a: one two',
    'ALL /b: one',
    'ALL /c:',
    'GET /d:',
    'HEAD /d: one',
    'ALL /e:',
    'GET /e: one',
    'CONNECT /f:',
    'GET /f: one',
    'TRACE /f:',
  ]);
});

// A callback of `param` may answer, or load something, before the guard of the route.
test('does not count a guard behind a callback of param', async () => {
  const app = express();
  app.param('id', (_req, res) => void res.send('done'));
  app.get('/a/:id', guard('one'), answer);
  app.get('/a/{*id}', guard('one'), answer);
  app.get('/a/:other', guard('one'), answer);
  app.get('/id', guard('one'), answer);
  const router = express.Router();
  router.get('/c/:id', guard('one'), answer);
  app.use('/b', router);
  expect(linesOf(app)).toEqual([
    'GET /a/:id: (one)',
    'GET /a/:other: one',
    'GET /a/{*id}: (one)',
    'GET /b/c/:id: one',
    'GET /id: one',
  ]);
  app.get(/^\/d\/(.*)$/, guard('one'), answer);
  expect(linesOf(app)[0]).toBe('GET (/^\\/d\\/(.*)$/): (one)');
});

test('lists every path of an array and regular expressions', () => {
  const app = express();
  app.get(['/a', '/b/:id'], guard('one'), answer);
  app.get(/^\/c/, answer);
  const router = express.Router().get(/d$/, answer).get('/', answer);
  app.use(['/m/', '/n'], router);
  expect(linesOf(app)).toEqual([
    'GET (/^\\/c/):',
    'GET /a: one',
    'GET /b/:id: one',
    'GET /m(/d$/):',
    'GET /m/:',
    'GET /n:',
    'GET /n(/d$/):',
  ]);
});

// Regression: a guard threw, an error handler let the request continue, and the lock still listed
// the route as guarded.
test('does not count a guard on a route with an error handler', async () => {
  const app = express();
  const entity = (): string => {
    throw new Error('as a bug of a reader');
  };
  const goOn: express.ErrorRequestHandler = (_error, _req, _res, next) => next();
  app.get('/a', guard('one', { entity }), goOn as never, answer);
  const server = app.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const answered = await fetch(`http://127.0.0.1:${port}/a`);
  server.close();
  expect(answered.status).toBe(200);
  expect(linesOf(app)).toEqual(['GET /a: (one)']);
});

// Regression: `/^a$/` and `'/^a$/'` shared a row and a reason.
test('distinguishes a regular expression from a path that looks like it', () => {
  const app = express().get(/^a$/, answer).get('/^a$/', answer);
  expect(linesOf(app)).toEqual(['GET (/^a$/):', 'GET /^a$/:']);
});

test('counts the handlers that share a row without a guard', () => {
  const app = express().get('/a', pass, answer).get('/b', answer).get('/b', guard('one'), answer);
  const counts = routesOf(app).map(({ path, handlers }) => [path, handlers]);
  expect(counts).toEqual([
    ['/a', undefined],
    ['/b', 2],
  ]);
});

test('rejects a router whose handle() was replaced', () => {
  const router = express.Router().get('/a', guard('one'), answer);
  Object.assign(router, { handle: answer });
  expect(() => routesOf(router)).toThrow('a router has a replaced handle()');
});

test('does not count guards of a router, prefix or other route, but lists them as hints', () => {
  const app = express();
  app.get('/v1/before', answer);
  app.use('/v1', guard('one'));
  const inner = express.Router().get('/c', guard('three'), answer);
  const router = express.Router().get('/a', answer).use(guard('two')).get('/b', answer);
  app.use('/v1', router.use('/in', inner));
  app.all('/x', guard('two')).get('/x', answer).get('/x/y', answer);
  app.use(['/', '/health'], guard('three')).get('/health/z', answer);
  expect(linesOf(app)).toEqual([
    'GET /health/z: (three)',
    'GET /v1/a: (one)',
    'GET /v1/b: (one two)',
    'GET /v1/before:',
    'GET /v1/in/c: three',
    'ALL /x: two',
    'GET /x: (two)',
    'GET /x/y:',
  ]);
});

test('counts a guard only if all routes with the same method and path have it', () => {
  const app = express();
  app.get('/a', guard('one'), answer).get('/a', answer);
  app.get('/b', guard('one'), guard('two'), answer).get('/b', guard('two'), answer);
  app.get('/c', guard('two'), answer).get('/c', guard('one'), answer);
  app.get('/d', guard('one'), answer).get('/D', answer).get('/d/', answer);
  expect(linesOf(app)).toEqual([
    'GET /D:',
    'GET /a: (one)',
    'GET /b: two',
    'GET /c: (one two)',
    'GET /d: one',
    'GET /d/:',
  ]);
});

test('does not count wrapped guards, Proxies or guards in error handlers', () => {
  const app = express();
  const onError: express.ErrorRequestHandler = (_error, _req, res, _next) => res.end();
  const four = (_a: unknown, _b: unknown, _c: unknown, next: express.NextFunction) => next();
  app.get('/a', answer, guard('one'), answer);
  app.get('/b', onError, guard('one'), onError, answer);
  app.get('/c', (...args) => guard('one')(...args), answer);
  const marked = Object.assign(four, { [Symbol.for('keyscope.operation')]: 'one' });
  app.get('/d', marked as never, answer);
  app.get('/e', new Proxy(guard('one'), {}), answer);
  app.use(answer, onError);
  app.use('/f', pass, answer);
  expect(linesOf(app)).toEqual(['GET /a: (one)', 'GET /b: (one)', 'GET /c:', 'GET /d:', 'GET /e:']);
});

test('rejects apps that are mounted in an app or a router', () => {
  const inner = express().get('/a', answer);
  const words = 'an app is mounted in another app. Mount a Router instead';
  expect(() => routesOf(express().use('/x', inner))).toThrow(words);
  expect(() => routesOf(express.Router().use('/x', inner))).toThrow(words);
  expect(() => routesOf(express().use(new Proxy(inner, {}) as never))).toThrow(words);
  const connect = Object.assign((() => {}) as express.RequestHandler, { handle() {} });
  expect(() => routesOf(express.Router().use(connect))).toThrow(words);
});

test('rejects a Proxy', () => {
  const words = 'a router is behind a Proxy';
  expect(() => routesOf(new Proxy(express(), {}))).toThrow(words);
  expect(() => routesOf(express().use(new Proxy(express.Router(), {})))).toThrow(words);
});

test('rejects cyclic routers', () => {
  const router = express.Router();
  router.use('/again', express.Router().use(router));
  expect(() => routesOf(router)).toThrow('a router is mounted within itself');

  let doubled = express.Router();
  for (let depth = 0; depth < 40; depth += 1) {
    doubled = express.Router().use(doubled).use('/a', doubled);
  }
  expect(() => routesOf(doubled)).toThrow('more than 100000 routes or routers');
});

test('rejects other versions', () => {
  const words = 'Install Express 5 with the package "router" 2.3 or later, or pass a table';
  const old = express.Router().get('/b', answer);
  for (const layer of old.stack) Reflect.deleteProperty(layer, 'rawPath');
  expect(() => routesOf(old)).toThrow(words);
  expect(() => routesOf(Object.assign(express(), { lazyrouter() {} }))).toThrow(words);
  const without = Object.defineProperty(express(), 'router', { value: {} });
  expect(() => routesOf(without)).toThrow(words);
  const odd = express.Router().get('/b', answer);
  for (const layer of odd.stack) Object.assign(layer, { rawPath: { path: '/b' } });
  expect(() => routesOf(odd)).toThrow('a path is neither a string nor a RegExp');
});
