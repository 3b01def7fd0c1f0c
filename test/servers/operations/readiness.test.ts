/** The readiness check that docs/operations.md prints, over a real server. */
import type { Keyring } from 'keyscope';
import { type CachedStore, type ChannelState, cacheStore } from 'keyscope/cache';
import { postgresStore } from 'keyscope/stores/postgres';
import { LRUCache } from 'lru-cache';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { setUp } from '../../support/keyring.ts';
import {
  emptySchema,
  openServerDoor,
  pgPool,
  type Schema,
} from '../../support/postgres-clients.ts';
import { describePostgres } from '../../support/postgres-place.ts';
import { type Recipes, writeRecipes } from '../../support/recipes.ts';

interface Printed {
  readiness(keyring: Keyring, store: CachedStore): Promise<{ status: number; body: unknown }>;
}

describePostgres('the printed readiness check', () => {
  let recipes: Recipes;
  let readiness: Printed['readiness'];
  let schema: Schema;
  beforeAll(async () => {
    recipes = writeRecipes('docs/operations.md', 'test/servers/operations', ['readiness.ts']);
    ({ readiness } = (await recipes.load('readiness.ts')) as Printed);
    schema = await emptySchema();
  });
  afterAll(async () => {
    recipes.remove();
    await schema.drop();
  });

  /** A service over the server, with a channel in a given state. */
  function service(more: object = {}) {
    const pool = pgPool(schema.settings, more);
    const cache = new LRUCache<string, object>({ max: 100 });
    const cached = cacheStore(postgresStore(pool), { cache, maxStalenessMs: 10_000 });
    const state = { channel: 'up' as ChannelState };
    const store = { ...cached, channelState: () => state.channel };
    const { keyring, events } = setUp({ store, storeTimeoutMs: 1_000 });
    return { pool, state, events, ask: () => readiness(keyring as Keyring, store) };
  }

  test('is ready while the store answers, and does not announce its own query', async () => {
    const { pool, events, ask } = service();
    expect(await ask()).toEqual({ status: 200, body: { store: 'up', channel: 'up' } });
    expect(events).toEqual([]);
    await pool.end();
  });

  test.each<[ChannelState, number]>([
    ['none', 200],
    ['starting', 503],
    ['silent', 200],
    ['down', 200],
  ])('depends on its channel: %s', async (channel, status) => {
    const { pool, state, ask } = service();
    state.channel = channel;
    expect(await ask()).toEqual({ status, body: { store: 'up', channel } });
    await pool.end();
  });

  test('asks the database each time, and is not ready while it is away', async () => {
    const door = await openServerDoor();
    const { pool, ask } = service({ connectionString: door.url });
    expect((await ask()).status).toBe(200);
    await door.set('gone');
    expect(await ask()).toEqual({ status: 503, body: { store: 'away', channel: 'up' } });
    await pool.end();
  });

  test('is not ready over a schema of a later release that it cannot work with', async () => {
    const { pool, ask } = service();
    expect((await ask()).status).toBe(200);
    await schema.sql('UPDATE keyscope_schema SET version = 9, min_reader = 9');
    // Running operations continue; new ones fail.
    expect((await ask()).status).toBe(200);
    const later = service();
    expect((await later.ask()).status).toBe(503);
    await schema.sql('UPDATE keyscope_schema SET version = 1, min_reader = 1');
    await pool.end();
    await later.pool.end();
  });
});
