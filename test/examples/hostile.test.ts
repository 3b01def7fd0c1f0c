/**
 * Hostile input at every interface of the examples: JSON as deep as a body can be is refused like
 * any other, and control characters cannot begin a line of a log.
 */
import type { Server } from 'node:http';
import { createKeyring, type KeyringEvent } from 'keyscope';
import { memoryStore } from 'keyscope/stores/memory';
import { afterAll, afterEach, beforeAll, expect, test, vi } from 'vitest';
import type { Link } from '../../examples/console/link.ts';
import { KEYS } from '../../examples/console/paths.ts';
import { createDemoLink, createServer as createWhole } from '../../examples/console/server.ts';
import { createServer as createExpress } from '../../examples/express/server.ts';
import { createServer as createFastify } from '../../examples/fastify/server.ts';
import type { Platform } from '../../examples/platform/host/boot.ts';
import { ENTITY, openPlatform, PREFIX } from '../../examples/platform/host/boot.ts';
import { catalog } from '../../examples/platform/service/catalog.ts';
import { allOperations } from '../../examples/platform/service/policy.ts';
import { BODY_LIMIT } from '../../examples/platform/service/problem.ts';
import { routes } from '../../examples/platform/service/routes.ts';
import { folder } from '../support/folder.ts';
import { wrap } from '../support/keyring.ts';
import { csrfOf, linkIn } from './console-site.ts';
import { close, exchange, listen } from './http-harness.ts';

// The whole platform: REST on Hono, MCP, tokens and the console.
const SERVERS = {
  whole: (service: Platform) => createWhole(service, link),
  express: createExpress,
  fastify: createFastify,
};
type Name = keyof typeof SERVERS;
const NAMES = Object.keys(SERVERS) as Name[];

const files = folder();
const events: KeyringEvent[] = [];
const driver = { broken: false };
const ports: Partial<Record<Name, number>> = {};
const servers: Server[] = [];
let platform: Platform;
let key: string;
let link: Link;

beforeAll(async () => {
  const opened = await openPlatform(files.file('hostile'));
  // A driver that quotes its input, like some real ones.
  const store = wrap(memoryStore(), (_method, args, call) => {
    if (driver.broken) throw new Error(`broken by ${HOSTILE} in ${args}`);
    return call();
  });
  const keyringFor = (tokens: Platform['tokens']['verifiers'][string] | undefined) =>
    createKeyring({
      ...{ prefix: PREFIX, policy: allOperations, store, peppers: 'none', tokens },
      onEvent: (event) => events.push(event),
    });
  const [rest, mcp] = Object.values(opened.tokens.verifiers);
  platform = { ...opened, keyring: keyringFor(rest), mcpKeyring: keyringFor(mcp) };
  const input = {
    name: 'n',
    scopes: catalog.all,
    expiresAt: 'never',
    justification: 'tests',
  } as const;
  key = (await platform.keyring.issue(input, { entityId: ENTITY, scopes: 'all' })).key;
  link = createDemoLink(platform);
  for (const name of NAMES) {
    const server = await SERVERS[name](platform);
    servers.push(server);
    ports[name] = await listen(server);
  }
});
afterEach(() => {
  vi.restoreAllMocks();
  driver.broken = false;
  events.length = 0;
});
afterAll(async () => {
  for (const server of servers) await close(server);
  await platform.close();
  files.remove();
});

const urlOf = (name: Name, path: string) => `http://127.0.0.1:${ports[name]}${path}`;

/** Collects everything that is written to the output until the end of the test. */
function listenToLogs(): unknown[] {
  const lines: unknown[] = [];
  for (const method of ['log', 'info', 'warn', 'error', 'debug'] as const)
    vi.spyOn(console, method).mockImplementation((...line) => void lines.push(...line));
  for (const stream of [process.stdout, process.stderr])
    vi.spyOn(stream, 'write').mockImplementation((chunk) => lines.push(chunk) > 0);
  return lines;
}

const JSON_HEADERS = {
  'Content-Type': 'application/json',
  Accept: 'application/json, text/event-stream',
};

