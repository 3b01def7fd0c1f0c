/** The recipe for rate limits from docs/recipes.md, on a real server. */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { getRequestListener } from '@hono/node-server';
import { Hono, type MiddlewareHandler } from 'hono';
import { createKeyring, definePolicy, defineScopes } from 'keyscope';
import { memoryStore } from 'keyscope/stores/memory';
import type { RateLimiterAbstract } from 'rate-limiter-flexible';
import { createGuard, type Guarded } from '../../examples/hono/adapter.ts';
import { writeRecipes } from './recipes.ts';

interface Printed {
  limitByKey(limiter: RateLimiterAbstract): MiddlewareHandler<Guarded>;
}

export interface Issued {
  readonly key: string;
  readonly keyId: string;
}

export interface Answer {
  readonly status: number;
  readonly retryAfter: string | null;
}

/** A server with one guarded and limited route. */
export interface LimitedServer {
  /** Requests the route this many times at once. */
  ask(times: number, key: string): Promise<readonly Answer[]>;
  stop(): Promise<void>;
}

const catalog = defineScopes({ threats: { read: 'List and read threats.' } });
const policy = definePolicy(catalog, { listThreats: ['threats:read'] });
const keyring = createKeyring({ prefix: 'acme', policy, store: memoryStore(), peppers: 'none' });
const entityId = '0a0a0a0a-0000-4000-8000-00000000000a';

/** Makes a key that every such server knows, by default with the scope of the route. */
export async function issueKey(
  scopes: readonly 'threats:read'[] = ['threats:read'],
): Promise<Issued> {
  const input = { name: 'n', scopes, expiresAt: 'never' } as const;
  const { key, info } = await keyring.issue(input, { entityId, scopes: 'all' });
  return { key, keyId: info.keyId };
}

/** Runs the code of the page. */
async function createApp(limiter: RateLimiterAbstract): Promise<Hono<Guarded>> {
  const guard = createGuard({ keyring });
  const app = new Hono<Guarded>();
  const recipes = writeRecipes('docs/recipes.md', 'test/recipes', ['limits.ts']);
  const { limitByKey } = (await recipes.load('limits.ts')) as Printed;
  recipes.remove();
  app.get('/threats', guard('listThreats'), limitByKey(limiter), (c) => c.json({ threats: [] }));
  app.onError((_error, c) => c.text('Something went wrong.', 500));
  return app;
}

export async function startLimited(limiter: RateLimiterAbstract): Promise<LimitedServer> {
  const app = await createApp(limiter);
  const server = createServer(getRequestListener(app.fetch));
  // Avoids resets of idle connections on a busy machine: see `listen` of the examples' tests.
  server.keepAliveTimeout = 0;
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/threats`;

  async function askOnce(key: string): Promise<Answer> {
    const response = await fetch(url, { headers: { authorization: `Bearer ${key}` } });
    await response.body?.cancel();
    return { status: response.status, retryAfter: response.headers.get('retry-after') };
  }

  return {
    ask: (times, key) => Promise.all(Array.from({ length: times }, () => askOnce(key))),
    stop() {
      server.closeAllConnections();
      return new Promise((resolve) => server.close(() => resolve()));
    },
  };
}

/** Counts the answers of each status. */
export function count(answers: readonly Answer[]): Readonly<Record<string, number>> {
  const counts: Record<string, number> = {};
  for (const { status } of answers) counts[status] = (counts[status] ?? 0) + 1;
  return counts;
}
