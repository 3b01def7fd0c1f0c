/** Whatever is nested in Express: what a real request meets agrees with what is listed. */
import { createServer, type RequestListener, request } from 'node:http';
import type { AddressInfo } from 'node:net';
import express from 'express';
import fc from 'fast-check';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createGuard } from '../../../examples/express/adapter.ts';
import { routesOf } from '../../../src/tools/lock/index.js';
import { guarding } from '../../support/guarded.ts';
import {
  expectAgreement,
  expectSame,
  type Node,
  type Send,
  treesOf,
} from '../../support/route-trees.ts';
import { runs } from '../../support/runs.ts';

const guard = createGuard(guarding);

const trees = treesOf({
  routes: ['/r_#', '/:p_#', '/a/r_#', '/a/:p_#', '/A/r_#/', '/*s_#', '/b/{*t_#}', '/a{/r_#}'],
  guards: ['/', '/a', '/A/', '/:p', '/a/:p', '/*r', '/b{/c}'],
  guardRoutes: ['/a', '/a/:p', '/*r', '/{*t}', '/a/*r', '/:p', '/b/{*t}'],
  branches: ['/', '/a', '/:p', '/b', '/A', '/*r', '/b/:p'],
});

type Router = express.Router;
type Options = express.RouterOptions;

function build(router: Router, nodes: readonly Node[], options: Options[], next: () => number) {
  for (const node of nodes) {
    const { path } = node;
    if (node.kind === 'guard') router.use(path, guard('one'));
    else if (node.kind === 'guard route') router.all(path, guard('two'));
    else if (node.kind === 'branch') {
      const inner = express.Router(options[next() % options.length]);
      router.use(path.replace('#', `${next()}`), build(inner, node.children, options, next));
    } else {
      const number = next();
      const own = node.own ? [guard('three')] : [];
      const answer: express.RequestHandler = (_req, res) => res.set('x-route', `${number}`).end();
      router[node.method](path.replace('#', `${number}`), ...own, answer);
    }
  }
  return router;
}

let listener: RequestListener;
const server = createServer((req, res) => listener(req, res));
beforeAll(() => new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve)));
afterAll(() => void server.close());

/** Not `fetch`, which changes the paths that it is given. */
const send: Send = (method, path) =>
  new Promise((resolve, reject) => {
    const { port } = server.address() as AddressInfo;
    const sent = request({ port, host: '127.0.0.1', method, path }, (res) => {
      const route = res.headers['x-route'];
      res.resume().on('end', () => {
        resolve(route === undefined ? `${res.statusCode}` : `route ${String(route)}`);
      });
    });
    sent.on('error', reject).end();
  });

test('lists no guard that a request can get past', async () => {
  let guarded = 0;
  let open = 0;
  await fc.assert(
    fc.asyncProperty(trees, fc.boolean(), fc.boolean(), async (nodes, isSensitive, isStrict) => {
      const app = express();
      app.set('case sensitive routing', isSensitive).set('strict routing', isStrict);
      let count = 0;
      const all = [{}, { caseSensitive: true }, { strict: true }];
      build(app as unknown as Router, nodes, all, () => count++);
      listener = app;
      const routes = routesOf(app);
      guarded += routes.filter(({ operations }) => operations.length > 0).length;
      open += routes.filter(({ operations }) => operations.length === 0).length;
      await expectAgreement(routes, send);
    }),
    { numRuns: runs(40) },
  );
  expect(Math.min(guarded, open)).toBeGreaterThan(5);
});

const separate = treesOf({
  routes: ['/r_#', '/a/r_#', '/:p/r_#'],
  guards: ['/'],
  guardRoutes: ['/{*t}'],
  branches: ['/b_#', '/:p/b_#'],
});

test('lists a guard exactly where a request meets one', async () => {
  await fc.assert(
    fc.asyncProperty(separate, async (nodes) => {
      const app = express();
      let count = 0;
      build(app as unknown as Router, nodes, [{}], () => count++);
      listener = app;
      await expectSame(routesOf(app), send);
    }),
    { numRuns: runs(60) },
  );
});
