/**
 * The example servers behind a shared cache: each caller gets its own answers, but only because of
 * `no-store`.
 */
import type { Server } from 'node:http';
import { afterEach, describe, expect, it } from 'vitest';
import { createServer as createExpress } from '../../examples/express/server.ts';
import { createServer as createFastify } from '../../examples/fastify/server.ts';
import { createServer as createHono } from '../../examples/hono/server.ts';
import { createServer as createMcp } from '../../examples/mcp/server.ts';
import { routes } from '../../examples/platform/service/routes.ts';
import { type CacheOptions, startCache } from '../support/shared-cache.ts';
import { close, createPlatform, listen, named } from './http-harness.ts';

const SERVERS = {
  express: createExpress,
  fastify: createFastify,
  hono: createHono,
  mcp: createMcp,
};
const KINDS: readonly CacheOptions[] = [{ credulous: false }, { credulous: true }];
/** Callers with different answers, in both orders, so that a denial can come first too. */
const CALLERS = ['full', 'foreign', 'reader', 'revoked', ''];
const DOCUMENT = '/v1/openapi.json';

const ends: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end();
});

async function start(name: keyof typeof SERVERS) {
  const platform = await createPlatform();
  const { keyring, domain } = platform;
  const service = { keyring, domain, publicUrl: 'https://deception.example', report: () => {} };
  const server: Server = await SERVERS[name](service);
  const port = await listen(server);
  ends.push(() => close(server));
  const behind = async (options: CacheOptions) => {
    const cache = await startCache(port, options);
    ends.push(cache.stop);
    return cache;
  };
  const ask = async (origin: string, path: string, caller: string) => {
    const headers = caller === '' ? {} : { Authorization: `Bearer ${named(platform, caller)}` };
    const response = await fetch(`${origin}${path}`, { headers });
    return `${response.status} ${await response.text()}`;
  };
  const lists = routes
    .filter(({ method, id }) => method === 'GET' && id === null)
    .map(({ path }) => path);
  const rows = ['threat', 'threatC'].map((row) => `/v1/threats/${named(platform, row)}`);
  return { origin: `http://127.0.0.1:${port}`, behind, ask, paths: [...lists, ...rows] };
}

describe.each(Object.keys(SERVERS) as (keyof typeof SERVERS)[])(
  'behind a shared cache, %s',
  (name) => {
    it.each(KINDS)('answers each caller like without the cache: %j', async (kind) => {
      const { origin, behind, ask, paths } = await start(name);
      const cache = await behind(kind);
      for (const callers of [CALLERS, CALLERS.toReversed()]) {
        for (const path of paths) {
          for (const caller of callers) {
            const through = await ask(cache.origin, path, caller);
            const direct = await ask(origin, path, caller);
            expect({ path, caller, answer: through }).toEqual({ path, caller, answer: direct });
          }
        }
      }
      expect(cache.hits()).toBe(0);
      // The cache does keep public answers.
      const documents = [
        await ask(cache.origin, DOCUMENT, 'full'),
        await ask(cache.origin, DOCUMENT, ''),
      ];
      expect([cache.hits(), new Set(documents).size]).toEqual([1, 1]);
    });

    it.each([
      { credulous: false, insteadOfNoStore: 'public, max-age=3600' },
      { credulous: true, insteadOfNoStore: 'max-age=3600' },
    ])('would give everyone the first answer without no-store: %j', async (kind) => {
      const { origin, behind, ask, paths } = await start(name);
      const cache = await behind(kind);
      for (const path of paths) {
        const first = await ask(cache.origin, path, 'full');
        for (const caller of ['foreign', ''])
          expect(await ask(cache.origin, path, caller), path).toBe(first);
        expect(await ask(origin, path, '')).toMatch(/^401 /);
      }
    });
  },
);
