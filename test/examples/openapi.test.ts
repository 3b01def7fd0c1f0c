/** The OpenAPI document: it is valid, matches the answers, and can generate a client. */
import { mkdtempSync, rmSync } from 'node:fs';
import type { Server } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Validator } from '@seriousme/openapi-schema-validator';
import { diffOperations } from 'keyscope/openapi';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { z } from 'zod';
import { createServer as createExpress } from '../../examples/express/server.ts';
import { createServer as createFastify } from '../../examples/fastify/server.ts';
import { createServer as createHono } from '../../examples/hono/server.ts';
import { createServer as createMcp } from '../../examples/mcp/server.ts';
import { tools } from '../../examples/mcp/tools.ts';
import type { Platform } from '../../examples/platform/host/boot.ts';
import { ENTITY, openPlatform } from '../../examples/platform/host/boot.ts';
import { listen, stop } from '../../examples/platform/host/listen.ts';
import { openApi } from '../../examples/platform/host/openapi.ts';
import { tokenAnswer, tokenError } from '../../examples/platform/host/token-request.ts';
import { keySet } from '../../examples/platform/host/tokens.ts';
import { catalog } from '../../examples/platform/service/catalog.ts';
import type { Operation } from '../../examples/platform/service/policy.ts';
import { policy } from '../../examples/platform/service/policy.ts';
import { routes } from '../../examples/platform/service/routes.ts';
import { shapes } from '../../examples/platform/service/shapes.ts';
import { compileClient } from '../support/compiled-client.ts';

interface Described {
  readonly operationId: string;
  readonly responses: Readonly<Record<string, { readonly $ref?: string }>>;
  readonly summary: string;
  readonly security: readonly Record<string, string[]>[];
}
const PUBLIC = 'https://deception.example';
const described = (): readonly Described[] => {
  const { paths } = openApi(PUBLIC) as {
    readonly paths: Readonly<Record<string, Readonly<Record<string, Described>>>>;
  };
  return Object.values(paths).flatMap((methods) => Object.values(methods));
};
// Everyone may call these.
const OPEN = ['exchangeToken', 'readKeySet', 'readMcpMetadata'];

const folder = mkdtempSync(join(tmpdir(), 'keyscope-openapi-'));
let platform: Platform;
const servers: Server[] = [];
const bases = { express: '', fastify: '', hono: '', mcp: '' };
let key = '';

beforeAll(async () => {
  platform = await openPlatform(folder, { publicUrl: PUBLIC });
  const makers = {
    express: createExpress,
    fastify: createFastify,
    hono: createHono,
    mcp: createMcp,
  };
  for (const [name, create] of Object.entries(makers)) {
    const server = await create(platform);
    servers.push(server);
    bases[name as keyof typeof bases] = await listen(server, 0);
  }
  const input = {
    name: 'all',
    scopes: [...catalog.all],
    expiresAt: 'never',
    justification: 'to test',
  } as const;
  ({ key } = await platform.keyring.issue(input, { entityId: ENTITY, scopes: 'all' }));
});
afterAll(async () => {
  await Promise.all(servers.map(stop));
  await platform.close();
  rmSync(folder, { recursive: true });
});

/** Checks that an answer fits its schema and has no further field. */
async function fits(schema: z.ZodType | null, response: Response): Promise<void> {
  const text = await response.text();
  if (schema === null) return expect(text).toBe('');
  const body: unknown = JSON.parse(text);
  expect(schema.parse(body)).toEqual(body);
}

const exchange = (at: keyof typeof bases, fields: Readonly<Record<string, string>>) =>
  fetch(`${bases[at]}/token`, {
    method: 'POST',
    body: new URLSearchParams({
      grant_type: 'urn:ietf:params:oauth:grant-type:token-exchange',
      subject_token: key,
      subject_token_type: 'urn:ietf:params:oauth:token-type:access_token',
      ...fields,
    }),
  });

