/** The recipe for `X-API-Key`, in front of the guards of three frameworks. */
import { createServer, type RequestListener, type Server } from 'node:http';
import { getRequestListener } from '@hono/node-server';
import CachePolicy from 'http-cache-semantics';
import type { Keyring, KeyringEvent, RequestLike } from 'keyscope';
import { createKeyring, definePolicy, defineScopes } from 'keyscope';
import { memoryStore } from 'keyscope/stores/memory';
import { type AdapterSetup, adapterContract } from 'keyscope/testing';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { close, exchange, listen } from '../examples/http-harness.ts';
import { CONTRACT_APPS } from '../support/contract-apps.ts';
import { denied, OWN } from '../support/keyring.ts';
import { type Recipes, writeRecipes } from '../support/recipes.ts';

type Door = Pick<Keyring, 'admit'>;

const APPS = {
  express: CONTRACT_APPS.express,
  fastify: CONTRACT_APPS.fastify,
  hono: (setup: AdapterSetup) => getRequestListener(CONTRACT_APPS.hono(setup).fetch),
};
type Framework = keyof typeof APPS;

const catalog = defineScopes({ threats: { read: 'List and read threats.' } });
const policy = definePolicy(catalog, { whoami: [], readReports: ['threats:read'] });

const METADATA = 'https://acme.example/metadata';
const challengeOf = (code: string): string =>
  `Bearer realm="acme", error="${code}", resource_metadata="${METADATA}"`;

let recipes: Recipes;
let withApiKeyHeader: (keyring: Door) => Door;
beforeAll(async () => {
  recipes = writeRecipes('docs/recipes.md', 'test/recipes', ['header.ts']);
  ({ withApiKeyHeader } = (await recipes.load('header.ts')) as {
    withApiKeyHeader(keyring: Door): Door;
  });
});
afterAll(() => recipes.remove());

const servers: Server[] = [];
afterEach(async () => {
  for (const server of servers.splice(0)) await close(server);
});

async function start(listener: RequestListener): Promise<number> {
  const server = createServer(listener);
  servers.push(server);
  return listen(server);
}

async function setUp(framework: Framework) {
  const events: KeyringEvent[] = [];
  const onEvent = (event: KeyringEvent) => void events.push(event);
  const store = memoryStore();
  const keyring = createKeyring({ prefix: 'acme', policy, store, peppers: 'none', onEvent });
  const issue = async () => {
    const input = { name: 'n', scopes: ['threats:read'], expiresAt: 'never' } as const;
    return (await keyring.issue(input, { entityId: OWN, scopes: 'all' })).key;
  };
  const key = await issue();
  const other = await issue();
  const setup: AdapterSetup = {
    keyring: { ...keyring, ...withApiKeyHeader(keyring) },
    realm: 'acme',
    resourceMetadata: METADATA,
    handle: ({ keyId }) => keyId,
  };
  const port = await start(await APPS[framework](setup));
  /** Sends each line unchanged. */
  async function ask(lines: readonly string[], path = '/reports') {
    const head = [`GET ${path} HTTP/1.1`, 'Host: a', 'Connection: close', ...lines];
    return exchange(port, `${head.join('\r\n')}\r\n\r\n`);
  }
  return { events, key, other, ask, setup };
}

