/**
 * What tokens cost compared with jose alone, and the MCP gate compared with no authentication:
 * `node bench/jwt.ts`.
 */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
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
import { measureApart, type Pairs } from './apart.ts';
import type { Case, Figure } from './harness.ts';
import { catalog, ENTITY, PREFIX, SCOPES } from './keys.ts';
import { aim, publish, quick, rowOf } from './report.ts';

const ROUNDS = quick ? 10 : 30;
const ALGORITHMS: readonly TokenAlgorithm[] = ['ES256', 'EdDSA', 'RS256'];
const ISSUER = 'https://acme.example';
const AUDIENCE = 'https://api.acme.example';
const PEPPERS = [{ id: 'bench', secret: 'for the bench alone, and not random at all' }];
const LIFE_SECONDS = 900;
const BATCH = 50;

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

const VERIFY = 'verify';
const BARE_VERIFY = 'jose jwtVerify';
const BARE_SIGN = 'jose SignJWT';

/** What is ours, and jose's part of it alone. */
const JOBS: Readonly<Record<string, string>> = {
  [VERIFY]: BARE_VERIFY,
  'keyring, parent looked up': BARE_VERIFY,
  exchange: BARE_SIGN,
};

async function tokenPair(alg: TokenAlgorithm, job: string): Promise<readonly Case[]> {
  const { issuer, verifier, keyring, principal, accessToken, ...keys } = await setUp(alg);
  const bareVerify = verifyBare(keys.jwks, alg);
  const acts: Readonly<Record<string, () => Promise<unknown>>> = {
    [BARE_VERIFY]: () => bareVerify(accessToken),
    [VERIFY]: () => verifier.verify(accessToken),
    'keyring, parent looked up': () => keyring.authenticate(`Bearer ${accessToken}`),
    [BARE_SIGN]: () => signBare(principal, keys.privateKey, alg),
    exchange: () => issuer.exchange(principal),
  };
  const bare = JOBS[job] as string;
  return [bare, job].map((name): Case => {
    const act = acts[name] as () => Promise<unknown>;
    return {
      name,
      over: bare,
      batch: BATCH,
      check: async () => assert.ok(await act()),
      prepare: () => {},
      run: () => repeat(BATCH, act),
    };
  });
}

// ── MCP ──────────────────────────────────────────────────────────────────────────────────────────

const PARSED = 'no auth, body parsed first';
const GATE = 'behind the gate';

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
 * The server behind the gate; and as it is with its body read as the gate reads it, which spares
 * the SDK two streams. Also a key for the gate.
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
    [PARSED]: async (request) => {
      const parsedBody: unknown = JSON.parse(await request.text());
      return handler.fetch(request, { parsedBody });
    },
    [GATE]: async (request) => {
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

async function mcpPair(): Promise<readonly Case[]> {
  const { doors, key } = await openDoors();
  const agent = new Agent({ keepAlive: true });
  const cases: Case[] = [];
  for (const [name, door] of Object.entries(doors)) {
    const server = createServer(getRequestListener(door)).listen(0, '127.0.0.1').unref();
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    const call = caller(port, agent, key);
    cases.push({
      name,
      over: PARSED,
      batch: CALLS,
      check: async () => assert.match(await call(), /"text":"\[\]"/),
      prepare: () => {},
      run: () => repeat(CALLS, call),
    });
  }
  return cases;
}

// ── The run ──────────────────────────────────────────────────────────────────────────────────────

const MCP = 'MCP tools/call';
const pairs: Record<string, Pairs[string]> = { [MCP]: mcpPair };
for (const alg of ALGORITHMS) {
  for (const job of Object.keys(JOBS)) pairs[`${alg}, ${job}`] = () => tokenPair(alg, job);
}

const figures = await measureApart(import.meta.url, pairs, ROUNDS);
if (figures !== null) {
  const speed = (pair: string) => 1 / (figures.get(pair)?.[1]?.ratio ?? Number.NaN);
  publish({
    name: 'jwt',
    title: 'Tokens and MCP',
    about:
      "Tokens beside jose's part of the work alone, and a tool call over HTTP beside the same " +
      'server without authentication, client included.',
    unit: 'ops/s',
    base: 'the bare one',
    rows: Array.from(figures, ([group, pair]) =>
      pair.map((figure) =>
        rowOf(figure, 'ops/s', { name: figure.name, group, ours: !isBare(figure) }),
      ),
    ).flat(),
    aims: [
      ...ALGORITHMS.map((alg) =>
        aim(`${alg}, verify, of jwtVerify`, speed(`${alg}, ${VERIFY}`), '≥', 0.92, '×'),
      ),
      aim(`${MCP}, of the server that parses the body first`, speed(MCP), '≥', 0.9, '×'),
    ],
  });
}

function isBare({ name, over }: Figure): boolean {
  return name === over;
}
