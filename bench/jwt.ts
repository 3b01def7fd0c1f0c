/**
 * What tokens cost beside bare jose, and the MCP gate beside no auth: `npm run bench:jwt`. Figures
 * of one run, in rounds whose order is drawn anew. Prints ratios and aims; asserts no time.
 */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { Agent, createServer, request as send } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { getRequestListener } from '@hono/node-server';
import { createMcpHandler, McpServer } from '@modelcontextprotocol/server';
import { createLocalJWKSet, exportJWK, generateKeyPair, jwtVerify, SignJWT } from 'jose';
import { createKeyring, definePolicy } from 'keyscope';
import { createTokenIssuer, createTokenVerifier, type TokenAlgorithm } from 'keyscope/jwt';
import { createMcpGate } from 'keyscope/mcp';
import { memoryStore } from 'keyscope/stores/memory';
import type { Case } from './harness.ts';
import { measure, table } from './harness.ts';
import { catalog, ENTITY, PREFIX, SCOPES } from './keys.ts';

const ROUNDS = process.argv.includes('--quick') ? 10 : 100;
const [issuer, audience] = ['https://acme.example', 'https://api.acme.example'];
const peppers = [{ id: 'bench', secret: 'for the bench alone, and not random at all' }];

async function casesOf(alg: TokenAlgorithm): Promise<readonly Case[]> {
  const pair = await generateKeyPair(alg, { extractable: true });
  const [privateKey, publicKey] = [
    await exportJWK(pair.privateKey),
    await exportJWK(pair.publicKey),
  ];
  const jwks = { keys: [{ ...publicKey, alg, kid: 'bench', use: 'sig' }] };
  const tokens = createTokenIssuer({
    issuer,
    audience,
    privateKey: pair.privateKey,
    alg,
    kid: 'bench',
  });
  const verifier = createTokenVerifier({ issuer, audience, jwks, algorithms: [alg], catalog });
  const store = memoryStore();
  const keyring = createKeyring({ prefix: PREFIX, catalog, store, peppers, tokens: verifier });
  const input = { name: 'bench', scopes: [...SCOPES], expiresAt: 'never' } as const;
  const { key } = await keyring.issue(input, { entityUuid: ENTITY });
  const principal = await keyring.verify(key);
  const { accessToken } = await tokens.exchange(principal);
  const bare = createLocalJWKSet(jwks);
  const requiredClaims =
    'iss aud exp iat jti sub client_id scope entity_uuid accessible_entities'.split(' ');
  const options = { issuer, audience, algorithms: [alg], typ: 'at+jwt', requiredClaims };
  const { keyId, entityUuid, accessibleEntities, scopes } = principal;
  const sign = () => {
    const now = Math.floor(Date.now() / 1000);
    const claims = {
      client_id: keyId,
      scope: scopes.join(' '),
      entity_uuid: entityUuid,
      accessible_entities: accessibleEntities,
    };
    return new SignJWT(claims)
      .setProtectedHeader({ alg, typ: 'at+jwt', kid: 'bench' })
      .setIssuer(issuer)
      .setAudience(audience)
      .setSubject(keyId)
      .setIssuedAt(now)
      .setExpirationTime(now + 900)
      .setJti(crypto.randomUUID())
      .sign(pair.privateKey);
  };
  assert.equal(typeof privateKey.kty, 'string');
  const batch = alg.startsWith('RS') ? 40 : 60;
  const repeat = (act: () => Promise<unknown>) => async () => {
    for (let i = 0; i < batch; i++) await act();
  };
  const make = (name: string, over: string | null, act: () => Promise<unknown>): Case => ({
    name: `${alg}, ${name}`,
    over: over === null ? null : `${alg}, ${over}`,
    batch,
    check: async () => assert.ok(await act()),
    prepare: () => {},
    run: repeat(act),
  });
  return [
    make('jose jwtVerify', null, () => jwtVerify(accessToken, bare, options)),
    make('verify', 'jose jwtVerify', () => verifier.verify(accessToken)),
    make('keyring, parent looked up', 'jose jwtVerify', () =>
      keyring.authenticate(`Bearer ${accessToken}`),
    ),
    make('jose SignJWT', null, sign),
    make('exchange', 'jose SignJWT', () => tokens.exchange(principal)),
  ];
}

