/**
 * `npm run demo` starts the reference service and stays up; `npm run demo -- --check` walks through
 * console, HTTP and MCP, on its own port and folder, and exits non-zero on the first surprise.
 * `--store <address>` keeps the keys in another database (`postgres://…`, `mysql://…`,
 * `redis://…`), where a second instance joins the walk, unless it is in memory.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { redactKeys } from 'keyscope';
import { BASE, KEYS } from '../../console/pages.ts';
import { createServer, openAccount, tryDoors } from '../../console/server.ts';
import { explain } from '../service/problem.ts';
import type { Platform } from './boot.ts';
import {
  ENTITY,
  listen,
  MAX_STALENESS_MS,
  OTHER_ENTITY,
  openPlatform,
  PREFIX,
  readArguments,
  run,
  stop,
} from './boot.ts';

class Surprise extends Error {}

/**
 * Everything that `--check` prints goes through here: no key reaches a terminal's scroll-back or a
 * CI log.
 */
const say = (text: string) => console.log(redactKeys(text, { prefix: PREFIX }));

interface Expected {
  readonly status: number;
  readonly challenge?: string;
  /** Fields of the body and their expected values. */
  readonly body: Readonly<Record<string, unknown>>;
}

async function ask(url: string, key: string, expected: Expected, note = ''): Promise<void> {
  const response = await fetch(url, { headers: { Authorization: `Bearer ${key}` } });
  const text = await response.text();
  say(`   GET ${url.slice(url.indexOf('/v1'))}${note && ` with the ${note} key`}`);
  say(`   Authorization: Bearer ${key}`);
  say(`   → ${response.status} ${shorten(text)}`);
  const body: Record<string, unknown> = JSON.parse(text);
  const got: Expected = {
    status: response.status,
    ...(expected.challenge !== undefined && {
      challenge: response.headers.get('WWW-Authenticate') ?? 'none',
    }),
    body: Object.fromEntries(Object.keys(expected.body).map((field) => [field, body[field]])),
  };
  same(got, expected);
  same(response.headers.get('Cache-Control'), 'no-store');
}

const shorten = (text: string) => (text.length > 240 ? `${text.slice(0, 240)}…` : text);

function same(got: unknown, expected: unknown): void {
  const [actual, wanted] = [JSON.stringify(got), JSON.stringify(expected)];
  if (actual !== wanted) throw new Surprise(`expected ${wanted}\n       but got ${actual}`);
}

const REFUSED: Expected = {
  status: 401,
  challenge: 'Bearer realm="deception platform", error="invalid_token"',
  body: { error: 'invalid_token' },
};

// ── The console ───────────────────────────────────────────────────────────────────────────────────────

/**
 * "Obtaining a key" of the interface: what a browser sends, from signing in to the page that shows
 * the key once.
 */
async function obtainKey(
  origin: string,
  platform: Platform,
  scopes: readonly string[],
): Promise<string> {
  const account = await openAccount(platform);
  if (account === null) throw new Surprise('there is no admin who could sign in');
  let cookie = '';
  const visit = async (
    path: string,
    fields?: Readonly<Record<string, string>>,
  ): Promise<string> => {
    const form = fields && new URLSearchParams(fields);
    if (fields) for (const scope of path === KEYS ? scopes : []) form?.append('scopes', scope);
    const request = form ? { method: 'POST', body: form } : {};
    // As sent by a browser that came by the service's own name.
    const headers = { Cookie: cookie, Origin: PUBLIC_URL };
    const response = await fetch(`${origin}${path}`, { redirect: 'manual', headers, ...request });
    cookie = response.headers.getSetCookie()[0]?.split(';')[0] ?? cookie;
    say(`   ${form ? 'POST' : 'GET'} ${path} → ${response.status}`);
    return response.text();
  };
  await visit(`${BASE}/sign-in`, account);
  const once = /name="once" value="([^"]+)"/.exec(await visit(`${KEYS}/new`))?.[1] ?? '';
  const key = /id="key" value="([^"]+)"/.exec(
    await visit(KEYS, { once, name: 'Check', lifetime: 'never' }),
  )?.[1];
  if (key === undefined) throw new Surprise('the console showed no key');
  return key;
}

// ── Over MCP ──────────────────────────────────────────────────────────────────────────────────────────

/** Not where the server listens: its own name is configuration. */
const PUBLIC_URL = 'https://deception.example';

