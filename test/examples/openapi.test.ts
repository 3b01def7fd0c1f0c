/** The OpenAPI document: valid, true to what is answered, and good enough to generate a client from. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import type { Server } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Validator } from '@seriousme/openapi-schema-validator';
import createClient from 'openapi-fetch';
import openapiTS, { astToString } from 'openapi-typescript';
import ts from 'typescript';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createServer as createExpress } from '../../examples/express/server.ts';
import { createServer as createFastify } from '../../examples/fastify/server.ts';
import { createServer as createHono } from '../../examples/hono/server.ts';
import type { Platform } from '../../examples/platform/boot.ts';
import { ENTITY, listen, openPlatform, stop } from '../../examples/platform/boot.ts';
import { catalog } from '../../examples/platform/catalog.ts';
import { ANSWERS, openApi } from '../../examples/platform/openapi.ts';
import { policy } from '../../examples/platform/policy.ts';
import { routes } from '../../examples/platform/routes.ts';

interface Document {
  readonly openapi: string;
  readonly paths: Readonly<
    Record<string, Readonly<Record<string, { operationId: string; security: readonly Record<string, string[]>[] }>>>
  >;
}

const folder = mkdtempSync(join(tmpdir(), 'keyscope-openapi-'));
let platform: Platform;
const servers: Server[] = [];
const bases: string[] = [];
let key = '';

beforeAll(async () => {
  platform = await openPlatform(folder, { publicUrl: 'https://deception.example' });
  for (const create of [createExpress, createFastify, createHono]) {
    const server = await create(platform);
    servers.push(server);
    bases.push(await listen(server, 0));
  }
  const input = { name: 'all', scopes: [...catalog.all], expiresAt: 'never', justification: 'to test' } as const;
  ({ key } = await platform.keyring.issue(input, { entityUuid: ENTITY }));
});
afterAll(async () => {
  await Promise.all(servers.map(stop));
  await platform.close();
  rmSync(folder, { recursive: true });
});

describe('the document', () => {
  it('is OpenAPI 3.1, by a validator', async () => {
    const validator = new Validator();
    const { valid, errors } = await validator.validate({ ...openApi('https://deception.example') });
    expect(errors).toBeUndefined();
    expect([valid, validator.version]).toEqual([true, '3.1']);
  });

  it('is served alike by all three frameworks, without a key', async () => {
    const texts = await Promise.all(bases.map(async (base) => (await fetch(`${base}/openapi.json`)).text()));
    expect(new Set(texts).size).toBe(1);
    expect(JSON.parse(texts[0] ?? '')).toEqual(openApi('https://deception.example'));
  });

  it('names every route with the scopes that its policy wants', () => {
    const { paths } = openApi('https://deception.example') as unknown as Document;
    const found = Object.values(paths).flatMap((methods) => Object.values(methods));
    expect(found.map(({ operationId }) => operationId).sort()).toEqual(routes.map(({ operation }) => operation).sort());
    for (const { operationId, security } of found) {
      expect(security).toEqual([{ bearerAuth: policy.requires(operationId as (typeof policy.operations)[number]) }]);
    }
  });

  it('says what is answered: every GET answer parses by its schema, and has no field more', async () => {
    const [base = ''] = bases;
    const read = async (path: string) => {
      const response = await fetch(`${base}${path}`, { headers: { Authorization: `Bearer ${key}` } });
      return [response.status, (await response.json()) as { readonly items?: readonly { id: string }[] }] as const;
    };
    let checked = 0;
    for (const { method, path, operation } of routes.filter((route) => route.method === 'GET')) {
      const list = path.replace('/v1', '').replace('/:id', '');
      const [, { items = [] }] = await read(list);
      const [status, body] = await read(path.includes(':id') ? `${list}/${items[0]?.id}` : list);
      const [, expected, schema] = ANSWERS[operation];
      expect([method, operation, status]).toEqual(['GET', operation, expected]);
      expect(schema?.parse(body)).toEqual(body);
      checked++;
    }
    expect(checked).toBe(12);
  });
});

describe('a generated client', () => {
  it('compiles, and calls /v1/me', async () => {
    const [base = ''] = bases;
    const types = astToString(await openapiTS(openApi('https://deception.example') as never));
    const origin = new URL(base).origin;
    // What a user of the client writes, against the types that were generated.
    const code = `
import createClient from 'openapi-fetch';
import type { paths } from './api.js';
const client = createClient<paths>({ baseUrl: ${JSON.stringify(origin)} });
export async function me(): Promise<readonly string[]> {
  const { data, error } = await client.GET('/v1/me', { headers: { Authorization: 'Bearer x' } });
  if (data === undefined) throw new Error(error.title);
  return data.scopes;
}
export async function triage(id: string) {
  // @ts-expect-error a status that there is not
  await client.PATCH('/v1/threats/{id}', { params: { path: { id } }, body: { status: 'gone' } });
  return client.PATCH('/v1/threats/{id}', { params: { path: { id } }, body: { status: 'resolved' } });
}
// @ts-expect-error a path that there is not
export const none = () => client.GET('/v1/nothing');
`;
    writeFileSync(join(folder, 'api.ts'), types);
    writeFileSync(join(folder, 'use.ts'), code);
    const options: ts.CompilerOptions = {
      strict: true,
      noEmit: true,
      skipLibCheck: true,
      target: ts.ScriptTarget.ES2022,
      module: ts.ModuleKind.ESNext,
      moduleResolution: ts.ModuleResolutionKind.Bundler,
      types: [],
      lib: ['lib.es2022.d.ts', 'lib.dom.d.ts'],
      paths: {
        'openapi-fetch': [new URL('../../node_modules/openapi-fetch/dist/index.d.mts', import.meta.url).pathname],
      },
    };
    const program = ts.createProgram([join(folder, 'use.ts')], options);
    const problems = ts
      .getPreEmitDiagnostics(program)
      .map(({ messageText }) => ts.flattenDiagnosticMessageText(messageText, '\n'));
    expect(problems).toEqual([]);

    interface Paths {
      '/v1/me': { get: { responses: { 200: { content: { 'application/json': { readonly scopes: string[] } } } } } };
    }
    const client = createClient<Paths>({ baseUrl: origin });
    const { data, response } = await client.GET('/v1/me', { headers: { Authorization: `Bearer ${key}` } });
    expect([response.status, data?.scopes]).toEqual([200, catalog.all]);
  }, 60_000);
});
