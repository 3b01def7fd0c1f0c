/**
 * The reference service's tokens over real sockets: every framework exchanges keys for them, and
 * only the right interface accepts them.
 */
import { randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import type { Server } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { decodeJwt } from 'jose';
import { createKeyring, StoreError } from 'keyscope';
import { cacheStore } from 'keyscope/cache';
import { memoryStore } from 'keyscope/stores/memory';
import { sqliteStore } from 'keyscope/stores/sqlite';
import { LRUCache } from 'lru-cache';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createServer as createExpress } from '../../examples/express/server.ts';
import { createServer as createFastify } from '../../examples/fastify/server.ts';
import { createServer as createHono } from '../../examples/hono/server.ts';
import { createServer as createMcp } from '../../examples/mcp/server.ts';
import {
  createServer as createResource,
  createTokens,
} from '../../examples/more/resource-server/server.ts';
import type { Platform } from '../../examples/platform/host/boot.ts';
import { ENTITY, OTHER_ENTITY, openPlatform, PREFIX } from '../../examples/platform/host/boot.ts';
import { listen, stop } from '../../examples/platform/host/listen.ts';
import { answerToken } from '../../examples/platform/host/token-endpoint.ts';
import { catalog } from '../../examples/platform/service/catalog.ts';
import { allOperations } from '../../examples/platform/service/policy.ts';
import { explain } from '../../examples/platform/service/problem.ts';

const GRANT = 'urn:ietf:params:oauth:grant-type:token-exchange';
const ACCESS_TOKEN = 'urn:ietf:params:oauth:token-type:access_token';
const PUBLIC = 'https://deception.example';
const authority = { entityId: ENTITY, entities: [OTHER_ENTITY], scopes: 'all' } as const;

const folder = mkdtempSync(join(tmpdir(), 'keyscope-tokens-'));
let platform: Platform;
const servers: Server[] = [];
const bases = { express: '', fastify: '', hono: '', mcp: '' };
type Base = keyof typeof bases;
let ahead = 0;

beforeAll(async () => {
  platform = await openPlatform(folder, { publicUrl: PUBLIC, now: () => Date.now() + ahead });
  const makers = {
    express: createExpress,
    fastify: createFastify,
    hono: createHono,
    mcp: createMcp,
  };
  for (const [name, create] of Object.entries(makers) as [Base, (typeof makers)[Base]][]) {
    const server = await create(platform);
    servers.push(server);
    bases[name] = await listen(server, 0);
  }
});
afterAll(async () => {
  await Promise.all(servers.map(stop));
  await platform.close();
  rmSync(folder, { recursive: true });
});

type Field = string | readonly string[] | undefined;
type Fields = Readonly<Record<string, Field>> & {
  readonly [N in 'scope' | 'entity_uuid' | 'audience' | 'resource']?: Field;
};
type Body = {
  readonly [Field in 'access_token' | 'error' | 'error_description' | 'detail']?: string;
};
type Exchanged = { readonly status: number; readonly headers: Headers; readonly body: Body };

function valuesOf(field: Field): readonly string[] {
  if (field === undefined) return [];
  return typeof field === 'string' ? [field] : field;
}

async function post(fields: Fields, at: Base = 'hono', init: RequestInit = {}): Promise<Exchanged> {
  const form = new URLSearchParams();
  for (const [name, value] of Object.entries(fields)) {
    for (const each of valuesOf(value)) form.append(name, each);
  }
  const response = await fetch(`${bases[at]}/token`, { method: 'POST', body: form, ...init });
  return {
    status: response.status,
    headers: response.headers,
    body: (await response.json().catch(() => ({}))) as Body,
  };
}
const asked = (key: string): Fields => ({
  grant_type: GRANT,
  subject_token: key,
  subject_token_type: ACCESS_TOKEN,
});

const issue = () =>
  platform.keyring.issue(
    {
      name: 't',
      scopes: ['threats:read', 'reports:read'],
      expiresAt: 'never',
      accessibleEntities: [OTHER_ENTITY],
    },
    authority,
  );