/** What a client sees that knows the endpoint and the key. */
async function connect(url: string, key: string): Promise<Client> {
  const client = new Client({ name: 'check', version: '1.0.0' });
  const requestInit = { headers: { Authorization: `Bearer ${key}` } };
  await client.connect(new StreamableHTTPClientTransport(new URL(url), { requestInit }));
  return client;
}

async function walkMcp(url: string, key: string, me: unknown): Promise<void> {
  const client = await connect(url, key);
  const { tools } = await client.listTools();
  const names = tools.map(({ name }) => name);
  say(`   tools/list → ${names.join(' ')}`);
  same(names, ['whoami', 'listThreats', 'readThreat', 'listDecoys', 'readDecoy']);
  const { structuredContent } = await client.callTool({ name: 'whoami', arguments: {} });
  say(`   whoami → ${JSON.stringify(structuredContent)}`);
  same(structuredContent, me);
  await client.close();
}

/** A call that is refused before it reaches a tool: status and challenge say why. */
async function refusedCall(
  url: string,
  name: string,
  key: string | null,
  status: number,
  params: string,
) {
  const headers = {
    'Content-Type': 'application/json',
    Accept: 'application/json, text/event-stream',
    ...(key !== null && { Authorization: `Bearer ${key}` }),
  };
  const body = JSON.stringify({
    jsonrpc: '2.0',
    id: 1,
    method: 'tools/call',
    params: { name, arguments: {} },
  });
  const response = await fetch(url, { method: 'POST', headers, body });
  const challenge = response.headers.get('WWW-Authenticate');
  say(`   tools/call ${name} → ${response.status} ${challenge}`);
  const metadata = `resource_metadata="${PUBLIC_URL}/.well-known/oauth-protected-resource/mcp"`;
  same(
    [response.status, challenge],
    [status, `Bearer realm="deception platform", ${params}${metadata}`],
  );
  same(response.headers.get('Cache-Control'), 'no-store');
}

// ── A second process ──────────────────────────────────────────────────────────────────────────────────

/**
 * What `--instance` runs: the same service in another process, on the same database. Runs until its
 * input ends.
 */
async function instance(folder: string, store: string): Promise<void> {
  const platform = await openPlatform(folder, { store, publicUrl: PUBLIC_URL });
  const server = createServer(platform);
  console.log(await listen(server, 0));
  for await (const _ of process.stdin);
  await stop(server);
  await platform.close();
}

const status = async (url: string, key: string): Promise<number> =>
  (await fetch(`${url}/me`, { headers: { Authorization: `Bearer ${key}` } })).status;

async function walkTwo(
  base: string,
  { keyring }: Platform,
  folder: string,
  store: string,
): Promise<void> {
  say('12. Two instances on one database: a key that one of them revokes ends in the other');
  const argv = [
    ...process.execArgv,
    fileURLToPath(import.meta.url),
    '--instance',
    folder,
    '--store',
    store,
  ];
  const child = spawn(process.execPath, argv, { stdio: ['pipe', 'pipe', 'inherit'] });
  const closed = once(child, 'close');
  try {
    const up = once(createInterface({ input: child.stdout }), 'line');
    const [line] = await Promise.race([up, closed.then(() => [''])]);
    if (line === '') throw new Surprise('the other instance did not start');
    const { key, info } = await keyring.issue(
      { name: 'Two', scopes: [], expiresAt: 'never' },
      { entityUuid: ENTITY },
    );
    same([await status(base, key), await status(line, key)], [200, 200]);
    await keyring.revoke(info.keyId, { entityUuid: ENTITY });
    const revoked = performance.now();
    same(await status(base, key), 401);
    while ((await status(line, key)) === 200) {
      if (performance.now() - revoked > 2 * MAX_STALENESS_MS)
        throw new Surprise('the other instance still lets it in');
      await new Promise((resolve) => setTimeout(resolve, 1));
    }
    say(
      `   refused by the other instance ${Math.ceil(performance.now() - revoked)} ms after revoke answered`,
    );
  } finally {
    child.stdin.end();
    await closed;
  }
}

