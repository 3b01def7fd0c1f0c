/** Routes in the shape that Koa 3 and @koa/router 15 have; test/frameworks has the real ones. */
import { expect, test } from 'vitest';
import { linesOf } from '../../support/route-lines.ts';

const MARK = Symbol.for('keyscope.operation');

const answer = (_ctx: unknown) => {};
const pass = (_ctx: unknown, _next: unknown) => {};
const guard = (operation: string) => Object.assign(pass.bind(null), { [MARK]: operation });

interface Layer {
  readonly path: string | RegExp;
  readonly methods?: readonly string[];
  readonly stack: readonly unknown[];
  readonly opts?: object;
}

function routerOf(layers: readonly Layer[], exclusive?: boolean): object {
  const stack = layers.map((layer) => ({ methods: [], opts: {}, ...layer }));
  const methods = { routes() {}, register() {}, allowedMethods() {}, match() {} };
  return { ...methods, stack, exclusive };
}

function appOf(...middleware: readonly unknown[]): object {
  return { use() {}, callback() {}, createContext() {}, middleware };
}

const get = ['HEAD', 'GET'];
const asExpression = { pathAsRegExp: true };

test('lists layers with the guards in front of their handlers', () => {
  const router = routerOf([
    { path: '/a', methods: get, stack: [guard('one'), answer] },
    { path: '/a', methods: ['POST'], stack: [answer, guard('one'), answer] },
    { path: '/b', methods: ['GET', 'HEAD', 'TRACE', 'POST'], stack: [pass] },
    { path: '/c', methods: get, stack: [guard('one')] },
    { path: /x/, methods: get, stack: [pass, guard('two'), pass], opts: asExpression },
  ]);
  const lines = ['GET /a: one', 'POST /a:', 'ALL /b:', 'GET /x/: two'];
  expect(linesOf(router)).toEqual(lines);
  const dispatch = Object.assign(pass.bind(null), { router });
  expect(linesOf(appOf(pass, dispatch))).toEqual(lines);
  expect(linesOf(appOf(dispatch, guard('three')))).toEqual(lines);
  expect(linesOf(appOf(guard('three'), dispatch))).toEqual([
    'GET /a: three one',
    'POST /a: three',
    'ALL /b: three',
    'GET /x/: three two',
  ]);
});

test('counts guards of use() where each request meets them', () => {
  const layers = [
    { path: '/v1/before', methods: get, stack: [answer] },
    { path: '/v1', stack: [guard('one')] },
    { path: '/v1/a', methods: get, stack: [answer] },
    { path: '/v2(?:\\/|$)', stack: [guard('two')], opts: asExpression },
    { path: '/v2/a', methods: get, stack: [answer] },
    { path: '/v2/b', methods: get, stack: [answer], opts: { sensitive: true } },
    { path: '/v3', stack: [pass, guard('two')] },
    { path: '/v3/a', methods: get, stack: [answer] },
    { path: '(?:\\/|$)', stack: [guard('three')], opts: asExpression },
    { path: '/v4', methods: get, stack: [answer] },
  ];
  expect(linesOf(routerOf(layers))).toEqual([
    'GET /v1/a: one',
    'GET /v1/before:',
    'GET /v2/a:',
    'GET /v2/b: two',
    'GET /v3/a:',
    'GET /v4: three',
  ]);
  const exclusive = linesOf(routerOf(layers, true));
  expect(exclusive.every((line) => line.endsWith(':'))).toBe(true);
});
