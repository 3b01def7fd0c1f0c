/** The endpoints of keyscope/admin in every framework, with a client made from their document. */
import { mkdtempSync, rmSync } from 'node:fs';
import { request as sendRaw } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { keyAdminOpenApi } from 'keyscope/admin';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { ACTOR, BODY, GRANT, setUpAdmin } from '../support/admin.ts';
import { FORGOTTEN, MOUNTS, type Mount, serve } from '../support/admin-mounts.ts';
import { compileClient } from '../support/compiled-client.ts';
import { HOUR, OTHER, OWN } from '../support/keyring.ts';

const DOCUMENT = {
  openapi: '3.1.0',
  info: { title: 'Keys', version: '1' },
  ...keyAdminOpenApi({ securitySchemes: { bearerAuth: { type: 'http', scheme: 'bearer' } } }),
};

/** Code of a user of the client, checked against the generated types. */
const CLIENT = `
import createClient from 'openapi-fetch';
import type { components, paths } from './api.ts';

type Schemas = components['schemas'];
type Problem = Schemas['KeyProblem'];

function orThrow<T>(answer: { data?: T; error?: Problem }): T {
  if (answer.error !== undefined) throw new Error(answer.error.status + ' ' + answer.error.error);
  return answer.data as T;
}

export function connect(baseUrl: string) {
  const client = createClient<paths>({ baseUrl });
  const at = (keyId: string) => ({ params: { path: { keyId } } });
  return {
    async issue(body: Schemas['KeyIssueInput']): Promise<Schemas['NewKey']> {
      return orThrow(await client.POST('/keys', { body }));
    },
    async rotate(keyId: string, body: Schemas['KeyRotateInput']): Promise<Schemas['NewKey']> {
      return orThrow(await client.POST('/keys/{keyId}/rotate', { ...at(keyId), body }));
    },
    async list(query: { after?: string; limit?: number; addressing?: boolean }) {
      const page: Schemas['KeyPage'] = orThrow(await client.GET('/keys', { params: { query } }));
      return page;
    },
    async stateOf(keyId: string): Promise<string> {
      return orThrow(await client.GET('/keys/{keyId}', at(keyId))).state;
    },
    async suspend(keyId: string, reason: string): Promise<void> {
      orThrow(await client.POST('/keys/{keyId}/suspend', { ...at(keyId), body: { reason } }));
    },
    async resume(keyId: string): Promise<void> {
      orThrow(await client.POST('/keys/{keyId}/resume', { ...at(keyId), body: {} }));
    },
    async revoke(keyId: string): Promise<void> {
      orThrow(await client.POST('/keys/{keyId}/revoke', { ...at(keyId), body: {} }));
    },
    async revokeLineage(keyId: string): Promise<readonly string[]> {
      const path = '/keys/{keyId}/revoke-lineage';
      return orThrow(await client.POST(path, { ...at(keyId), body: {} })).revoked;
    },
    async withdraw(keyId: string): Promise<void> {
      orThrow(await client.POST('/keys/{keyId}/withdraw', { ...at(keyId), body: {} }));
    },
    async wrong(keyId: string) {
      // @ts-expect-error a body is required
      await client.POST('/keys/{keyId}/suspend', at(keyId));
      // @ts-expect-error a key needs scopes
      await client.POST('/keys', { body: { name: 'x', expiresAt: 'never' } });
      // @ts-expect-error a reason is a text
      await client.POST('/keys/{keyId}/suspend', { ...at(keyId), body: { reason: 7 } });
      // @ts-expect-error an unknown method
      await client.DELETE('/keys/{keyId}', at(keyId));
      // @ts-expect-error an unknown path
      return client.GET('/keys/{keyId}/rotate', at(keyId));
    },
  };
}
`;

interface NewKey {
  readonly key: string;
  readonly info: { readonly keyId: string; readonly createdBy: string };
}

interface Client {
  issue(body: object): Promise<NewKey>;
  rotate(keyId: string, body: object): Promise<NewKey>;
  list(query: object): Promise<{ keys: readonly { keyId: string }[]; next: string | null }>;
  stateOf(keyId: string): Promise<string>;
  suspend(keyId: string, reason: string): Promise<void>;
  resume(keyId: string): Promise<void>;
  revoke(keyId: string): Promise<void>;
  revokeLineage(keyId: string): Promise<readonly string[]>;
  withdraw(keyId: string): Promise<void>;
}

const folder = mkdtempSync(join(tmpdir(), 'keyscope-admin-'));
let problems: readonly string[] = ['was not compiled'];
let connect: (baseUrl: string) => Client;

beforeAll(async () => {
  const compiled = await compileClient(folder, DOCUMENT, CLIENT);
  problems = compiled.problems;
  ({ connect } = (await import(compiled.file)) as { readonly connect: typeof connect });
});
afterAll(() => rmSync(folder, { recursive: true }));

/** Sends a POST chunk by chunk, and returns the answer. */
function sendChunks(url: string, chunks: readonly string[]): Promise<[number, string]> {
  return new Promise((resolve, reject) => {
    const headers = { 'content-type': 'application/json' };
    const sent = sendRaw(url, { method: 'POST', headers }, (response) => {
      const texts: string[] = [];
      response.setEncoding('utf8').on('data', (text: string) => texts.push(text));
      response.on('end', () => resolve([response.statusCode ?? 0, texts.join('')]));
    });
    sent.on('error', reject);
    for (const chunk of chunks) sent.write(chunk);
    sent.end();
  });
}

function mountOf(name: string): Mount {
  const mount = MOUNTS[name];
  if (mount === undefined) throw new Error('no such framework');
  return mount;
}

it('the client compiles against the document', () => {
  expect(problems).toEqual([]);
});