async function check(store: string | undefined): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'keyscope-demo-'));
  const clock = { ahead: 0 };
  try {
    const now = () => Date.now() + clock.ahead;
    await walk(
      await openPlatform(folder, { now, store, publicUrl: PUBLIC_URL }),
      clock,
      folder,
      store,
    );
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

async function walk(
  platform: Platform,
  clock: { ahead: number },
  folder: string,
  store?: string,
): Promise<void> {
  const server = createServer(platform);
  const authority = { entityUuid: ENTITY };
  const { keyring } = platform;
  try {
    const base = await listen(server, 0);

    say('1. The console: sign in, and create a key with threats:read and decoys:read');
    const scopes = ['threats:read', 'decoys:read'];
    const first = { key: await obtainKey(new URL(base).origin, platform, scopes) };
    const { keyId } = await keyring.verify(first.key);
    say(`   ${first.key}, key id ${keyId}`);
    if (store && platform.keys.kind !== 'memory')
      say(
        `   It stays in that database, as do its tables and the other keys made here, of entity ${ENTITY}`,
      );

    say('2. /me shows what the key is');
    const me = { entity_uuid: ENTITY, key_id: keyId, scopes, accessible_entities: [ENTITY] };
    await ask(`${base}/me`, first.key, { status: 200, body: me });

    say('3. Allowed: it has threats:read');
    const threat = platform.domain.listThreats(ENTITY, { limit: 1, after: null }).items;
    await ask(`${base}/threats?limit=1`, first.key, { status: 200, body: { items: threat } });

    say('4. Under-scoped: it lacks users:read');
    await ask(`${base}/users`, first.key, {
      status: 403,
      challenge:
        'Bearer realm="deception platform", error="insufficient_scope", scope="users:read"',
      body: { error: 'insufficient_scope', scope: 'users:read' },
    });

    say("5. Wrong entity: it cannot address another organization's threats");
    const forbidden = { status: 403, challenge: 'none', body: { error: 'entity_forbidden' } };
    await ask(`${base}/threats?entity_uuid=${OTHER_ENTITY}`, first.key, forbidden);

    say('6. MCP with the same key: the tools that it may use, and whoami answers what /me answers');
    const mcp = base.replace('/v1', '/mcp');
    await walkMcp(mcp, first.key, me);

    say('7. MCP without a key');
    await refusedCall(mcp, 'whoami', null, 401, '');

    say('8. MCP, under-scoped: it lacks users:read');
    await refusedCall(
      mcp,
      'listUsers',
      first.key,
      403,
      'error="insufficient_scope", scope="users:read", ',
    );

    say('9. Rotate with an overlap of one minute: both keys work');
    const second = await keyring.rotate(keyId, { overlapMs: 60_000 }, authority);
    const next = { ...me, key_id: second.info.keyId };
    await ask(`${base}/me`, first.key, { status: 200, body: me }, 'old');
    await ask(`${base}/me`, second.key, { status: 200, body: next }, 'new');

    say(
      '10. One minute later (the clock is set forward): the old key has ended, the new one has not',
    );
    clock.ahead = 60_001;
    await ask(`${base}/me`, first.key, REFUSED, 'old');
    await ask(`${base}/me`, second.key, { status: 200, body: next }, 'new');

    say('11. Revoke: the new key has ended too');
    await keyring.revoke(second.info.keyId, authority);
    await ask(`${base}/me`, second.key, REFUSED, 'new');
    await refusedCall(mcp, 'whoami', second.key, 401, 'error="invalid_token", ');
    if (platform.keys.kind === 'memory')
      say('12. Two instances: left out, for no other process shares this memory');
    else if (store !== undefined) await walkTwo(base, platform, folder, store);
    say('All as expected.');
  } catch (error) {
    say(
      error instanceof Surprise
        ? `   Surprise: ${error.message}`
        : `   Failed. ${explain(error)}\n${(error as Error).stack}`,
    );
    process.exitCode = 1;
  } finally {
    await stop(server);
    await platform.close();
  }
}

const USAGE = `npm run demo -- [--check] [--store <address>]
  --check            walk through the service and exit, with 1 on the first surprise`;

try {
  // `--instance` is for the walk, which starts one.
  const args = readArguments(USAGE, { check: { type: 'boolean' }, instance: { type: 'string' } });
  if (args?.instance !== undefined) await instance(args.instance, args.store ?? '');
  else if (args?.check) await check(args.store);
  else if (args) await run(createServer, tryDoors);
} catch (error) {
  console.error(`The service could not start. ${explain(error)}`);
  process.exitCode = 1;
}