async function send(
  url: string,
  body: string | URLSearchParams,
  method = 'POST',
  headers = {},
): Promise<string> {
  const all = {
    Authorization: `Bearer ${key}`,
    ...(typeof body === 'string' && JSON_HEADERS),
    ...headers,
  };
  const response = await fetch(url, { method, body, headers: all, redirect: 'manual' });
  return `${response.status} ${await response.text()}`;
}

const rpc = (params: object, method = 'tools/call') => ({ jsonrpc: '2.0', id: 1, method, params });

// ── Depth ───────────────────────────────────────────────────────────────────────────────────────

/** A value as deep as the longest possible body allows, with room for the rest of the body. */
const DEEP = [
  ['lists', '[', ']'],
  ['objects', '{"a":', '}'],
  ['both', '[{"a":', '}]'],
] as const;
const nested = (open: string, end: string) => {
  const times = Math.floor((BODY_LIMIT - 1_000) / (open.length + end.length));
  return `${open.repeat(times)}1${end.repeat(times)}`;
};

/** JSON texts with the deep value in place of each field, and in place of the whole. */
const places = (value: Readonly<Record<string, unknown>>, deep: string): readonly string[] => [
  deep,
  ...[...Object.keys(value), 'unknown'].map((field) =>
    JSON.stringify({ ...value, [field]: 'DEEP' }).replace('"DEEP"', deep),
  ),
];

test.each(DEEP)(
  'a body of nested %s is refused by every interface, and not reported as an error',
  async (...kind) => {
    const [, open, end] = kind;
    const deep = nested(open, end);
    const lines = listenToLogs();
    const answers: string[] = [];
    for (const name of NAMES) {
      for (const { method, path, body } of routes) {
        if (body === null) continue;
        for (const text of places(
          Object.fromEntries(Object.keys(body.shape).map((field) => [field, 'x'])),
          deep,
        ))
          answers.push(await send(urlOf(name, path.replace(':id', 'x')), text, method));
      }
    }
    expect(answers.filter((answer) => !/^4\d\d /.test(answer))).toEqual([]);
    // In MCP, the refusal of a tool is a result.
    const args = { id: 'x', status: 'open', notes: 'n', entity_uuid: ENTITY };
    const calls = [
      ...places(args, deep).map((text) =>
        JSON.stringify(rpc({ name: 'updateThreat', arguments: 'ARGS' })).replace('"ARGS"', text),
      ),
      ...places({ name: 'updateThreat', arguments: args, _meta: {} }, deep).map((text) =>
        JSON.stringify(rpc({})).replace('{}', text),
      ),
      ...places(rpc({}, 'tools/list'), deep),
    ];
    for (const text of calls) {
      const answer = await send(urlOf('whole', '/mcp'), text);
      expect(answer).toMatch(/^(?:200|4\d\d) /);
      expect(answer).not.toMatch(/-32603|RangeError|call stack/);
    }
    expect(lines).toEqual([]);
  },
);

// ── Lines ───────────────────────────────────────────────────────────────────────────────────────

// A line break with a forged entry after it, in each form that logs and terminals know, and a
// change of colour.
const HOSTILE = 'x\r\n\u0085\u2028\u001b[2K\u009b31mforged entry';
const BREAKS = /[\p{Cc}\p{Zl}\p{Zp}]/u;
const RAW = encodeURIComponent(HOSTILE);

/** `HOSTILE` in place of each field, and as the name of a field. */
const each = (value: Readonly<Record<string, unknown>>): readonly object[] => [
  ...Object.keys(value).map((field) => ({ ...value, [field]: HOSTILE })),
  { ...value, [HOSTILE]: HOSTILE },
];

