/**
 * The recipe that restricts a key to networks: which addresses it accepts, and that nothing else
 * gets in.
 */
import { createServer, type Server } from 'node:http';
import type { BlockList } from 'node:net';
import express, { type RequestHandler } from 'express';
import type { Admitting } from 'keyscope';
import { createTokenIssuer, createTokenVerifier } from 'keyscope/jwt';
import { memoryStore } from 'keyscope/stores/memory';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { createGuard } from '../../examples/express/adapter.ts';
import { type ClientAddress, readClientAddress } from '../../examples/more/client-address.ts';
import { close, exchange, listen } from '../examples/http-harness.ts';
import { AUDIENCE, ISSUER, makePair } from '../support/jwt.ts';
import { AUTHORITY, catalog, PLAIN, type Ring, setUp, tampering } from '../support/keyring.ts';
import { type Recipes, writeRecipes } from '../support/recipes.ts';

interface Printed {
  readNetworks(text: string): BlockList;
  createNetworkGuard(clientAddress: ClientAddress): RequestHandler;
}

const HOME = '203.0.113.0/24 2001:db8:7::/48';

let recipes: Recipes;
let printed: Printed;
beforeAll(async () => {
  recipes = writeRecipes('docs/recipes.md', 'test/recipes', ['networks.ts']);
  printed = (await recipes.load('networks.ts')) as Printed;
});
afterAll(() => recipes.remove());

const servers: Server[] = [];
afterEach(async () => {
  for (const server of servers.splice(0)) await close(server);
});

const behindProxy = readClientAddress('x-forwarded-for:1');

/** How often the handler ran. */
let served = 0;

/** A service with both guards on its one route. `ask` sends lines unchanged. */
async function serve(keyring: Admitting, clientAddress = behindProxy) {
  const guard = createGuard({ keyring });
  const withinNetworks = printed.createNetworkGuard(clientAddress);
  const app = express();
  app.get('/threats', guard('list'), withinNetworks, (_req, res) => {
    served += 1;
    res.send('rows');
  });
  const server = createServer(app);
  servers.push(server);
  const port = await listen(server);
  return (credential: string, ...lines: readonly string[]) => {
    const sent = [`Authorization: Bearer ${credential}`, ...lines];
    const head = ['GET /threats HTTP/1.1', 'Host: a', 'Connection: close', ...sent];
    return exchange(port, `${head.join('\r\n')}\r\n\r\n`);
  };
}

async function issue(keyring: Ring, networks?: string) {
  const metadata = networks === undefined ? {} : { networks };
  return keyring.issue({ ...PLAIN, metadata }, AUTHORITY);
}

/** The status of a request with a key for these networks, behind proxies that send these lines. */
async function statusOf(networks: string | undefined, ...lines: readonly string[]) {
  const { keyring } = setUp();
  const { key } = await issue(keyring, networks);
  const ask = await serve(keyring);
  return (await ask(key, ...lines)).status;
}

const from = (address: string): string => `X-Forwarded-For: ${address}`;

describe('a key with networks', () => {
  test.each([
    [HOME, '203.0.113.7', 200],
    [HOME, '203.0.114.7', 403],
    [HOME, '2001:db8:7::1', 200],
    [HOME, '2001:DB8:0007:0:ffff::1', 200],
    [HOME, '2001:db8:8::1', 403],
    // The same client, as a dual-stack socket reports it.
    [HOME, '::ffff:203.0.113.7', 200],
    [HOME, '::ffff:cb00:7107', 200],
    [HOME, '::ffff:203.0.114.7', 403],
    ['198.51.100.9/32', '198.51.100.9', 200],
    ['198.51.100.9/32', '198.51.100.8', 403],
    ['0.0.0.0/0', '198.51.100.8', 200],
    ['0.0.0.0/0', '2001:db8::1', 403],
  ])('for %s works from %s: %i', async (networks, address, status) => {
    expect(await statusOf(networks, from(address))).toBe(status);
  });

  test('treats IPv4 mapped to IPv6 as IPv4, even if nothing has rewritten it', async () => {
    const { keyring } = setUp();
    const { key } = await issue(keyring, HOME);
    for (const [address, status] of [
      ['::ffff:203.0.113.7', 200],
      ['::ffff:cb00:7107', 200],
      ['::ffff:203.0.114.7', 403],
    ] as const) {
      const ask = await serve(keyring, () => address);
      expect([address, (await ask(key)).status]).toEqual([address, status]);
    }
  });

  test('works from everywhere if it has none', async () => {
    expect(await statusOf(undefined, from('198.51.100.8'))).toBe(200);
    expect(await statusOf(undefined)).toBe(200);
  });

  test('is refused without a challenge, in an answer that names no address', async () => {
    const { keyring } = setUp();
    const { key } = await issue(keyring, HOME);
    const ask = await serve(keyring);
    const before = served;
    const { status, headers, body } = await ask(key, from('198.51.100.8'));
    expect([status, served - before]).toEqual([403, 0]);
    expect(headers['www-authenticate']).toBeUndefined();
    expect(headers['content-type']).toMatch(/^application\/problem\+json/);
    expect(headers['cache-control']).toBe('no-store');
    expect(JSON.parse(body)).toEqual({
      type: 'about:blank',
      title: 'Forbidden',
      status: 403,
      error: 'address_forbidden',
    });
  });

  test('reveals no networks to a client without a key', async () => {
    const { keyring } = setUp();
    const ask = await serve(keyring);
    const { status, headers } = await ask('acme_x', from('203.0.113.7'));
    expect([status, headers['www-authenticate']]).toEqual([
      401,
      'Bearer realm="acme", error="invalid_token"',
    ]);
  });
});