describe('the document', () => {
  it('passes a validator of OpenAPI 3.1', async () => {
    const validator = new Validator();
    const { valid, errors } = await validator.validate({ ...openApi(PUBLIC) });
    expect(errors).toBeUndefined();
    expect([valid, validator.version]).toEqual([true, '3.1']);
  });

  it('is the same on all servers, and needs no key', async () => {
    const urls = Object.values(bases).map((base) => `${base}/openapi.json`);
    const texts = await Promise.all(urls.map(async (url) => (await fetch(url)).text()));
    expect(new Set(texts).size).toBe(1);
    expect(JSON.parse(texts[0] ?? '')).toEqual(openApi(PUBLIC));
  });

  it('names every route with the scopes of its policy, and the open endpoints', () => {
    const found = described();
    const names = [...routes.map(({ operation }) => operation), ...OPEN];
    expect(found.map(({ operationId }) => operationId).sort()).toEqual(names.sort());
    for (const { operationId, security } of found) {
      const wanted = OPEN.includes(operationId)
        ? []
        : [{ bearerAuth: policy.requires(operationId as Operation) }];
      expect([operationId, security]).toEqual([operationId, wanted]);
    }
  });

  it('agrees with the policy, and lists the operations without a scope', () => {
    const { secured, open, ...differences } = diffOperations(openApi(PUBLIC), { policy });
    const idsOf = (found: typeof open) => found.map(({ operationId }) => operationId).sort();
    expect(idsOf(secured)).toEqual(routes.map(({ operation }) => operation).sort());
    expect(idsOf(open)).toEqual([...OPEN].sort());
    expect(Object.values(differences).flat()).toEqual([]);
  });

  it('describes each operation like its MCP tool', () => {
    const said = new Map(described().map(({ operationId, summary }) => [operationId, summary]));
    expect(tools.map(({ name }) => said.get(name))).toEqual(
      tools.map(({ description }) => description),
    );
  });

  it('describes the answer of each operation', async () => {
    const send = (method: string, path: string, body?: object) => {
      const headers = { Authorization: `Bearer ${key}`, 'Content-Type': 'application/json' };
      return fetch(bases.hono + path, {
        method,
        headers,
        ...(body && { body: JSON.stringify(body) }),
      });
    };
    const bodies: { readonly [O in Operation]?: object } = {
      updateThreat: { status: 'resolved' },
      createCanary: { name: 'Wages', kind: 'link' },
      updateCanary: { notes: 'moved' },
      createUser: { email: 'dea@example.com', name: 'Dea', role: 'viewer' },
    };
    // Deletions come after reads.
    const last = routes.filter(({ method }) => method === 'DELETE');
    for (const route of [...routes.filter((one) => !last.includes(one)), ...last]) {
      const path = route.path.replace('/v1', '');
      const { items = [] } = path.includes(':id')
        ? ((await (await send('GET', path.replace(/\/:id.*$/, ''))).json()) as {
            items: { id: string }[];
          })
        : {};
      const response = await send(
        route.method,
        path.replace(':id', items[0]?.id ?? ''),
        bodies[route.operation],
      );
      expect([route.operation, response.status]).toEqual([route.operation, route.status]);
      await fits(route.answer, response);
    }
  });

  it('describes the refusals of each operation, with their headers', async () => {
    const { components } = openApi(PUBLIC) as unknown as {
      components: { responses: Record<string, { readonly headers?: object }> };
    };
    const bare = await platform.keyring.issue(
      { name: 'n', scopes: [], expiresAt: 'never' },
      { entityId: ENTITY, scopes: 'all' },
    );
    const call = (path: string, credential = key, { headers = {}, ...init }: RequestInit = {}) =>
      fetch(bases.hono + path, {
        ...init,
        headers: { Authorization: `Bearer ${credential}`, ...headers },
      });
    const user = JSON.stringify({ email: 'twice@example.com', name: 'T', role: 'viewer' });
    const post = (body: string, type = 'application/json') =>
      call('/users', key, { method: 'POST', body, headers: { 'Content-Type': type } });
    await post(user);
    const refusals: readonly (readonly [Operation, number, Response])[] = [
      ['listThreats', 400, await call('/threats?entity_uuid=x')],
      ['listThreats', 401, await call('/threats', 'x')],
      ['listThreats', 403, await call('/threats', bare.key)],
      ['readThreat', 404, await call('/threats/x')],
      ['createUser', 409, await post(user)],
      ['createUser', 413, await post('x'.repeat(70_000))],
      ['createUser', 415, await post(user, 'text/plain')],
    ];
    const operations = described();
    for (const [operation, status, response] of refusals) {
      const { responses } = operations.find(
        ({ operationId }) => operationId === operation,
      ) as Described;
      const name = responses[status]?.$ref?.replace('#/components/responses/', '') ?? '';
      expect([operation, response.status]).toEqual([operation, status]);
      const refusal = components.responses[name];
      expect(refusal, name).toBeDefined();
      const headers = Object.keys(refusal?.headers ?? {});
      const sent = ['WWW-Authenticate', 'Retry-After'].filter((header) =>
        response.headers.has(header),
      );
      expect([operation, status, headers]).toEqual([operation, status, sent]);
      expect(response.headers.get('Content-Type')).toBe('application/problem+json');
      await fits(shapes.Problem, response);
    }
  });

  it('leaves out the exchange if the server does not make tokens', async () => {
    const { keyring, domain } = platform;
    const server = await createHono({ keyring, domain, publicUrl: PUBLIC });
    try {
      const base = await listen(server, 0);
      const { paths } = (await (await fetch(new URL('/v1/openapi.json', base))).json()) as {
        paths: object;
      };
      const exchange = ['/v1/token', '/.well-known/jwks.json'];
      const { paths: all } = openApi(PUBLIC) as { readonly paths: object };
      expect(Object.keys(paths)).toEqual(
        Object.keys(all).filter((path) => !exchange.includes(path)),
      );
      for (const path of exchange)
        expect((await fetch(new URL(path, base), { method: 'POST' })).status).toBe(404);
    } finally {
      server.close();
    }
  });

  it('describes the answers of the token endpoint, and the published keys', async () => {
    for (const at of ['express', 'fastify', 'hono', 'mcp'] as const) {
      const jwt = {
        requested_token_type: 'urn:ietf:params:oauth:token-type:jwt',
        resource: `${PUBLIC}/mcp`,
      };
      for (const fields of [{}, { scope: 'threats:read' }, jwt]) {
        const response = await exchange(at, fields);
        expect(response.status).toBe(200);
        await fits(tokenAnswer, response);
      }
      const errors = new Set<string>();
      for (const fields of [
        { grant_type: 'x' },
        { subject_token: 'x' },
        { scope: 'x:y' },
        { resource: 'x' },
      ]) {
        const response = await exchange(at, fields);
        expect(response.status).toBe(400);
        errors.add(tokenError.parse(await response.clone().json()).error);
        await fits(tokenError, response);
      }
      expect([...errors].sort()).toEqual([...tokenError.shape.error.options].sort());
      const large = await exchange(at, { padding: 'x'.repeat(70_000) });
      expect(large.status).toBe(413);
      await fits(shapes.Problem, large);
      const keys = await fetch(new URL('/.well-known/jwks.json', bases[at]));
      expect(keys.status).toBe(200);
      await fits(keySet, keys);
    }
  });

  it('describes the metadata for MCP clients, and the answer without MCP', async () => {
    const path = '/.well-known/oauth-protected-resource/mcp';
    const told = await fetch(new URL(path, bases.mcp));
    const none = await fetch(new URL(path, bases.hono));
    expect([told.status, none.status]).toEqual([200, 404]);
    await fits(shapes.ProtectedResource, told);
    await fits(shapes.Problem, none);
  });
});

