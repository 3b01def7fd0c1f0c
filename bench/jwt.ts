/**
 * What tokens cost compared with jose alone, and the MCP gate compared with no authentication:
 * `npm run bench:jwt`. Figures of one run, in rounds whose order is drawn anew. Prints ratios and
 * aims; asserts no time.
 */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import type { IncomingMessage, Server } from 'node:http';
import { Agent, createServer, request as send } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { getRequestListener } from '@hono/node-server';
import { createMcpHandler, McpServer } from '@modelcontextprotocol/server';
import type { CryptoKey, JSONWebKeySet } from 'jose';
import { createLocalJWKSet, exportJWK, generateKeyPair, jwtVerify, SignJWT } from 'jose';
import type { Principal } from 'keyscope';
import { createKeyring, definePolicy } from 'keyscope';
import { createTokenIssuer, createTokenVerifier, type TokenAlgorithm } from 'keyscope/jwt';
import { createMcpGate } from 'keyscope/mcp';
import { memoryStore } from 'keyscope/stores/memory';
import type { Case } from './harness.ts';
import { measure, table } from './harness.ts';
import { catalog, ENTITY, PREFIX, SCOPES } from './keys.ts';

const ROUNDS = process.argv.includes('--quick') ? 10 : 100;
const ALGORITHMS: readonly TokenAlgorithm[] = ['ES256', 'EdDSA', 'RS256'];
const ISSUER = 'https://acme.example';
const AUDIENCE = 'https://api.acme.example';
const PEPPERS = [{ id: 'bench', secret: 'for the bench alone, and not random at all' }];
const LIFE_SECONDS = 900;

/** Does something `count` times, one after the other. */
async function repeat(count: number, act: () => Promise<unknown>): Promise<void> {
  for (let i = 0; i < count; i++) await act();
}

// ── Tokens ───────────────────────────────────────────────────────────────────────────────────────

/** Signs what our issuer would, with jose alone. */
function signBare(principal: Principal, key: CryptoKey, alg: TokenAlgorithm): Promise<string> {
  const now = Math.floor(Date.now() / 1000);
  const claims = {
    client_id: principal.keyId,
    scope: principal.scopes.join(' '),
    entity_uuid: principal.entityUuid,
    accessible_entities: principal.accessibleEntities,
  };
  return new SignJWT(claims)
    .setProtectedHeader({ alg, typ: 'at+jwt', kid: 'bench' })
    .setIssuer(ISSUER)
    .setAudience(AUDIENCE)
    .setSubject(principal.keyId)
    .setIssuedAt(now)
    .setExpirationTime(now + LIFE_SECONDS)
    .setJti(crypto.randomUUID())
    .sign(key);
}

/** Verifies what our verifier would, with jose alone: without the checks that are ours. */
function verifyBare(jwks: JSONWebKeySet, alg: TokenAlgorithm) {
  const keys = createLocalJWKSet(jwks);
  const ours = ['client_id', 'scope', 'entity_uuid', 'accessible_entities'];
  const requiredClaims = ['iss', 'aud', 'exp', 'iat', 'jti', 'sub', ...ours];
  const options = {
    issuer: ISSUER,
    audience: AUDIENCE,
    algorithms: [alg],
    typ: 'at+jwt',
    requiredClaims,
  };
  return (token: string) => jwtVerify(token, keys, options);
}

/** An issuer, a verifier, and a keyring that accepts the token of one of its keys. */
async function setUp(alg: TokenAlgorithm) {
  const { privateKey, publicKey } = await generateKeyPair(alg, { extractable: true });
  const jwks = { keys: [{ ...(await exportJWK(publicKey)), alg, kid: 'bench', use: 'sig' }] };
  const names = { issuer: ISSUER, audience: AUDIENCE };
  const issuer = createTokenIssuer({ ...names, privateKey, alg, kid: 'bench' });
  const verifier = createTokenVerifier({ ...names, jwks, algorithms: [alg], catalog });
  const keyring = createKeyring({
    prefix: PREFIX,
    catalog,
    store: memoryStore(),
    peppers: PEPPERS,
    tokens: verifier,
  });
  const input = { name: 'bench', scopes: [...SCOPES], expiresAt: 'never' } as const;
  const { key } = await keyring.issue(input, { entityUuid: ENTITY, scopes: 'all' });
  const principal = await keyring.verify(key);
  const { accessToken } = await issuer.exchange(principal);
  return { privateKey, jwks, issuer, verifier, keyring, principal, accessToken };
}

async function tokenCases(alg: TokenAlgorithm): Promise<readonly Case[]> {
  const setting = await setUp(alg);
  const { issuer, verifier, keyring, principal, accessToken } = setting;
  const verify = verifyBare(setting.jwks, alg);
  const batch = alg.startsWith('RS') ? 40 : 60;

  function makeCase(name: string, over: string | null, act: () => Promise<unknown>): Case {
    return {
      name: `${alg}, ${name}`,
      over: over === null ? null : `${alg}, ${over}`,
      batch,
      check: async () => assert.ok(await act()),
      prepare: () => {},
      run: () => repeat(batch, act),
    };
  }

  return [
    makeCase('jose jwtVerify', null, () => verify(accessToken)),
    makeCase('verify', 'jose jwtVerify', () => verifier.verify(accessToken)),
    makeCase('keyring, parent looked up', 'jose jwtVerify', () =>
      keyring.authenticate(`Bearer ${accessToken}`),
    ),
    makeCase('jose SignJWT', null, () => signBare(principal, setting.privateKey, alg)),
    makeCase('exchange', 'jose SignJWT', () => issuer.exchange(principal)),
  ];
}