describe.each(Object.keys(APPS) as Framework[])('a key in X-API-Key, on %s', (framework) => {
  test.each(['X-API-Key', 'x-api-key', 'X-Api-Key'])('gets in: %s', async (name) => {
    const { ask, key, events } = await setUp(framework);
    const { status, headers } = await ask([`${name}: ${key}`]);
    expect([status, headers['cache-control']]).toEqual([200, 'no-store']);
    expect(events.at(-1)?.type).toBe('access.granted');
  });

  test('works like one in Authorization, which still works', async () => {
    const { ask, key } = await setUp(framework);
    const one = await ask([`X-API-Key: ${key}`]);
    const other = await ask([`Authorization: Bearer ${key}`]);
    expect(one.body).toBe(other.body);
    expect(other.status).toBe(200);
  });

  test.each<[string, (key: string, other: string) => readonly string[]]>([
    ['both headers', (key, other) => [`Authorization: Bearer ${key}`, `X-API-Key: ${other}`]],
    [
      'both, in the other order',
      (key, other) => [`X-API-Key: ${key}`, `Authorization: Bearer ${other}`],
    ],
    ['both with one key', (key) => [`X-API-Key: ${key}`, `Authorization: Bearer ${key}`]],
    ['another scheme next to it', (key) => ['Authorization: Basic YTpi', `X-API-Key: ${key}`]],
    ['two lines', (key, other) => [`X-API-Key: ${key}`, `X-API-Key: ${other}`]],
    ['a line twice', (key) => [`X-API-Key: ${key}`, `X-API-Key: ${key}`]],
    ['a good one after an empty one', (key) => ['X-API-Key:', `X-API-Key: ${key}`]],
    ['a list', (key, other) => [`X-API-Key: ${key}, ${other}`]],
    ['an empty line', () => ['X-API-Key:']],
    ['a scheme in front', (key) => [`X-API-Key: Bearer ${key}`]],
    ['two words', (key) => [`X-API-Key: ${key} x`]],
  ])('is refused with 400: %s', async (_, lines) => {
    const { ask, key, other, events } = await setUp(framework);
    const { status, headers, body } = await ask(lines(key, other));
    expect([status, headers['www-authenticate']]).toEqual([400, challengeOf('invalid_request')]);
    expect(body).not.toContain(key);
    expect(events.at(-1)).toMatchObject({ type: 'access.denied', reason: 'malformed_header' });
  });

  test('is refused with 401 if it is invalid', async () => {
    const { ask, key } = await setUp(framework);
    const { status, headers } = await ask([`X-API-Key: ${key}x`]);
    expect([status, headers['www-authenticate']]).toEqual([401, challengeOf('invalid_token')]);
  });

  test('is read nowhere else', async () => {
    const { ask, key } = await setUp(framework);
    for (const name of ['X-API-Key', 'x-api-key', 'api_key', 'key']) {
      const { status } = await ask([], `/reports?${name}=${key}`);
      expect([name, status]).toEqual([name, 401]);
    }
    for (const line of [`Api-Key: ${key}`, `Cookie: X-API-Key=${key}`, `X-API-Key-2: ${key}`]) {
      expect((await ask([line])).status).toBe(401);
    }
  });
});

// Node 20 drops the lines beyond the server's limit, which may include a second key.
test('a key in X-API-Key is refused among as many lines as the server reads', async () => {
  const { key, setup } = await setUp('express');
  const asked = (count: number): RequestLike => {
    const others = Array.from({ length: count }, (_, at) => [`X-${at}`, 'x']);
    const rawHeaders = ['X-API-Key', key, ...others.flat()];
    const request = { rawHeaders, socket: { server: { maxHeadersCount: 40 } } };
    return request;
  };
  const input = { operation: 'whoami' } as const;
  const { principal } = await setup.keyring.admit(asked(38), input);
  expect(principal.entityId).toBe(OWN);
  await denied(() => setup.keyring.admit(asked(39), input), 'invalid_request', 'malformed_header');
});

// The recipe breaks the one promise that it is meant to break, and no other.
describe.each(Object.keys(APPS) as Framework[])('the contract, on %s', (framework) => {
  const register = (name: string, run: () => Promise<void>) => {
    if (name !== 'ignores a key outside the Authorization header') return test(name, run);
    return test(`${name}, except in X-API-Key`, () =>
      expect(run()).rejects.toThrow(/a key in X-API-Key/));
  };
  adapterContract(register, async ({ keyring, ...setup }) => {
    const door = { ...keyring, ...withApiKeyHeader(keyring) };
    const listener = await APPS[framework]({ ...setup, keyring: door });
    const port = await start(listener);
    return { url: `http://127.0.0.1:${port}/` };
  });
});

describe('headers other than Authorization', () => {
  const answer = { status: 200, headers: { 'cache-control': 'max-age=60' } };
  const isKept = (headers: Record<string, string>, more = answer) =>
    new CachePolicy({ url: '/', method: 'GET', headers }, more, { shared: true }).storable();

  test('do not make a response uncacheable, so the recipe sends `no-store`', () => {
    expect(isKept({ authorization: 'Bearer k' })).toBe(false);
    expect(isKept({ 'x-api-key': 'k' })).toBe(true);
    const guarded = { status: 200, headers: { 'cache-control': 'no-store' } };
    expect(isKept({ 'x-api-key': 'k' }, guarded)).toBe(false);
  });

  test('are forwarded on redirects', async () => {
    const seen: unknown[] = [];
    const target = await start((request, response) => {
      seen.push(request.headers['x-api-key'], request.headers.authorization);
      response.end();
    });
    const from = await start((_request, response) => {
      response.writeHead(307, { Location: `http://127.0.0.1:${target}/` }).end();
    });
    const headers = { 'X-API-Key': 'one', Authorization: 'Bearer two' };
    await (await fetch(`http://127.0.0.1:${from}/`, { headers })).text();
    expect(seen).toEqual(['one', undefined]);
  });
});