describe('an X-Forwarded-For header from the client', () => {
  test.each([
    ["before the proxy's entry", [from('203.0.113.7, 198.51.100.8')], 403],
    ['on a separate line', [from('203.0.113.7'), from('198.51.100.8')], 403],
    ['as if for another', [from('198.51.100.8, 203.0.113.7')], 200],
    ['in other headers', ['X-Real-IP: 203.0.113.7', 'Forwarded: for=203.0.113.7'], 403],
    ['as an invalid address', [from('203.0.113.7, unknown')], 403],
    ['as a network', [from('203.0.113.0/24')], 403],
  ])('does not count: %s', async (_, lines, status) => {
    expect(await statusOf(HOME, ...lines)).toBe(status);
  });

  test('does not count without a proxy', async () => {
    const { keyring } = setUp();
    const ask = await serve(keyring, readClientAddress('socket'));
    const { key: ours } = await issue(keyring, '127.0.0.0/8');
    const { key: theirs } = await issue(keyring, HOME);
    expect((await ask(ours, from('198.51.100.8'))).status).toBe(200);
    expect((await ask(theirs, from('203.0.113.7'))).status).toBe(403);
  });

  test('is required: without the proxy nobody gets in', async () => {
    expect(await statusOf('0.0.0.0/0 ::/0')).toBe(403);
  });
});

const MALFORMED = [
  '',
  ' ',
  '203.0.113.7',
  '203.0.113.0/',
  '203.0.113.0/x',
  '203.0.113.0/33',
  '203.0.113.0/-1',
  '203.0.113.0/1e1',
  '203.0.113.0/24/24',
  '203.0.113.0/24,198.51.100.0/24',
  '203.0.113.0/24  198.51.100.0/24',
  ' 203.0.113.0/24',
  '203.0.113.0/24\n',
  '203.0.113/24',
  '0203.0.113.0/24',
  '0xcb.0.113.0/24',
  '/0',
  '*',
  'localhost/8',
  '2001:db8::/129',
  '2001:db8:/32',
  'fe80::1%lo/64',
  '::ffff:203.0.113.0/129',
];

describe('invalid networks', () => {
  test.each(MALFORMED)('are rejected before a key is issued: %j', (text) => {
    expect(() => printed.readNetworks(text)).toThrow();
  });

  test.each(MALFORMED)('let nobody in: %j', async (text) => {
    expect(await statusOf(text, from('203.0.113.7'))).toBe(403);
    expect(await statusOf(`0.0.0.0/0 ${text}`, from('203.0.113.7'))).toBe(403);
  });
});

describe('the networks of a key', () => {
  test('are sealed', async () => {
    const store = memoryStore();
    const { keyring } = setUp({ store });
    const { key } = await issue(keyring, HOME);
    const wider = (row: object) => ({ ...row, metadata: { networks: '0.0.0.0/0' } });
    const edited = setUp({ store: tampering(store, wider) });
    const ask = await serve(edited.keyring);
    expect((await ask(key, from('203.0.113.7'))).status).toBe(401);
    expect(edited.events.at(-1)).toMatchObject({ reason: 'record_tampered' });
  });

  test('carry over to its successor', async () => {
    const { keyring } = setUp();
    const { info } = await issue(keyring, HOME);
    const { key } = await keyring.rotate(info.keyId, { overlapMs: 0 }, AUTHORITY);
    const ask = await serve(keyring);
    expect((await ask(key, from('203.0.113.7'))).status).toBe(200);
    expect((await ask(key, from('198.51.100.8'))).status).toBe(403);
  });

  test('apply to its tokens where the key is looked up, and nowhere else', async () => {
    const pair = await makePair('ES256');
    const { privateKey, alg, kid } = pair;
    const store = memoryStore();
    const { keyring, clock } = setUp({ store });
    const { key } = await issue(keyring, HOME);
    const names = { issuer: ISSUER, audience: AUDIENCE, now: clock.now };
    const issuer = createTokenIssuer({ ...names, privateKey, alg, kid });
    const { accessToken } = await issuer.exchange(await keyring.verify(key));
    const jwks = { keys: [pair.publicKey] };
    const verifier = createTokenVerifier({ ...names, jwks, algorithms: [alg], catalog });
    for (const [checkParent, status] of [
      [true, 403],
      [false, 200],
    ] as const) {
      const front = setUp({ store, tokens: verifier, checkParent });
      const ask = await serve(front.keyring);
      expect([checkParent, (await ask(accessToken, from('198.51.100.8'))).status]).toEqual([
        checkParent,
        status,
      ]);
    }
  });
});