async function tokenFor(key: string, more: Fields = {}): Promise<string> {
  const { status, body } = await post({ ...asked(key), ...more });
  expect(status).toBe(200);
  return String(body.access_token);
}
const get = async (url: string, credential: string) => {
  const response = await fetch(url, { headers: { Authorization: `Bearer ${credential}` } });
  return [response.status, await response.json()] as const;
};

describe('POST /v1/token', () => {
  it.each(['express', 'fastify', 'hono', 'mcp'] as const)(
    'gives a token for a key, on %s, that opens the REST door there',
    async (at) => {
      const { key, info } = await issue();
      const { status, headers, body } = await post(asked(key), at);
      expect([status, headers.get('Cache-Control'), headers.get('Pragma')]).toEqual([
        200,
        'no-store',
        'no-cache',
      ]);
      const { access_token: token, ...rest } = body;
      const scope = 'threats:read reports:read';
      expect(rest).toEqual({
        issued_token_type: ACCESS_TOKEN,
        token_type: 'Bearer',
        expires_in: 900,
        scope,
      });
      const me = { entity_uuid: ENTITY, key_id: info.keyId, scopes: scope.split(' ') };
      expect(await get(`${bases[at]}/me`, String(token))).toEqual([
        200,
        { ...me, accessible_entities: [ENTITY, OTHER_ENTITY] },
      ]);
    },
  );

  // It once answered 503 without a report.
  it('reports an outage of the store', async () => {
    const { key } = await issue();
    const told: unknown[] = [];
    const { keyring, domain, tokens } = platform;
    const away = () => Promise.reject(new StoreError('the store is away'));
    if (tokens === undefined) throw new Error('the platform makes no tokens');
    const service = {
      keyring: { ...keyring, admit: away },
      domain,
      tokens,
      report: (error: unknown) => told.push(error),
    };
    const server = await createHono(service);
    const url = await listen(server, 0);
    const response = await fetch(`${url}/token`, {
      method: 'POST',
      body: new URLSearchParams(asked(key) as Record<string, string>),
    });
    expect([response.status, told]).toEqual([503, [new StoreError('the store is away')]]);
    await stop(server);
  });

  it('narrows scopes and entities', async () => {
    const { key } = await issue();
    const token = await tokenFor(key, { scope: 'threats:read', entity_uuid: ENTITY });
    const [, me] = await get(`${bases.hono}/me`, token);
    expect(me).toMatchObject({ scopes: ['threats:read'], accessible_entities: [ENTITY] });
    expect((await get(`${bases.hono}/threats`, token))[0]).toBe(200);
    expect((await get(`${bases.hono}/reports/executive`, token))[0]).toBe(403);
    expect((await get(`${bases.hono}/threats?entity_uuid=${OTHER_ENTITY}`, token))[0]).toBe(403);
  });

  const REFUSED: readonly (readonly [string, string, Fields])[] = [
    ['no grant type', 'invalid_request', { grant_type: undefined }],
    ['another grant type', 'unsupported_grant_type', { grant_type: 'client_credentials' }],
    ['no subject', 'invalid_request', { subject_token: undefined }],
    ['an empty subject', 'invalid_request', { subject_token: '' }],
    ['a malformed key', 'invalid_request', { subject_token: 'lure_x' }],
    ['no type of subject', 'invalid_request', { subject_token_type: undefined }],
    [
      'another type of subject',
      'invalid_request',
      { subject_token_type: 'urn:ietf:params:oauth:token-type:saml2' },
    ],
    [
      'a refresh token',
      'invalid_request',
      { requested_token_type: 'urn:ietf:params:oauth:token-type:refresh_token' },
    ],
    ['an actor', 'invalid_request', { actor_token: 'x' }],
    ['the type of an actor', 'invalid_request', { actor_token_type: ACCESS_TOKEN }],
    ['a repeated parameter', 'invalid_request', { scope: ['threats:read', 'reports:read'] }],
    ['a wider scope', 'invalid_scope', { scope: 'threats:read users:delete' }],
    ['a wildcard', 'invalid_scope', { scope: '*:*' }],
    ['two spaces between scopes', 'invalid_scope', { scope: 'threats:read  reports:read' }],
    ['a foreign entity', 'invalid_target', { entity_uuid: '33333333-3333-4333-8333-333333333333' }],
    ['a malformed entity', 'invalid_request', { entity_uuid: 'mine' }],
    ['another resource', 'invalid_target', { resource: 'https://other.example' }],
    ['another audience', 'invalid_target', { audience: '__proto__' }],
    ['two resources', 'invalid_target', { resource: [`${PUBLIC}/v1`, `${PUBLIC}/mcp`] }],
  ];
  it.each(REFUSED)('refuses %s as %s', async (_what, error, fields) => {
    const { key } = await issue();
    for (const at of ['express', 'fastify', 'hono'] as const) {
      const { status, headers, body } = await post({ ...asked(key), ...fields }, at);
      expect([status, headers.get('Cache-Control'), body.error]).toEqual([400, 'no-store', error]);
      expect(headers.get('Pragma')).toBe('no-cache');
      // The characters of RFC 6749 §5.2, and nothing from the input.
      expect(body.error_description).toMatch(/^[ !#-[\]-~]+$/);
      expect(JSON.stringify(body)).not.toContain(key);
      for (const field of [fields.scope, fields.entity_uuid, fields.audience, fields.resource]) {
        for (const sent of valuesOf(field)) expect(body.error_description).not.toContain(sent);
      }
    }
  });

  // `scope=` once gave a token with all scopes of the key instead of none.
  it.each(['scope', 'entity_uuid'])('refuses an empty %s', async (name) => {
    const { key } = await issue();
    const { status, body } = await post({ ...asked(key), [name]: '' });
    expect([status, body.error]).toEqual([400, 'invalid_request']);
    expect(body.error_description).toMatch(/need a value/);
  });

  // A revoked key could once be exchanged while a cache had it. Its token then lived for minutes on
  // servers that do not look up the key.
  it('looks up the key without the cache', async () => {
    const inner = memoryStore();
    const cache = new LRUCache<string, object>({ max: 10 });
    const options = { prefix: PREFIX, policy: allOperations, peppers: 'none' } as const;
    const store = cacheStore(inner, { cache, maxStalenessMs: 60_000 });
    const keyring = createKeyring({ ...options, store });
    const elsewhere = createKeyring({ ...options, store: inner });
    const input = { name: 't', scopes: ['threats:read'], expiresAt: 'never' } as const;
    const { key, info } = await keyring.issue(input, { entityId: ENTITY, scopes: 'all' });
    await keyring.verify(key);
    await elsewhere.revoke(info.keyId, { entityId: ENTITY });
    await keyring.verify(key);
    const exchange = () => Promise.reject(new Error('exchanged'));
    const service = { keyring, issuers: { [PUBLIC]: { exchange } }, realm: 'x', onError: () => {} };
    const form = new URLSearchParams(asked(key) as Record<string, string>);
    const { status } = await answerToken(service, 'application/x-www-form-urlencoded', `${form}`);
    expect(status).toBe(400);
  });

  // The answer once said that the key cannot address its own entities.
  it('tells a key with very many entities to request fewer', async () => {
    const many = Array.from({ length: 300 }, () => randomUUID());
    const input = {
      name: 't',
      scopes: ['threats:read'],
      expiresAt: 'never',
      accessibleEntities: many,
    } as const;
    const { key } = await platform.keyring.issue(input, {
      entityId: ENTITY,
      entities: many,
      scopes: 'all',
    });
    const { status, body } = await post(asked(key));
    expect([status, body]).toEqual([
      400,
      {
        error: 'invalid_target',
        error_description: 'The token would be too long: ask for fewer entities.',
      },
    ]);
    expect((await post({ ...asked(key), entity_uuid: many.slice(0, 200) })).status).toBe(200);
    const { body: foreign } = await post({ ...asked(key), entity_uuid: randomUUID() });
    expect(foreign.error_description).toBe('The key cannot address all of these entities.');
  });

  it('ignores unknown parameters', async () => {
    const { key } = await issue();
    const token = await tokenFor(key, { client_id: 'x', constructor: 'x' });
    expect((await get(`${bases.hono}/me`, token))[0]).toBe(200);
    expect((await post({ ...asked(key), client_id: ['x', 'y'] })).body.error).toBe(
      'invalid_request',
    );
  });

  it('accepts only a form, and only POST', async () => {
    const { key } = await issue();
    const json = {
      body: JSON.stringify(asked(key)),
      headers: { 'Content-Type': 'application/json' },
    };
    expect((await post({}, 'hono', json)).body.error).toBe('invalid_request');
    // The refusal names the real limit. It once refused 40,000 bytes and named 65,536.
    expect((await post({ ...asked(key), padding: 'x'.repeat(65_000) })).status).toBe(200);
    const large = await post({ ...asked(key), padding: 'x'.repeat(66_000) });
    expect([large.status, large.body.detail]).toEqual([
      413,
      'The body is too large: at most 64 KiB.',
    ]);
    const wrong = await fetch(`${bases.hono}/token`);
    expect([wrong.status, wrong.headers.get('Allow')]).toEqual([405, 'OPTIONS, POST']);
    expect((await fetch(`${bases.hono}/token`, { method: 'OPTIONS' })).status).toBe(204);
    // A key in the query is ignored.
    const query = new URLSearchParams(asked(key) as Record<string, string>);
    expect((await fetch(`${bases.hono}/token?${query}`, { method: 'POST' })).status).toBe(400);
  });

  it('refuses to exchange a token or an ended key', async () => {
    const { key, info } = await issue();
    const token = await tokenFor(key);
    expect((await post(asked(token))).body.error).toBe('invalid_request');
    await platform.keyring.revoke(info.keyId, authority);
    expect(await post(asked(key))).toMatchObject({
      status: 400,
      body: { error: 'invalid_request' },
    });
  });

  it('counts as a use of the key, and emits an event', async () => {
    const { key, info } = await issue();
    await tokenFor(key);
    await platform.keyring.flush();
    const used = await platform.keyring.get(info.keyId, authority);
    expect(used !== null && 'lastUsedAt' in used && used.lastUsedAt).toBeInstanceOf(Date);
  });

  it('makes tokens that end with their key here', async () => {
    const { key, info } = await issue();
    const token = await tokenFor(key);
    expect((await get(`${bases.express}/me`, token))[0]).toBe(200);
    await platform.keyring.revoke(info.keyId, authority);
    expect((await get(`${bases.express}/me`, token))[0]).toBe(401);
  });
});

describe('a token', () => {
  const mcpUrl = () => new URL(`${bases.mcp}`.replace('/v1', '/mcp'));

  it('opens MCP if it is for MCP, and REST if it is for REST', async () => {
    const { key, info } = await issue();
    const rest = await tokenFor(key);
    const mcp = await tokenFor(key, { resource: `${PUBLIC}/mcp` });
    expect([decodeJwt(rest).aud, decodeJwt(mcp).aud]).toEqual([`${PUBLIC}/v1`, `${PUBLIC}/mcp`]);
    expect((await get(`${bases.mcp}/me`, rest))[0]).toBe(200);
    expect((await get(`${bases.mcp}/me`, mcp))[0]).toBe(401);

    const connect = async (token: string) => {
      const client = new Client({ name: 'test', version: '1.0.0' });
      const requestInit = { headers: { Authorization: `Bearer ${token}` } };
      await client.connect(new StreamableHTTPClientTransport(mcpUrl(), { requestInit }));
      return client;
    };
    const client = await connect(mcp);
    const { structuredContent } = await client.callTool({ name: 'whoami', arguments: {} });
    expect(structuredContent).toMatchObject({ key_id: info.keyId });
    await client.close();
    await expect(connect(rest)).rejects.toThrow();
  });
});

describe('a resource server', () => {
  let resource: Server;
  let strict: Server;
  let urls: readonly [string, string];

  beforeAll(async () => {
    const jwks = new URL('/.well-known/jwks.json', bases.fastify);
    const options = {
      issuer: PUBLIC,
      audience: `${PUBLIC}/v1`,
      jwks,
      now: () => Date.now() + ahead,
    };
    const tokens = createTokens(options);
    resource = createResource(tokens, 'reports');
    // Another keyring on the same file, like that of another process.
    const store = sqliteStore(new DatabaseSync(platform.file));
    const peppers = [
      { id: 'unused', secret: 'only looks keys up that tokens name, under a pepper of its own' },
    ];
    const keyring = createKeyring({
      prefix: PREFIX,
      catalog,
      store,
      peppers,
      tokens,
      checkParent: true,
    });
    strict = createResource(keyring, 'reports');
    urls = [await listen(resource, 0), await listen(strict, 0)];
  });
  afterAll(async () => {
    await Promise.all([resource, strict].map(stop));
  });

  it('finds a key set that caches may keep for some minutes', async () => {
    const { headers } = await fetch(new URL('/.well-known/jwks.json', bases.fastify));
    expect(headers.get('Cache-Control')).toBe('public, max-age=300');
  });

  it('accepts tokens with the published keys, without a database', async () => {
    const { key, info } = await issue();
    const token = await tokenFor(key);
    expect(await get(`${urls[0]}/me`, token)).toEqual([
      200,
      expect.objectContaining({ key_id: info.keyId }),
    ]);
    expect((await get(`${urls[0]}/reports/executive?entity_uuid=${OTHER_ENTITY}`, token))[0]).toBe(
      200,
    );
    const narrowed = await tokenFor(key, { scope: 'threats:read' });
    expect((await get(`${urls[0]}/reports/executive`, narrowed))[0]).toBe(403);
    for (const credential of [
      key,
      `${token}x`,
      await tokenFor(key, { resource: `${PUBLIC}/mcp` }),
    ]) {
      expect((await get(`${urls[0]}/me`, credential))[0]).toBe(401);
    }
    const none = await fetch(`${urls[0]}/me`);
    expect([none.status, none.headers.get('WWW-Authenticate')]).toEqual([
      401,
      'Bearer realm="reports"',
    ]);
    ahead = 901_000;
    expect((await get(`${urls[0]}/me`, token))[0]).toBe(401);
    ahead = 0;
  });

  // It once answered 503 without a report.
  it('reports why it cannot load the keys, and does not refuse the token', async () => {
    const { key } = await issue();
    const token = await tokenFor(key);
    const told: unknown[] = [];
    const jwks = new URL('/nowhere', bases.fastify);
    const tokens = createTokens({ issuer: PUBLIC, audience: `${PUBLIC}/v1`, jwks });
    const server = createResource(tokens, 'reports', (error) => told.push(error));
    const url = await listen(server, 0);
    expect((await get(`${url}/me`, key))[0]).toBe(401);
    expect((await get(`${url}/me`, token))[0]).toBe(503);
    expect(told.map(explain)).toEqual([
      'jwks: the list cannot be fetched or used: the answer has the status 404',
    ]);
    await stop(server);
  });

  it('does not notice a revocation until the token ends', async () => {
    const { key, info } = await issue();
    const token = await tokenFor(key);
    await platform.keyring.revoke(info.keyId, authority);
    expect((await get(`${urls[0]}/me`, token))[0]).toBe(200);
  });

  it('refuses every token with a keyring that has the wrong peppers', async () => {
    const { key } = await issue();
    expect((await get(`${urls[1]}/me`, await tokenFor(key)))[0]).toBe(401);
  });

  it('notices a revocation with the keyring of the service', async () => {
    const { key, info } = await issue();
    const token = await tokenFor(key);
    const server = createResource(platform.keyring, 'reports');
    const url = await listen(server, 0);
    expect((await get(`${url}/me`, token))[0]).toBe(200);
    await platform.keyring.revoke(info.keyId, authority);
    expect((await get(`${url}/me`, token))[0]).toBe(401);
    await stop(server);
  });
});
