/** Changes of a service on real frameworks. The lock has to name each of them. */
import express from 'express';
import Fastify from 'fastify';
import { Hono } from 'hono';
import { createKeyring, definePolicy, defineScopes, type Keyring } from 'keyscope';
import {
  type AccessLock,
  diffLocks,
  lockMarkdown,
  lockOf,
  recordRoutes,
  routesOf,
} from 'keyscope/lock';
import { memoryStore } from 'keyscope/stores/memory';
import { describe, expect, it } from 'vitest';
import { createGuard as createExpressGuard } from '../../examples/express/adapter.ts';
import { createGuard as createFastifyGuard } from '../../examples/fastify/adapter.ts';
import { createGuard as createHonoGuard, type Guarded } from '../../examples/hono/adapter.ts';

const catalog = defineScopes({ threats: { read: 'Read.', write: 'Write.' } });

const TABLE = {
  listThreats: ['threats:read'],
  updateThreat: ['threats:read', 'threats:write'],
} as const;

type Table = Readonly<Record<string, readonly ('threats:read' | 'threats:write')[]>>;
/** The operation of each route; null without a guard. */
type Routes = Readonly<Record<string, string | null>>;
type Make = (keyring: Keyring, routes: Routes) => unknown;

const ROUTES: Routes = { 'get /threats': 'listThreats', 'put /threats/:id': 'updateThreat' };

function eachOf(routes: Routes): readonly (readonly ['get' | 'put', string, string | null])[] {
  return Object.entries(routes).map(([name, operation]) => {
    const [method = '', path = ''] = name.split(' ');
    return [method === 'get' ? 'get' : 'put', path, operation] as const;
  });
}

const MAKERS: Readonly<Record<string, Make>> = {
  Express(keyring, routes) {
    const app = express();
    const router = express.Router();
    const guard = createExpressGuard({ keyring });
    for (const [method, path, operation] of eachOf(routes)) {
      const guards = operation === null ? [] : [guard(operation)];
      router[method](path, ...guards, (_req, res) => void res.end());
    }
    app.use('/v1', router);
    return app;
  },
  async Fastify(keyring, routes) {
    const app = Fastify();
    recordRoutes(app);
    const guard = createFastifyGuard({ keyring });
    app.register(
      async (scope) => {
        for (const [method, path, operation] of eachOf(routes)) {
          const options = operation === null ? {} : { onRequest: guard(operation) };
          scope[method](path, options, async () => '');
        }
      },
      { prefix: '/v1' },
    );
    await app.ready();
    return app;
  },
  Hono(keyring, routes) {
    const app = new Hono<Guarded>();
    const guard = createHonoGuard({ keyring });
    for (const [method, path, operation] of eachOf(routes)) {
      if (operation === null) app[method](path, (c) => c.text(''));
      else app[method](path, guard(operation), (c) => c.text(''));
    }
    return new Hono().route('/v1', app);
  },
};

async function lockedBy(make: Make, routes: Routes, table: Table = TABLE): Promise<AccessLock> {
  const policy = definePolicy(catalog, { ...table, whoami: [] });
  const options = { prefix: 'acme', policy, store: memoryStore(), peppers: 'none' } as const;
  const keyring: Keyring = createKeyring(options);
  return lockOf({ keyring, routes: routesOf(await make(keyring, routes)) });
}

const { updateThreat, listThreats } = TABLE;

describe.each(Object.entries(MAKERS))('the lock on %s', (_, make) => {
  it.each<[string, Routes, Table, string]>([
    [
      'a guard that is removed',
      { ...ROUTES, 'get /threats': null },
      TABLE,
      '- `GET /v1/threats` has no guard, and nobody wrote why.',
    ],
    [
      'a guard that is moved',
      { ...ROUTES, 'put /threats/:id': 'listThreats' },
      TABLE,
      '- `PUT /v1/threats/:id` no longer needs threats:write (updateThreat is now listThreats).',
    ],
    [
      'an operation that is renamed',
      { ...ROUTES, 'get /threats': 'browseThreats' },
      { browseThreats: listThreats, updateThreat },
      '- `GET /v1/threats` is now browseThreats instead of listThreats, for the same keys.',
    ],
    [
      'a route that is added',
      { ...ROUTES, 'get /export': 'listThreats' },
      TABLE,
      '- `GET /v1/export` is new, open to keys with threats:read.',
    ],
    [
      'a policy that is widened',
      ROUTES,
      { listThreats: [], updateThreat },
      '- `GET /v1/threats` no longer needs threats:read. It is open to any key.',
    ],
  ])('names %s', async (_change, routes, table, sentence) => {
    const diff = diffLocks(await lockedBy(make, ROUTES), await lockedBy(make, routes, table));
    expect(diff.isEmpty).toBe(false);
    expect(lockMarkdown(diff)).toContain(sentence);
  });

  it('names nothing if nothing changed', async () => {
    const diff = diffLocks(await lockedBy(make, ROUTES), await lockedBy(make, ROUTES));
    expect(diff.isEmpty).toBe(true);
  });
});