describe.each(Object.keys(MOUNTS))('the endpoints in %s', (name) => {
  const stops: (() => Promise<void>)[] = [];
  afterEach(async () => void (await Promise.all(stops.splice(0).map((stop) => stop()))));

  async function setUp() {
    const set = setUpAdmin();
    const { origin, stop } = await serve(await mountOf(name)(set.admin));
    stops.push(stop);
    return { ...set, origin, client: connect(origin) };
  }

  it('manage a key during its whole life', async () => {
    const { client, keyring, events } = await setUp();
    const { key, info } = await client.issue(BODY);
    expect(info.createdBy).toBe(ACTOR);
    expect((await keyring.verify(key)).keyId).toBe(info.keyId);
    await client.suspend(info.keyId, 'in doubt');
    expect(await client.stateOf(info.keyId)).toBe('suspended');
    await client.resume(info.keyId);
    const next = await client.rotate(info.keyId, { overlapMs: HOUR, scopes: [] });
    expect((await keyring.verify(next.key)).scopes).toEqual([]);
    const first = await client.list({ limit: 1 });
    const second = await client.list({ limit: 1, after: first.next });
    const listed = [...first.keys, ...second.keys].map(({ keyId }) => keyId);
    expect(listed.sort()).toEqual([info.keyId, next.info.keyId].sort());
    expect([...(await client.revokeLineage(info.keyId))].sort()).toEqual(listed);
    await client.revoke(info.keyId);
    expect(await client.stateOf(next.info.keyId)).toBe('revoked');
    await expect(client.resume(info.keyId)).rejects.toThrow('409 conflict');
    await expect(client.issue({ ...BODY, scopes: ['x:y'] })).rejects.toThrow('400 invalid_input');
    expect(events.filter((event) => 'actor' in event).length).toBe(events.length);
  });

  it('withdraw from a key of another organization', async () => {
    const { client, keyring } = await setUp();
    const authority = { entityId: OTHER, entities: [OWN], scopes: 'all' } as const;
    const { info } = await keyring.issue({ ...BODY, accessibleEntities: [OWN] }, authority);
    const { keys } = await client.list({ addressing: true });
    expect(keys.map(({ keyId }) => keyId)).toContain(info.keyId);
    await client.withdraw(info.keyId);
    await expect(client.revoke(info.keyId)).rejects.toThrow('404 not_found');
  });

  it('refuse wrong methods, types and paths with the status of HTTP', async () => {
    const { origin } = await setUp();
    const send = async (path: string, init: RequestInit): Promise<unknown[]> => {
      const { status, headers } = await fetch(origin + path, init);
      return [status, headers.get('allow') ?? headers.get('cache-control')];
    };
    const json = { 'content-type': 'application/json' };
    const body = JSON.stringify(BODY);
    const allow = 'GET, HEAD, POST, OPTIONS';
    expect(await send('/keys', { method: 'DELETE' })).toEqual([405, allow]);
    expect(await send('/keys', { method: 'OPTIONS' })).toEqual([204, allow]);
    expect(await send('/keys', { method: 'HEAD' })).toEqual([200, 'no-store']);
    expect(await send('/keys/x/y', { method: 'GET' })).toEqual([404, 'no-store']);
    const text = { 'content-type': 'text/plain' };
    expect(await send('/keys', { method: 'POST', headers: text, body })).toEqual([415, 'no-store']);
    for (const [from, status] of [
      [origin, 201],
      ['https://evil.example', 403],
      ['null', 403],
    ] as const) {
      const answer = await send('/keys', {
        method: 'POST',
        headers: { ...json, origin: from },
        body,
      });
      expect(answer).toEqual([status, 'no-store']);
    }
  });
});

// The parsers of Express and Fastify have their own limits and answers.
describe.each(['node:http', 'express', 'hono'])('the endpoints without a parser, in %s', (name) => {
  it('stop reading at the limit, and refuse a body that is not JSON', async () => {
    const { origin, stop } = await serve(await mountOf(name)(setUpAdmin().admin));
    const spaces = ' '.repeat(64 * 1024);
    const [status, text] = await sendChunks(`${origin}/keys`, [spaces, spaces, spaces]);
    expect([status, text]).toEqual([413, expect.stringContaining('"The body is too large."')]);
    const [malformed, problem] = await sendChunks(`${origin}/keys`, ['{"na', 'me":']);
    expect([malformed, problem]).toEqual([400, expect.stringContaining('"field":"input"')]);
    const whole = JSON.stringify(BODY);
    const [made] = await sendChunks(`${origin}/keys`, [whole.slice(0, 9), whole.slice(9)]);
    expect(made).toBe(201);
    await stop();
  });
});

describe.each(Object.entries(FORGOTTEN))('the endpoints behind a parser of %s', (_name, mount) => {
  it('say what to do if the body is not passed, and create no key', async () => {
    const { admin, events } = setUpAdmin();
    const { origin, stop } = await serve(await mount(admin));
    try {
      const text = JSON.stringify(BODY);
      const headers = { 'content-type': 'application/json' };
      const announced = await fetch(`${origin}/keys`, { method: 'POST', headers, body: text });
      const answers = [[announced.status, await announced.text()]];
      answers.push(await sendChunks(`${origin}/keys`, [text]));
      for (const [status, problem] of answers) {
        expect(status).toBe(500);
        expect(problem).toContain('admin(request, { parsedBody: req.body })');
      }
      expect(events).toEqual([]);
    } finally {
      await stop();
    }
  });
});

it('the handler works as a route of Next, which passes further arguments', async () => {
  const { admin: GET } = setUpAdmin();
  const context = { params: Promise.resolve({ path: ['x'] }) };
  const { status } = await GET(new Request('https://a.example/keys'), context);
  expect([status, GRANT.entityId]).toEqual([200, OWN]);
});
