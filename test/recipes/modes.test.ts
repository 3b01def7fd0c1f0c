/** The recipe for live and test keys: two services behind one door, with nothing in common. */
import { createServer, type RequestListener, type Server } from 'node:http';
import express from 'express';
import type { Catalog, Keyring, KeyStore, Peppers, Policy } from 'keyscope';
import { definePolicy, defineScopes, parseKey } from 'keyscope';
import { memoryStore } from 'keyscope/stores/memory';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { createGuard } from '../../examples/express/adapter.ts';
import { createKeyFormat } from '../../src/core/key.js';
import { close, exchange, listen } from '../examples/http-harness.ts';
import { denied, OWN, PEPPER } from '../support/keyring.ts';
import { type Recipes, writeRecipes } from '../support/recipes.ts';

type Mode = 'live' | 'test';
interface Printed {
  keyringOf<Op extends string>(
    mode: Mode,
    policy: Policy<Op>,
    store: KeyStore,
    peppers: Peppers,
  ): Keyring<Catalog, Op>;
  createDoor(services: Record<Mode, RequestListener>): RequestListener;
}

const catalog = defineScopes({ threats: { read: 'List and read threats.' } });
const policy = definePolicy(catalog, { listThreats: ['threats:read'] });
const authority = { entityId: OWN, scopes: 'all' } as const;

let recipes: Recipes;
let printed: Printed;
beforeAll(async () => {
  recipes = writeRecipes('docs/recipes.md', 'test/recipes', ['modes.ts']);
  printed = (await recipes.load('modes.ts')) as Printed;
});
afterAll(() => recipes.remove());

const servers: Server[] = [];
afterEach(async () => {
  for (const server of servers.splice(0)) await close(server);
});

/** The service for a mode. Its only row is the mode's name. */
async function createService(mode: Mode, store: KeyStore) {
  const keyring = printed.keyringOf(mode, policy, store, [PEPPER]);
  const guard = createGuard({ keyring, realm: mode });
  const app = express();
  app.get('/threats', guard('listThreats'), (_req, res) => void res.send(`rows of ${mode}`));
  const input = { name: 'n', scopes: ['threats:read'], expiresAt: 'never' } as const;
  const issued = await keyring.issue(input, authority);
  return { app, keyring, key: issued.key, keyId: issued.info.keyId };
}

async function ask(listener: RequestListener, ...keys: readonly string[]) {
  const server = createServer(listener);
  servers.push(server);
  const lines = keys.map((key) => `Authorization: Bearer ${key}`);
  const head = ['GET /threats HTTP/1.1', 'Host: a', 'Connection: close', ...lines];
  const answer = await exchange(await listen(server), `${head.join('\r\n')}\r\n\r\n`);
  const realm = /realm="(\w+)"/.exec(answer.headers['www-authenticate'] ?? '')?.[1];
  return { status: answer.status, said: realm ?? answer.body };
}

/** Over two stores, or over one. */
async function setUp(stores: readonly [KeyStore, KeyStore] = [memoryStore(), memoryStore()]) {
  const live = await createService('live', stores[0]);
  const trial = await createService('test', stores[1]);
  return { live, trial, door: printed.createDoor({ live: live.app, test: trial.app }) };
}

describe.each(['two stores', 'one store'])('over %s', (name) => {
  const one = memoryStore();
  const stores = () => (name === 'one store' ? ([one, one] as const) : undefined);

  test('keeps each key to the data of its mode', async () => {
    const { live, trial, door } = await setUp(stores());
    expect(live.key).toMatch(/^acme_live_\w{32}$/);
    expect(trial.key).toMatch(/^acme_test_\w{32}$/);
    expect(await ask(door, live.key)).toEqual({ status: 200, said: 'rows of live' });
    expect(await ask(door, trial.key)).toEqual({ status: 200, said: 'rows of test' });
  });

  test("makes each service reject the other's keys, whatever the door does", async () => {
    const { live, trial } = await setUp(stores());
    expect(await ask(live.app, trial.key)).toEqual({ status: 401, said: 'live' });
    expect(await ask(trial.app, live.key)).toEqual({ status: 401, said: 'test' });
    const wrong = printed.createDoor({ live: trial.app, test: live.app });
    for (const { key } of [live, trial]) expect((await ask(wrong, key)).status).toBe(401);
  });

  test("lets no keyring list or end the other's keys", async () => {
    const { live, trial } = await setUp(stores());
    const { keys } = await live.keyring.list({}, authority);
    expect(keys.map(({ keyId }) => keyId)).toContain(live.keyId);
    expect(keys.map(({ keyId }) => keyId)).not.toContain(trial.keyId);
    const revoking = () => live.keyring.revoke(trial.keyId, authority);
    await denied(revoking, 'not_found', name === 'one store' ? 'foreign_key' : 'no_such_key');
  });
});

describe('the door', () => {
  test('passes on two keys unchanged, and they are refused', async () => {
    const { live, trial, door } = await setUp();
    expect(await ask(door, trial.key, live.key)).toEqual({ status: 400, said: 'test' });
    expect(await ask(door, live.key, trial.key)).toEqual({ status: 400, said: 'live' });
  });

  test('sends everything except test keys to the live service', async () => {
    const { trial, door } = await setUp();
    const broken = `${trial.key.slice(0, -1)}${trial.key.endsWith('0') ? '1' : '0'}`;
    for (const keys of [[], ['a.b.c'], [broken], [trial.key.toUpperCase()]]) {
      expect(await ask(door, ...keys)).toEqual({ status: 401, said: 'live' });
    }
  });

  test("does not open for a live key's secret behind the other prefix", async () => {
    const { live, trial, door } = await setUp();
    const { entropy = '' } = parseKey(live.key, { prefix: 'acme_live' }) ?? {};
    const forged = createKeyFormat('acme_test').complete(entropy);
    expect(forged).not.toBe(trial.key);
    expect(await ask(door, forged)).toEqual({ status: 401, said: 'test' });
  });
});

test('a row copied from test to live lets nobody in', async () => {
  const stores = [memoryStore(), memoryStore()] as const;
  const { live, trial, door } = await setUp(stores);
  const row = await stores[1].findById(trial.keyId);
  if (row === null) throw new Error('no row');
  await stores[0].insert(row);
  expect(await ask(live.app, trial.key)).toEqual({ status: 401, said: 'live' });
  expect(await ask(door, trial.key)).toEqual({ status: 200, said: 'rows of test' });
});