/** Code of a user of the client, checked against the generated types. */
const CLIENT = `
import createClient from 'openapi-fetch';
import type { components, paths } from './api.ts';
const client = createClient<paths>({ baseUrl: BASE_URL });
export async function scopes(credential: string): Promise<readonly string[]> {
  const headers = { Authorization: 'Bearer ' + credential };
  const { data, error } = await client.GET('/v1/me', { headers });
  if (data === undefined) throw new Error(error.title);
  return data.scopes;
}
type Token = components['schemas']['Token'];
type Threat = components['schemas']['Threat'];
const GRANT = 'urn:ietf:params:oauth:grant-type:token-exchange';
const FORM = 'application/x-www-form-urlencoded';
export async function exchange(key: string, scope: string): Promise<Token> {
  const body: paths['/v1/token']['post']['requestBody']['content'][typeof FORM] = {
    grant_type: 'urn:ietf:params:oauth:grant-type:token-exchange',
    subject_token: key,
    subject_token_type: 'urn:ietf:params:oauth:token-type:access_token',
    scope,
  };
  const headers = { 'Content-Type': FORM };
  const { data, error } = await client.POST('/v1/token', { headers, body });
  if (data !== undefined) return data;
  if ('error_description' in error) throw new Error(error.error);
  throw new Error(error.title);
}
export async function kinds(): Promise<readonly 'EC'[]> {
  const { data } = await client.GET('/.well-known/jwks.json');
  return data?.keys.map(({ kty }) => kty) ?? [];
}
export async function newest(credential: string): Promise<readonly Threat[]> {
  const headers = { Authorization: 'Bearer ' + credential };
  const { data } = await client.GET('/v1/threats', { headers, params: { query: { limit: 2 } } });
  return data?.items ?? [];
}
export async function wrong(id: string) {
  // @ts-expect-error an unknown status
  await client.PATCH('/v1/threats/{id}', { params: { path: { id } }, body: { status: 'gone' } });
  // @ts-expect-error a key is missing
  await client.POST('/v1/token', { body: { grant_type: GRANT } });
  // @ts-expect-error an unknown path
  return client.GET('/v1/nothing');
}
`;

/** The exports of that code. */
interface Client {
  scopes(credential: string): Promise<readonly string[]>;
  exchange(key: string, scope: string): Promise<{ access_token: string; scope?: string }>;
  kinds(): Promise<readonly string[]>;
  newest(credential: string): Promise<readonly object[]>;
}

describe('a generated client', () => {
  it('compiles, exchanges a key for a token, and calls with either', async () => {
    const baseUrl = new URL(bases.hono).origin;
    const code = CLIENT.replace('BASE_URL', JSON.stringify(baseUrl));
    const { problems, file } = await compileClient(folder, openApi(PUBLIC), code);
    expect(problems).toEqual([]);

    const client = (await import(file)) as Client;
    expect(await client.scopes(key)).toEqual(catalog.all);
    const { access_token, scope } = await client.exchange(key, 'threats:read');
    expect([scope, await client.scopes(access_token)]).toEqual(['threats:read', ['threats:read']]);
    expect(await client.newest(access_token)).toHaveLength(2);
    await expect(client.exchange(access_token, 'threats:read')).rejects.toThrow('invalid_request');
    await expect(client.exchange(key, 'x:y')).rejects.toThrow('invalid_scope');
    expect(await client.kinds()).toEqual(['EC']);
  }, 60_000);
});
