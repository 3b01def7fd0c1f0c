/** Random trees of routers, and what real requests say of the routes that were listed. */
import fc from 'fast-check';
import { expect } from 'vitest';
import type { GuardedRoute } from '../../src/tools/lock/index.js';

export type Node =
  | {
      readonly kind: 'route';
      readonly path: string;
      readonly method: Method;
      readonly own: boolean;
    }
  | { readonly kind: 'guard'; readonly path: string }
  | { readonly kind: 'guard route'; readonly path: string }
  | { readonly kind: 'branch'; readonly path: string; readonly children: readonly Node[] };

type Method = 'get' | 'post' | 'all';

export interface Paths {
  readonly routes: readonly string[];
  readonly guards: readonly string[];
  readonly guardRoutes: readonly string[];
  readonly branches: readonly string[];
}

/** `#` in the path of a route becomes a number of its own, so that each can be told from others. */
export function treesOf(paths: Paths): fc.Arbitrary<readonly Node[]> {
  const { tree } = fc.letrec<{ readonly node: Node; readonly tree: readonly Node[] }>((tie) => ({
    node: fc.oneof(
      { depthSize: 'small', withCrossShrink: true },
      fc.record({
        kind: fc.constant('route' as const),
        path: fc.constantFrom(...paths.routes),
        method: fc.constantFrom<Method>('get', 'post', 'all'),
        own: fc.nat(4).map((dice) => dice === 0),
      }),
      fc.record({ kind: fc.constant('guard' as const), path: fc.constantFrom(...paths.guards) }),
      fc.record({
        kind: fc.constant('guard route' as const),
        path: fc.constantFrom(...paths.guardRoutes),
      }),
      fc.record({
        kind: fc.constant('branch' as const),
        path: fc.constantFrom(...paths.branches),
        children: tie('tree'),
      }),
    ),
    tree: fc.array(tie('node'), { minLength: 1, maxLength: 5 }),
  }));
  return tree;
}

/** What stands for a segment of a path in requests. */
function textsOf(segment: string): readonly string[] {
  if (segment.includes('*')) return ['', 'a', 'a/b'];
  if (segment.endsWith('?')) return ['', 'b'];
  if (segment.includes('{')) return ['a', 'b'];
  if (segment.startsWith(':')) return ['a', 'x'];
  return segment === '' ? [''] : [segment, segment.toUpperCase()];
}

/** Requests for a path as it is declared. */
export function urlsOf(path: string): readonly string[] {
  let urls: readonly string[] = [''];
  for (const segment of path.split('/').slice(1)) {
    urls = urls.flatMap((url) => textsOf(segment).map((text) => `${url}/${text}`));
  }
  return [...new Set(urls.flatMap((url) => [url, `${url}/`, url.replace(/\/$/, '') || '/']))];
}

/** Sends a request without a key; returns the number of the route that answered, or the status. */
export type Send = (method: string, url: string) => Promise<string>;

/** No request without a key gets to the handler of a route that is listed with a guard. */
export async function expectAgreement(routes: readonly GuardedRoute[], send: Send): Promise<void> {
  const sent = routes.flatMap(({ method, path }) =>
    urlsOf(path).map((url) => [method === 'ALL' ? 'PUT' : method, url] as const),
  );
  for (const [method, url] of sent) {
    for (const each of method === 'GET' ? ['GET', 'HEAD'] : [method]) {
      const answer = await send(each, url);
      if (!answer.startsWith('route ')) continue;
      const number = answer.slice('route '.length);
      const met = routes.filter(({ path }) => new RegExp(`_${number}(?!\\d)`).test(path));
      const words = `${each} ${url} met ${JSON.stringify(met)}`;
      expect(
        met.some(({ operations }) => operations.length === 0),
        words,
      ).toBe(true);
    }
  }
}

/** Where no two paths meet, a request without a key is refused exactly if a guard is listed. */
export async function expectSame(routes: readonly GuardedRoute[], send: Send): Promise<void> {
  for (const { method, path, operations } of routes) {
    const answer = await send(method === 'ALL' ? 'PUT' : method, path.replaceAll(/:\w+/g, 'x'));
    expect(answer.replace(/^route .*/, ''), `${method} ${path}`).toBe(operations[0] ? '401' : '');
  }
}
