/** The service of docs/existing-service.md: both frameworks, over real HTTP and PostgreSQL. */
import { readFileSync } from 'node:fs';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { lockContract, lockOf, parseLock, routesOf, toolsOf } from 'keyscope/lock';
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from 'vitest';
import { describeOn } from '../support/servers.ts';
import { createDatabase, SERVICES } from './existing.ts';
import { describeInstalled } from './installed.ts';

const describeBoth = describeInstalled === describe ? await describeOn('postgres') : describe.skip;

let drop: () => Promise<void>;
const closers: (() => unknown)[] = [];
afterEach(async () => {
  vi.useRealTimers();
  for (const close of closers.splice(0)) await close();
});

const ADMIN = { Cookie: 'sid=s-admin' };
const MEMBER = { Cookie: 'theme=dark; sid=s-member' };
const YEAR = 365 * 86_400_000;

interface Answer {
  readonly status: number;
  readonly body: unknown;
}
type Headers = Readonly<Record<string, string>>;

async function start(name: string) {
  const started = await SERVICES[name]?.();
  if (started === undefined) throw new Error(`no service ${name}`);
  closers.push(() => started.close());
  async function ask(path: string, headers: Headers, sent?: object): Promise<Answer> {
    const type = { 'Content-Type': 'application/json' };
    const response = await fetch(started?.url + path, {
      method: sent === undefined ? 'GET' : 'POST',
      headers: sent === undefined ? headers : { ...headers, ...type },
      ...(sent !== undefined && { body: JSON.stringify(sent) }),
    });
    const text = await response.text();
    return { status: response.status, body: text === '' ? '' : JSON.parse(text) };
  }
  async function issue(headers: Headers, ...scopes: readonly string[]) {
    const input = { name: 'Export', scopes, expiresAt: new Date(Date.now() + YEAR) };
    const { status, body } = await ask('/settings/keys', headers, input);
    const { key, info } = body as { key: string; info: { keyId: string } };
    return { status, key, keyId: info?.keyId, byKey: { Authorization: `Bearer ${key}` } };
  }
  return { url: started.url, ask, issue };
}

describeBoth.each(Object.keys(SERVICES))('the existing service on %s', (name) => {
  beforeAll(async () => {
    drop ??= await createDatabase();
  });

  test('answers a session and a key alike, each with the data of its organization', async () => {
    const { ask, issue } = await start(name);
    const { byKey } = await issue(ADMIN, 'projects:read');
    const ours = { status: 200, body: [{ id: 'p1', organizationId: 'org_a', name: 'Ours' }] };
    expect(await ask('/projects', MEMBER)).toEqual(ours);
    expect(await ask('/projects', byKey)).toEqual(ours);
    expect((await ask('/projects', { Cookie: 'sid=s-other' })).body).toMatchObject([{ id: 'p2' }]);
    expect((await ask('/projects', {})).status).toBe(401);
    expect((await ask('/projects', { Cookie: 'sid=gone' })).status).toBe(401);
  });

  test('refuses a wrong key despite a session, and a key without the scope', async () => {
    const { ask, issue } = await start(name);
    const { byKey } = await issue(ADMIN, 'projects:read');
    const wrong = { ...ADMIN, Authorization: `${byKey.Authorization}x` };
    expect(await ask('/projects', wrong)).toMatchObject({
      status: 401,
      body: { error: 'invalid_token' },
    });
    expect((await ask('/invoices', { ...ADMIN, ...byKey })).status).toBe(403);
    expect((await ask('/invoices', byKey, { amount: 1 })).status).toBe(403);
    const writer = await issue(ADMIN, 'invoices:write');
    expect(await ask('/invoices', writer.byKey, { amount: 7 })).toMatchObject({
      status: 201,
      body: { organizationId: 'org_a', amount: 7 },
    });
  });

  test('shows a key once, lists it, and lets only administrators revoke it', async () => {
    const { ask, issue } = await start(name);
    const { status, key, keyId, byKey } = await issue(MEMBER, 'projects:read');
    expect(status).toBe(201);
    const list = await ask('/settings/keys', MEMBER);
    expect(list).toMatchObject({ status: 200 });
    expect(JSON.stringify(list.body)).toContain(keyId);
    expect(JSON.stringify(list.body)).toContain('bob@a.example');
    expect(JSON.stringify(list.body)).not.toContain(key);
    const other = await ask('/settings/keys', { Cookie: 'sid=s-other' });
    expect(JSON.stringify(other.body)).not.toContain(keyId);
    const revoke = `/settings/keys/${keyId}/revoke`;
    expect((await ask(revoke, MEMBER, {})).status).toBe(403);
    expect((await ask(revoke, { Cookie: 'sid=s-other' }, {})).status).toBe(404);
    expect((await ask(revoke, {}, {})).status).toBe(401);
    expect((await ask('/projects', byKey)).status).toBe(200);
    expect((await ask(revoke, ADMIN, { reason: 'left' })).status).toBe(204);
    expect((await ask('/projects', byKey)).status).toBe(401);
  });

  test('grants no more than the role has, and no key without a secret', async () => {
    const { ask, issue } = await start(name);
    expect((await issue(MEMBER, 'invoices:write')).status).toBe(403);
    expect((await issue(MEMBER, 'invoices:read', 'projects:read')).status).toBe(201);
    expect((await issue(ADMIN, 'invoices:write')).status).toBe(201);
    const trust = { issuer: 'https://gitlab.com', claims: { project_id: '1' } };
    const input = { name: 'CI', scopes: [], expiresAt: 'never', trust };
    expect((await ask('/settings/keys/keyless', ADMIN, input)).status).toBe(403);
    const never = { name: 'Export', scopes: ['projects:read'], expiresAt: 'never' };
    expect((await ask('/settings/keys', ADMIN, never)).status).toBe(403);
  });

  test('refuses a key after it expired, by the fake clock', async () => {
    const { ask, issue } = await start(name);
    const { byKey } = await issue(ADMIN, 'projects:read');
    vi.useFakeTimers({ toFake: ['Date'] });
    vi.setSystemTime(Date.now() + YEAR - 60_000);
    expect((await ask('/projects', byKey)).status).toBe(200);
    vi.setSystemTime(Date.now() + 61_000);
    expect((await ask('/projects', byKey)).status).toBe(401);
  });

  test('lets the same key call the MCP tools of its scopes', async () => {
    const { url, issue } = await start(name);
    const toolsFor = async (headers: Headers) => {
      const client = new Client({ name: 'test', version: '1.0.0' });
      const requestInit = { headers };
      closers.push(() => client.close());
      const at = new URL('/mcp', url);
      await client.connect(new StreamableHTTPClientTransport(at, { requestInit }));
      return client;
    };
    const reader = await toolsFor((await issue(MEMBER, 'invoices:read')).byKey);
    expect((await reader.listTools()).tools.map((tool) => tool.name)).toEqual(['listInvoices']);
    const called = await reader.callTool({ name: 'listInvoices', arguments: {} });
    expect(JSON.stringify(called.content)).not.toContain('org_b');
    const projects = await toolsFor((await issue(MEMBER, 'projects:read')).byKey);
    expect((await projects.listTools()).tools).toEqual([]);
    const response = await fetch(new URL('/mcp', url), { method: 'POST', headers: ADMIN });
    expect(response.status).toBe(401);
  });
});