// ── MCP ───────────────────────────────────────────────────────────────────────────────────────────────

/**
 * One server, one tool, on a socket: as it is; behind the gate; and as it is with its body read as
 * the gate reads it, which spares the SDK two streams and shows what is left of the gate without
 * that.
 */
async function mcpCases(): Promise<{
  readonly cases: readonly Case[];
  readonly close: () => unknown;
}> {
  const policy = definePolicy(catalog, { listThreats: ['threats:read'] });
  const keyring = createKeyring({ prefix: PREFIX, catalog, store: memoryStore(), peppers });
  const input = { name: 'bench', scopes: ['threats:read'], expiresAt: 'never' } as const;
  const { key } = await keyring.issue(input, { entityUuid: ENTITY });
  const handler = createMcpHandler(() => {
    const server = new McpServer(
      { name: 'bench', version: '1.0.0' },
      { capabilities: { tools: {} } },
    );
    server.registerTool('listThreats', { description: 'List threats.' }, () => ({
      content: [{ type: 'text', text: '[]' }],
    }));
    return server;
  });
  const resource = 'http://127.0.0.1/mcp';
  const gate = createMcpGate({
    keyring,
    policy,
    tools: [{ name: 'listThreats' }],
    realm: 'bench',
    resource,
  });
  const doors = {
    'no auth': (request: Request) => handler.fetch(request),
    'no auth, body parsed before': async (request: Request) =>
      handler.fetch(request, { parsedBody: JSON.parse(await request.text()) }),
    gate: async (request: Request) => {
      const entry = await gate(request);
      return entry instanceof Response ? entry : handler.fetch(request, entry);
    },
  };
  const servers = Object.values(doors).map((door) =>
    createServer(getRequestListener(door)).listen(0, '127.0.0.1'),
  );
  await Promise.all(servers.map((server) => once(server, 'listening')));
  const ports = servers.map((server) => (server.address() as AddressInfo).port);
  const body = JSON.stringify({
    jsonrpc: '2.0',
    id: 1,
    method: 'tools/call',
    params: { name: 'listThreats', arguments: {} },
  });
  const headers = {
    'Content-Type': 'application/json',
    Accept: 'application/json, text/event-stream',
    Authorization: `Bearer ${key}`,
    'Content-Length': Buffer.byteLength(body),
  };
  // Not `fetch`: a client that takes as long as the server hides half of what is measured.
  const agent = new Agent({ keepAlive: true });
  const cases = Object.keys(doors).map((name, i): Case => {
    const call = async () => {
      const sent = send({ port: ports[i], path: '/mcp', method: 'POST', headers, agent }).end(body);
      const [response] = await once(sent, 'response');
      return text(response);
    };
    return {
      name: `MCP tools/call, ${name}`,
      over: name === 'no auth' ? null : 'MCP tools/call, no auth',
      batch: 30,
      check: async () => assert.match(await call(), /"text":"\[\]"/),
      prepare: () => {},
      run: async () => {
        for (let n = 0; n < 30; n++) await call();
      },
    };
  });
  const close = () => {
    agent.destroy();
    for (const server of servers) server.close();
  };
  return { cases, close };
}

const cases = (await Promise.all((['ES256', 'EdDSA', 'RS256'] as const).map(casesOf))).flat();
const mcp = await mcpCases();
const figures = await measure([...cases, ...mcp.cases], ROUNDS);
mcp.close();
const rows = figures.map(({ name, ns, ratio, spread }) => {
  const speed = ratio === null ? '' : `${(1 / ratio).toFixed(2)} ×`;
  return [name, `${(ns / 1000).toFixed(1)} µs`, `±${Math.round(50 * spread)} %`, speed];
});
console.log(table(['job', 'median', 'spread', 'speed of bare'], rows));
for (const { name, ratio } of figures) {
  if (name.endsWith(', verify') && ratio !== null)
    console.log(`${name}: ${(1 / ratio).toFixed(2)} × the speed of jwtVerify (aim 0.9)`);
  if (name.endsWith(', gate') && ratio !== null)
    console.log(`${name}: ${(1 / ratio).toFixed(2)} × the speed without auth (aim 0.95)`);
}