// ── MCP ──────────────────────────────────────────────────────────────────────────────────────────

type Door = (request: Request) => Promise<Response>;

const REALM = 'bench';
const RESOURCE = 'http://127.0.0.1/mcp';
const CALLS = 30;

/** A server with one tool. */
function makeServer(): McpServer {
  const info = { name: 'bench', version: '1.0.0' };
  const server = new McpServer(info, { capabilities: { tools: {} } });
  server.registerTool('listThreats', { description: 'List threats.' }, () => ({
    content: [{ type: 'text', text: '[]' }],
  }));
  return server;
}

/**
 * The server as it is; behind the gate; and as it is with its body read as the gate reads it, which
 * spares the SDK two streams and shows what is left of the gate without that. Also a key for the
 * gate.
 */
async function openDoors() {
  const policy = definePolicy(catalog, { listThreats: ['threats:read'] });
  const store = memoryStore();
  const keyring = createKeyring({ prefix: PREFIX, catalog, store, peppers: PEPPERS });
  const input = { name: 'bench', scopes: ['threats:read'], expiresAt: 'never' } as const;
  const { key } = await keyring.issue(input, { entityUuid: ENTITY, scopes: 'all' });
  const handler = createMcpHandler(makeServer);
  const tools = [{ name: 'listThreats' }];
  const gate = createMcpGate({ keyring, policy, tools, realm: REALM, resource: RESOURCE });
  const doors: Readonly<Record<string, Door>> = {
    'no auth': (request) => handler.fetch(request),
    'no auth, body parsed before': async (request) => {
      const parsedBody: unknown = JSON.parse(await request.text());
      return handler.fetch(request, { parsedBody });
    },
    gate: async (request) => {
      const entry = await gate(request);
      return entry instanceof Response ? entry : handler.fetch(request, entry);
    },
  };
  return { doors, key };
}

/**
 * Calls the tool, not by `fetch`: a client as slow as the server hides half of what is measured.
 */
function caller(port: number, agent: Agent, key: string): () => Promise<string> {
  const params = { name: 'listThreats', arguments: {} };
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params });
  const headers = {
    'Content-Type': 'application/json',
    Accept: 'application/json, text/event-stream',
    Authorization: `Bearer ${key}`,
    'Content-Length': Buffer.byteLength(body),
  };
  return async () => {
    const sent = send({ port, path: '/mcp', method: 'POST', headers, agent }).end(body);
    const [response] = (await once(sent, 'response')) as [IncomingMessage];
    return text(response);
  };
}

function mcpCase(name: string, call: () => Promise<string>): Case {
  return {
    name: `MCP tools/call, ${name}`,
    over: name === 'no auth' ? null : 'MCP tools/call, no auth',
    batch: CALLS,
    check: async () => assert.match(await call(), /"text":"\[\]"/),
    prepare: () => {},
    run: () => repeat(CALLS, call),
  };
}

/** One case for each door, and a function that ends their servers. */
async function mcpCases() {
  const { doors, key } = await openDoors();
  const agent = new Agent({ keepAlive: true });
  const servers: Server[] = [];
  const cases: Case[] = [];
  for (const [name, door] of Object.entries(doors)) {
    const server = createServer(getRequestListener(door)).listen(0, '127.0.0.1');
    servers.push(server);
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    cases.push(mcpCase(name, caller(port, agent, key)));
  }
  const close = (): void => {
    agent.destroy();
    for (const server of servers) server.close();
  };
  return { cases, close };
}

// ── The run ──────────────────────────────────────────────────────────────────────────────────────

const tokens = await Promise.all(ALGORITHMS.map(tokenCases));
const mcp = await mcpCases();
const figures = await measure([...tokens.flat(), ...mcp.cases], ROUNDS);
mcp.close();

const rows = figures.map(({ name, ns, ratio, spread }) => {
  const speed = ratio === null ? '' : `${(1 / ratio).toFixed(2)} ×`;
  return [name, `${(ns / 1000).toFixed(1)} µs`, `±${Math.round(50 * spread)} %`, speed];
});
console.log(table(['job', 'median', 'spread', 'speed of bare'], rows));

for (const { name, ratio } of figures) {
  if (ratio === null) continue;
  const speed = `${name}: ${(1 / ratio).toFixed(2)} ×`;
  if (name.endsWith(', verify')) console.log(`${speed} the speed of jwtVerify (aim 0.9)`);
  if (name.endsWith(', gate')) console.log(`${speed} the speed without auth (aim 0.95)`);
}