describeBoth('the test that the page prints', async () => {
  beforeAll(async () => {
    drop ??= await createDatabase();
  });

  if (describeBoth === describe) await import('./.project/existing/expiry.test.ts');
});

const file = new URL('../../examples/existing/keyscope.lock.json', import.meta.url);

describeBoth('the lock of the existing service', () => {
  beforeAll(async () => {
    drop ??= await createDatabase();
  });

  lockContract(test, async () => {
    const { keyring } = await import('./.project/existing/access.ts');
    const { default: config } = await import('./.project/existing/keyscope.config.ts');
    const committed = readFileSync(file, 'utf8');
    const { routes } = parseLock(committed);
    const reasons = [...routes].flatMap(([name, { reason }]) => {
      return reason === null ? [] : [[name, reason] as const];
    });
    const found = (await config.routes?.()) ?? [];
    const lock = lockOf({ keyring, routes: found, reasons: Object.fromEntries(reasons) });
    return { committed, lock };
  });

  test('is the same on Nest, except for how its router writes paths', async () => {
    const { keyring } = await import('./.project/existing/access.ts');
    const { AppModule } = await import('./.project/existing/app.module.ts');
    const { tools } = await import('./.project/existing/mcp.ts');
    const { tableOf } = await import('./.project/more/nest/routes.ts');
    const { NestFactory } = await import('@nestjs/core');
    const app = await NestFactory.create(AppModule, { logger: false });
    closers.push(() => app.close());
    const routes = [...routesOf(tableOf(app)), ...toolsOf({ keyring, tools })];
    const lock = lockOf({ keyring, routes });
    const committed = parseLock(readFileSync(file, 'utf8'));
    const guarded = [...committed.routes].filter(([, { operations }]) => operations.length > 0);
    for (const [route, entry] of guarded) expect(lock.routes.get(route)).toEqual(entry);
    const bare = [...lock.routes].filter(([, { operations }]) => operations.length === 0);
    expect(bare.map(([route]) => route)).toEqual([
      'ALL /mcp',
      'ALL /settings/keys',
      'ALL /settings/keys/*path',
    ]);
  });
});

afterAll(() => drop?.());