async function everyField(name: Name): Promise<void> {
  // As bytes, because `fetch` refuses to send these. Node's parser answers most of them itself.
  for (const value of [HOSTILE, `Bearer ${HOSTILE}`, `Bearer ${key}${HOSTILE}`]) {
    const latin = value.replaceAll('\u2028', '');
    for (const field of [
      'Authorization',
      'Host',
      'Content-Type',
      'Origin',
      'Cookie',
      'Mcp-Session-Id',
      HOSTILE,
    ])
      await exchange(
        ports[name] ?? 0,
        `GET /v1/me HTTP/1.1\r\nConnection: close\r\n${field}: ${latin}\r\n\r\n`,
      );
  }
  const get = async (path: string) =>
    (await fetch(urlOf(name, path), { headers: { Authorization: `Bearer ${key}` } })).text();
  for (const parameter of ['entity_uuid', 'limit', 'after', RAW])
    await get(`/v1/threats?${parameter}=${RAW}`);
  for (const path of [`/v1/threats/${RAW}`, `/${RAW}`, `/v1/${RAW}?${RAW}`]) await get(path);
  for (const { method, path, body } of routes) {
    const fields = Object.fromEntries(Object.keys(body?.shape ?? {}).map((field) => [field, 'x']));
    const url = urlOf(name, path.replace(':id', 'x'));
    if (method !== 'GET')
      for (const value of each(fields)) await send(url, JSON.stringify(value), method);
  }
  const token = {
    grant_type: 'urn:ietf:params:oauth:grant-type:token-exchange',
    subject_token: key,
    subject_token_type: 'urn:ietf:params:oauth:token-type:access_token',
    ...{ requested_token_type: '', scope: '', entity_uuid: '', resource: '', audience: '' },
  };
  for (const value of each(token))
    await send(urlOf(name, '/v1/token'), new URLSearchParams({ ...value }));
}

async function everyMessage(): Promise<void> {
  const args = { id: 'x', status: 'open', notes: 'n', entity_uuid: ENTITY };
  const params = { name: 'updateThreat', arguments: args, _meta: {} };
  const messages = [
    ...each(args).map((changed) => rpc({ ...params, arguments: changed })),
    ...each(params).map((changed) => rpc(changed)),
    ...each(rpc(params)),
  ];
  for (const message of messages) await send(urlOf('whole', '/mcp'), JSON.stringify(message));
}

async function everyForm(cookie: string): Promise<void> {
  const post = (path: string, fields: object) =>
    send(urlOf('whole', path), new URLSearchParams({ ...fields }), 'POST', {
      Cookie: cookie,
      Origin: urlOf('whole', ''),
    });
  const page = async (path: string) =>
    (await fetch(urlOf('whole', path), { headers: { Cookie: cookie } })).text();
  const csrf = csrfOf({ text: await page(`${KEYS}/new`) });
  const newKey = { name: 'n', scopes: 'threats:read', lifetime: '30', justification: '', csrf };
  for (const fields of each(newKey)) await post(KEYS, fields);
  for (const fields of each({ action: 'revoke', overlap: '24', csrf })) {
    await post(`${KEYS}/${ENTITY}`, fields);
    await post(`${KEYS}/${RAW}`, fields);
  }
  for (const path of [`${KEYS}?after=${RAW}`, `${KEYS}/${RAW}`, `/console/${RAW}`])
    await page(path);
  await post('/console/sign-in', { link: HOSTILE });
}

async function signIn(): Promise<string> {
  const body = new URLSearchParams({ link: linkIn(link.open()) });
  const init = { method: 'POST', body, redirect: 'manual' } as const;
  const response = await fetch(urlOf('whole', '/console/sign-in'), {
    ...init,
    headers: { Origin: urlOf('whole', '') },
  });
  return String(response.headers.get('Set-Cookie')).split(';')[0] ?? '';
}

test('no field of a request begins a line of a log or appears in an event', async () => {
  const lines = listenToLogs();
  const cookie = await signIn();
  for (const broken of [false, true]) {
    driver.broken = broken;
    for (const name of NAMES) await everyField(name);
    await everyMessage();
    await everyForm(cookie);
    const texts = events.flatMap((event): unknown[] => Object.values(event)).map(String);
    expect(texts.filter((text) => BREAKS.test(text) || text.includes('forged'))).toEqual([]);
    // Only an outage is reported, and each report is one line.
    expect(lines.length > 0).toBe(broken);
    expect(lines.filter((line) => typeof line !== 'string' || BREAKS.test(line))).toEqual([]);
  }
  const told = new Set(events.map((event) => ('code' in event ? event.code : event.type)));
  expect([...told].sort()).toEqual([
    'access.granted',
    'invalid_request',
    'key.issued',
    'not_found',
    'store_error',
  ]);
});
