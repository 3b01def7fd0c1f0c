/**
 * The console over real sockets, as a visitor sees it who sends what the forms do not. The walk by
 * hand is in `test/slow`.
 */
import { readFileSync } from 'node:fs';
import type { IncomingMessage, Server } from 'node:http';
import { connect } from 'node:net';
import { setTimeout } from 'node:timers/promises';
import { isKey, StoreError } from 'keyscope';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createConsole } from '../../examples/console/app.ts';
import { createServer } from '../../examples/console/server.ts';
import type { Platform } from '../../examples/platform/host/boot.ts';
import { ENTITY, OTHER_ENTITY, openPlatform, PREFIX } from '../../examples/platform/host/boot.ts';
import { listen, stop } from '../../examples/platform/host/listen.ts';
import { type CacheOptions, startCache } from '../support/shared-cache.ts';
import { folder } from '../support/sqlite.ts';

const PASSWORD = 'correct horse battery staple';
const KEYS = '/settings/configuration/api-keys';
const files = folder();

let platform: Platform;
let server: Server;
let origin: string;
// A clock that stands still, unless a test moves it.
const START = Date.now();
let ahead = 0;

beforeAll(async () => {
  platform = await openPlatform(files.file('console'), { now: () => START + ahead });
  const { accounts, domain } = platform;
  for (const { id } of domain.listUsers(ENTITY, { limit: 10, after: null }).items)
    await accounts.setPassword({ entityUuid: ENTITY, userId: id }, PASSWORD);
  const dan = domain.createUser(OTHER_ENTITY, {
    email: 'dan@example.com',
    name: 'Dan',
    role: 'admin',
  });
  await accounts.setPassword({ entityUuid: OTHER_ENTITY, userId: dan.id }, PASSWORD);
  server = createServer(platform);
  origin = new URL(await listen(server, 0)).origin;
});
afterAll(async () => {
  await stop(server);
  await platform.close();
  files.remove();
});

// ── A visitor ─────────────────────────────────────────────────────────────────────────────────────────

/** What Hono knows of a connection from there. */
const from = (remoteAddress: string) => ({
  incoming: { socket: { remoteAddress, remotePort: 1, remoteFamily: 'IPv4' } },
});

type Fields = Readonly<Record<string, string | readonly string[]>>;
interface Page {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
}

/** Everything that was ever answered, to look through at the end. */
const answers: string[] = [];

async function send(path: string, init: RequestInit, at = origin): Promise<Page> {
  const response = await fetch(`${at}/console${path}`, { redirect: 'manual', ...init });
  const text = await response.text();
  answers.push(text);
  return { status: response.status, headers: response.headers, text };
}

function formBody(fields: Fields): URLSearchParams {
  const body = new URLSearchParams();
  for (const [name, value] of Object.entries(fields))
    for (const each of [value].flat()) body.append(name, each);
  return body;
}

const get = (path: string, cookie = ''): Promise<Page> =>
  send(path, { headers: { Cookie: cookie } });
const post = (
  path: string,
  fields: Fields,
  cookie = '',
  headers: Record<string, string> = {},
  at = origin,
) =>
  send(
    path,
    { method: 'POST', body: formBody(fields), headers: { Cookie: cookie, Origin: at, ...headers } },
    at,
  );

const enter = (email: string, password = PASSWORD) => post('/sign-in', { email, password });
async function signIn(email: string): Promise<string> {
  const { headers, status } = await enter(email);
  expect([status, headers.get('Location')]).toEqual([303, '/console']);
  return String(headers.get('Set-Cookie')).split(';')[0] ?? '';
}

/** The token of the form on a page. */
const onceOf = ({ text }: Page): string => /name="once" value="([^"]+)"/.exec(text)?.[1] ?? 'none';
const keyOf = ({ text }: Page): string => /id="key" value="([^"]+)"/.exec(text)?.[1] ?? 'none';
const WHOLE = {
  name: 'Export',
  scopes: ['threats:read', 'decoys:read'],
  lifetime: '30',
  justification: '',
};

async function create(cookie: string, fields: Fields = {}): Promise<Page> {
  const once = onceOf(await get(`${KEYS}/new`, cookie));
  return post(KEYS, { once, ...WHOLE, ...fields }, cookie);
}
const me = async (key: string) => {
  const response = await fetch(`${origin}/v1/me`, { headers: { Authorization: `Bearer ${key}` } });
  return {
    status: response.status,
    ...((await response.json()) as { key_id?: string; scopes?: string[] }),
  };
};
const countOf = async (entityUuid = ENTITY) =>
  (await platform.keyring.list({ limit: 1000 }, { entityUuid })).keys.length;

// ── Signing in ────────────────────────────────────────────────────────────────────────────────────────

describe('signing in', () => {
  it('leads from every address to the sign-in, and does nothing on the way', async () => {
    const before = await countOf();
    for (const path of [
      '',
      '/settings',
      '/settings/configuration',
      KEYS,
      `${KEYS}/new`,
      `${KEYS}/${ENTITY}`,
      '/none',
    ])
      for (const answer of [
        await get(path),
        await get(path, 'session=guessed'),
        await post(path, WHOLE),
      ])
        expect([path, answer.status, answer.headers.get('Location')]).toEqual([
          path,
          303,
          '/console/sign-in',
        ]);
    expect(await countOf()).toBe(before);
  });

  it('says the same of a wrong password and of an address that nobody has', async () => {
    const answers = [await enter('ana@example.com', 'wrong'), await enter('nobody@example.com')];
    const [wrong, unknown] = answers.map(({ text }) => text.replace(/value="[^"]*@[^"]*"/, ''));
    expect(answers.map(({ status }) => status)).toEqual([401, 401]);
    expect(wrong).toBe(unknown);
    expect(answers.map(({ headers }) => headers.get('Set-Cookie'))).toEqual([null, null]);
  });

  it('gives a cookie that scripts and other sites do not get, anew at each sign-in', async () => {
    const cookies = [await enter('ana@example.com'), await enter('ana@example.com')].map(
      ({ headers }) => String(headers.get('Set-Cookie')),
    );
    for (const cookie of cookies) {
      expect(cookie).toMatch(
        /^session=[\w-]{43}; Max-Age=28800; Path=\/console; HttpOnly; SameSite=Strict$/,
      );
    }
    expect(cookies[0]).not.toBe(cookies[1]);
  });

  // Another host of the same domain could set the cookie, and a visitor made keys in a session of
  // somebody else.
  it('has a cookie of its host and for TLS alone where the service is reached by it', async () => {
    const { accounts, keyring, now } = platform;
    const app = createConsole({ accounts, keyring, now, publicUrl: 'https://deception.example' });
    const ask = (path: string, init: RequestInit) =>
      app.request(`/console${path}`, init, from('192.0.2.1'));
    const body = formBody({ email: 'ana@example.com', password: PASSWORD });
    const headers = { Origin: 'https://deception.example' };
    const cookie = String(
      (await ask('/sign-in', { method: 'POST', body, headers })).headers.get('Set-Cookie'),
    );
    expect(cookie).toMatch(
      /^__Host-session=[\w-]{43}; Max-Age=28800; Path=\/; HttpOnly; Secure; SameSite=Strict$/,
    );
    const own = cookie.split(';')[0] ?? '';
    const statusWith = async (Cookie: string) => (await ask('', { headers: { Cookie } })).status;
    expect([await statusWith(own), await statusWith(own.replace('__Host-', ''))]).toEqual([
      200, 303,
    ]);
    const left = await ask('/sign-out', {
      method: 'POST',
      headers: { ...headers, Cookie: own },
      body: formBody({}),
    });
    expect(left.headers.get('Set-Cookie')).toBe(
      '__Host-session=; Max-Age=0; Path=/; HttpOnly; Secure; SameSite=Strict',
    );
    expect(await statusWith(own)).toBe(303);
  });

  it('ends a session at sign-out, not only in the browser', async () => {
    const cookie = await signIn('ana@example.com');
    expect((await get('', cookie)).status).toBe(200);
    expect((await post('/sign-out', {}, cookie)).status).toBe(303);
    expect((await get('', cookie)).status).toBe(303);
  });

  it('ends a session after eight hours', async () => {
    const cookie = await signIn('ana@example.com');
    try {
      ahead = 8 * 3_600_000 - 60_000;
      expect((await get('', cookie)).status).toBe(200);
      ahead = 8 * 3_600_000 + 60_000;
      expect((await get('', cookie)).status).toBe(303);
    } finally {
      ahead = 0;
    }
  });

  it('ends the sessions of a user who is deleted', async () => {
    const { domain, accounts } = platform;
    const eve = domain.createUser(ENTITY, { email: 'eve@example.com', name: 'Eve', role: 'admin' });
    await accounts.setPassword({ entityUuid: ENTITY, userId: eve.id }, PASSWORD);
    const cookie = await signIn('eve@example.com');
    expect((await get(KEYS, cookie)).status).toBe(200);
    domain.deleteUser(ENTITY, eve.id);
    expect((await get(KEYS, cookie)).status).toBe(303);
    expect((await enter('eve@example.com')).status).toBe(401);
  });

  // Whoever had an account of their own could guess another's for ever: each right password took
  // all tries back.
  it('makes whoever guesses wait, whatever they sign in to between, and nobody else', async () => {
    const { accounts } = platform;
    const right = { entityUuid: ENTITY, userId: 'of the guesser', version: '' };
    const known = {
      find: () => ({ authority: null }),
      signIn: async (email: string) => (email === 'own' ? right : null),
    };
    const app = createConsole({ ...platform, accounts: { ...accounts, ...(known as object) } });
    const enterAt = async (address: string, email: string) => {
      const headers = { Origin: origin, 'X-Address': address };
      const init = { method: 'POST', body: formBody({ email, password: 'x' }), headers };
      const answer = await app.request(`${origin}/console/sign-in`, init, from(address));
      return answer.status === 429 ? Number(answer.headers.get('Retry-After')) : answer.status;
    };
    try {
      for (let i = 0; i < 10; i++)
        expect([await enterAt('a', 'victim'), await enterAt('a', 'own')]).toEqual([401, 303]);
      expect(await enterAt('a', 'victim')).toBe(900);
      expect([await enterAt('b', 'victim'), await enterAt('a', 'another')]).toEqual([401, 401]);
      ahead = 899_999;
      expect(await enterAt('a', 'victim')).toBe(1);
      ahead = 900_001;
      expect(await enterAt('a', 'victim')).toBe(401);
      for (let i = 0; i < 99; i++) expect(await enterAt('a', `email ${i}`)).toBe(401);
      expect(await enterAt('a', 'one more')).toBe(900);
    } finally {
      ahead = 0;
    }
  });

  // What was refused was counted all the same, under made-up emails, which pushed out what others
  // had been counted for.
  it('forgets nobody’s wrong tries for those of somebody else', async () => {
    const signIn = async () => null;
    const app = createConsole({ ...platform, accounts: { ...platform.accounts, signIn } });
    /** How often each status was answered to `count` tries. */
    const tries = async (
      count: number,
      addressOf: (n: number) => string,
      emailOf: (n: number) => string,
    ) => {
      const statuses: Record<number, number> = {};
      for (let n = 0; n < count; n++) {
        const init = {
          method: 'POST',
          body: formBody({ email: emailOf(n), password: 'x' }),
          headers: { Origin: origin },
        };
        const { status } = await app.request(`${origin}/console/sign-in`, init, from(addressOf(n)));
        statuses[status] = (statuses[status] ?? 0) + 1;
      }
      return statuses;
    };
    const guess = () =>
      tries(
        12,
        () => 'guesser',
        () => 'victim',
      );
    expect(await guess()).toEqual({ 401: 10, 429: 2 });
    const flood = (count: number) =>
      tries(
        count,
        () => 'flood',
        (n) => `email ${n}`,
      );
    expect(await flood(10_100)).toEqual({ 401: 100, 429: 10_000 });
    expect(await guess()).toEqual({ 429: 12 });
    // From a hundred addresses they push out emails, and no address.
    const many = await tries(
      10_000,
      (n) => `address ${n % 100}`,
      (n) => `email ${n}`,
    );
    expect(many).toEqual({ 401: 10_000 });
    expect(await flood(1)).toEqual({ 429: 1 });
  });

  // With another of the 2^64 addresses that a visitor has for each try, the tries were as many as
  // they liked.
  it('counts an IPv6 network as one visitor, and an IPv4 address by itself', async () => {
    const signIn = async () => null;
    const app = createConsole({ ...platform, accounts: { ...platform.accounts, signIn } });
    const enterAt = async (address: string) => {
      const init = {
        method: 'POST',
        body: formBody({ email: 'e', password: 'x' }),
        headers: { Origin: origin },
      };
      return (await app.request(`${origin}/console/sign-in`, init, from(address))).status;
    };
    const home = [
      '2001:db8::1',
      '2001:db8::2',
      '2001:db8:0:0:3:4:5:6',
      '2001:db8::ffff:0:1',
      '2001:db8::1:2:3:4',
    ];
    for (const address of [...home, ...home]) expect(await enterAt(address)).toBe(401);
    for (const address of [...home, '2001:db8::7:8'])
      expect([address, await enterAt(address)]).toEqual([address, 429]);
    for (const address of [
      '2001:db8:0:1::1',
      '2001:db8:1::1',
      '2001::db8:0:0:1',
      '::1',
      'fe80::1%eth0',
      '::',
    ])
      expect([address, await enterAt(address)]).toEqual([address, 401]);
    for (let i = 0; i < 12; i++) expect(await enterAt(`::ffff:192.0.2.${i}`)).toBe(401);
  });

  it('asks who a visitor is where the service says so', async () => {
    const signIn = async () => null;
    const clientAddress = (c: { req: { header(name: string): string | undefined } }) =>
      c.req.header('x-client') ?? '';
    const app = createConsole({
      ...platform,
      accounts: { ...platform.accounts, signIn },
      clientAddress,
    });
    const statuses: number[] = [];
    for (let i = 0; i < 12; i++) {
      const headers = { Origin: origin, 'X-Client': i === 11 ? 'b' : 'a' };
      const init = { method: 'POST', body: formBody({ email: 'e', password: 'x' }), headers };
      statuses.push(
        (await app.request(`${origin}/console/sign-in`, init, from('the proxy'))).status,
      );
    }
    expect(statuses).toEqual([...Array(10).fill(401), 429, 401]);
  });

  it('ends sessions with the password that began them, and a browser’s own at its next sign-in', async () => {
    const { domain, accounts } = platform;
    const { id } = domain.createUser(ENTITY, {
      email: 'flo@example.com',
      name: 'Flo',
      role: 'viewer',
    });
    await accounts.setPassword({ entityUuid: ENTITY, userId: id }, PASSWORD);
    const first = await signIn('flo@example.com');
    const second = await post('/sign-in', { email: 'flo@example.com', password: PASSWORD }, first);
    const cookie = String(second.headers.get('Set-Cookie')).split(';')[0] ?? '';
    expect([(await get('', first)).status, (await get('', cookie)).status]).toEqual([303, 200]);
    await accounts.setPassword({ entityUuid: ENTITY, userId: id }, `${PASSWORD}!`);
    expect((await get('', cookie)).status).toBe(303);
  });

  it('knows one user by an email: a second is refused, and one who is deleted is in nobody’s way', async () => {
    const { domain, accounts } = platform;
    const create = (entityUuid: string) => {
      const { id } = domain.createUser(entityUuid, {
        email: 'gus@example.com',
        name: 'Gus',
        role: 'viewer',
      });
      return { entityUuid, userId: id };
    };
    const [gus, namesake] = [create(ENTITY), create(OTHER_ENTITY)];
    await accounts.setPassword(gus, PASSWORD);
    await expect(accounts.setPassword(namesake, 'x')).rejects.toThrow(
      'Another user signs in with this email.',
    );
    expect(await accounts.signIn('gus@example.com', PASSWORD)).toMatchObject(gus);
    domain.deleteUser(ENTITY, gus.userId);
    await accounts.setPassword(namesake, 'x');
    expect(await accounts.signIn('gus@example.com', PASSWORD)).toBeNull();
    expect(await accounts.signIn('gus@example.com', 'x')).toMatchObject(namesake);
  });

  it('takes what a form of the console sends, and nothing of another type', async () => {
    const cookie = await signIn('ana@example.com');
    const { keyId } = (
      await platform.keyring.issue(
        { name: 'x', scopes: [], expiresAt: 'never' },
        { entityUuid: ENTITY },
      )
    ).info;
    for (const type of ['application/json', 'text/plain', 'multipart/form-data; boundary=x', '']) {
      const headers = { Cookie: cookie, Origin: origin, 'Content-Type': type };
      const answer = await send(`${KEYS}/${keyId}`, {
        method: 'POST',
        body: 'action=revoke',
        headers,
      });
      expect([type, answer.status]).toEqual([type, 415]);
    }
    expect((await platform.keyring.get(keyId, { entityUuid: ENTITY }))?.revokedAt).toBeNull();
  });

  it('takes no form from another site', async () => {
    const cookie = await signIn('ana@example.com');
    const before = await countOf();
    const once = onceOf(await get(`${KEYS}/new`, cookie));
    for (const headers of [
      { Origin: 'https://evil.example' },
      { Origin: 'null' },
      { 'Sec-Fetch-Site': 'same-site', Origin: '' },
    ])
      for (const [path, fields] of [
        [KEYS, { once, ...WHOLE }],
        ['/sign-in', { email: 'ana@example.com', password: PASSWORD }],
      ] as const)
        expect((await post(path, fields, cookie, headers)).status).toBe(403);
    expect(await countOf()).toBe(before);
  });
});

const FORM = { 'Content-Type': 'application/x-www-form-urlencoded' };
/** How the length of a body is told: before it, or not at all. */
const FRAMINGS = [
  (length: number) => ({ ...FORM, 'Content-Length': String(length) }),
  () => ({ ...FORM, 'Transfer-Encoding': 'chunked' }),
];

/** A body whose second half comes after `meanwhile`, which begins once the first was read. */
function slowly(text: string, meanwhile: () => unknown): ReadableStream<Uint8Array> {
  const [half, encoder] = [text.length / 2, new TextEncoder()];
  const parts = [text.slice(0, half), text.slice(half)];
  let first = true;
  return new ReadableStream(
    {
      async pull(controller) {
        if (!first) await meanwhile();
        first = false;
        controller.enqueue(encoder.encode(parts.shift()));
        if (parts.length === 0) controller.close();
      },
    },
    { highWaterMark: 0 },
  );
}

// A form was judged by who had begun to send it: one who was deleted in between still made a key,
// or ended one.
describe('a form that is long on its way', () => {
  const admin = {
    user: { name: 'Ana' },
    entityUuid: ENTITY,
    authority: { entityUuid: ENTITY, scopes: ['*:*'] },
  };
  it.each([
    ['deleted, or has another password', null, 303],
    ['given a role that only looks on', { ...admin, authority: null }, 403],
  ])('does nothing where who sends it is %s meanwhile', async (_what, later, status) => {
    let member: unknown = admin;
    const known = { find: () => member, signIn: async () => ({}) };
    const app = createConsole({
      ...platform,
      accounts: { ...platform.accounts, ...(known as object) },
    });
    const ask = (path: string, init: RequestInit = {}) =>
      app.request(`${origin}/console${path}`, init, from('a'));
    const entered = await ask('/sign-in', {
      method: 'POST',
      body: formBody({}),
      headers: { Origin: origin },
    });
    const Cookie = String(entered.headers.get('Set-Cookie')).split(';')[0] ?? '';
    const { keyId } = (
      await platform.keyring.issue(
        { name: 'x', scopes: [], expiresAt: 'never' },
        { entityUuid: ENTITY },
      )
    ).info;
    const before = await countOf();
    for (const framing of FRAMINGS)
      for (const [path, fields] of [
        [KEYS, WHOLE],
        [`${KEYS}/${keyId}`, { action: 'rotate', overlap: '0' }],
        [`${KEYS}/${keyId}`, { action: 'revoke' }],
      ] as const) {
        member = admin;
        const once = onceOf({
          text: await (await ask(`${KEYS}/new`, { headers: { Cookie } })).text(),
        } as Page);
        const text = formBody({ once, ...fields }).toString();
        const body = slowly(text, () => {
          member = later;
        });
        const headers = { ...framing(text.length), Cookie, Origin: origin };
        const answer = await ask(path, {
          method: 'POST',
          body,
          headers,
          duplex: 'half',
        } as RequestInit);
        expect([path, fields, answer.status]).toEqual([path, fields, status]);
      }
    expect(await countOf()).toBe(before);
    expect(await platform.keyring.get(keyId, { entityUuid: ENTITY })).toMatchObject({
      revokedAt: null,
      retireAt: null,
    });
  });

  it('is taken from who is still the same', async () => {
    const app = createConsole(platform);
    for (const framing of FRAMINGS) {
      const text = formBody({ email: 'ana@example.com', password: PASSWORD }).toString();
      const headers = { ...framing(text.length), Origin: origin };
      const init = {
        method: 'POST',
        body: slowly(text, () => {}),
        headers,
        duplex: 'half',
      } as RequestInit;
      const { status } = await app.request(`${origin}/console/sign-in`, init, from('a'));
      expect(status).toBe(303);
    }
  });
});

// ── Making keys ───────────────────────────────────────────────────────────────────────────────────────

describe('making a key', () => {
  it('leads through Settings, Configuration and API Keys to the form', async () => {
    const cookie = await signIn('ana@example.com');
    let path = '';
    for (const name of ['Settings', 'Configuration', 'API Keys', 'Create API Key']) {
      const { text } = await get(path, cookie);
      const main = text.slice(text.indexOf('<main>'));
      path = new RegExp(`href="/console([^"]*)">${name}</a>`).exec(main)?.[1] ?? 'no link';
    }
    expect(path).toBe(`${KEYS}/new`);
  });

  it('shows the key once, and it reaches what was ticked', async () => {
    const cookie = await signIn('ana@example.com');
    const page = await create(cookie);
    const key = keyOf(page);
    expect(page.status).toBe(201);
    expect(isKey(key, { prefix: PREFIX })).toBe(true);
    const { status, scopes, key_id } = await me(key);
    expect({ status, scopes }).toEqual({ status: 200, scopes: WHOLE.scopes });
    const info = await platform.keyring.get(String(key_id), { entityUuid: ENTITY });
    expect(info?.expiresAt?.getTime()).toBe(Number(info?.createdAt.getTime()) + 30 * 86_400_000);

    for (const path of [KEYS, `${KEYS}/${key_id}`])
      expect((await get(path, cookie)).text).not.toContain(key.slice(-32));
    await platform.keyring.flush();
    const { text } = await get(`${KEYS}/${key_id}`, cookie);
    expect(text).toMatch(/<dt>Last used<\/dt><dd><time/);
  });

  it('makes no second key of one form, however often it is sent', async () => {
    const cookie = await signIn('ana@example.com');
    const once = onceOf(await get(`${KEYS}/new`, cookie));
    const before = await countOf();
    const twice = await Promise.all([1, 2].map(() => post(KEYS, { once, ...WHOLE }, cookie)));
    const later = await post(KEYS, { once, ...WHOLE }, cookie);
    expect([...twice, later].map(({ status }) => status).sort()).toEqual([201, 409, 409]);
    expect(await countOf()).toBe(before + 1);
  });

  it('keeps fifty forms open, of those who can send them', async () => {
    const [ana, chi] = [await signIn('ana@example.com'), await signIn('chi@example.com')];
    const once = onceOf(await get(`${KEYS}/new`, ana));
    const { keyId } = (
      await platform.keyring.issue(
        { name: 'x', scopes: [], expiresAt: 'never' },
        { entityUuid: ENTITY },
      )
    ).info;
    expect(onceOf(await get(`${KEYS}/${keyId}`, chi))).toBe('none');
    for (let i = 0; i < 49; i++) await get(`${KEYS}/${keyId}`, ana);
    expect((await post(KEYS, { once, ...WHOLE }, ana)).status).toBe(201);
    const late = onceOf(await get(`${KEYS}/new`, ana));
    for (let i = 0; i < 50; i++) await get(`${KEYS}/${keyId}`, ana);
    expect((await post(KEYS, { once: late, ...WHOLE }, ana)).text).toContain(
      'sent before, or is too old',
    );
  });

  it('takes no form that was shown in another session, or none at all', async () => {
    const [ana, ben] = [await signIn('ana@example.com'), await signIn('ben@example.com')];
    const once = onceOf(await get(`${KEYS}/new`, ana));
    expect((await post(KEYS, { once, ...WHOLE }, ben)).status).toBe(409);
    expect((await post(KEYS, WHOLE, ana)).status).toBe(409);
  });

  it('wants a reason for reserved scopes, and keeps what was entered', async () => {
    const cookie = await signIn('ana@example.com');
    const before = await countOf();
    const wanting = {
      name: 'Off "boarding"',
      scopes: ['threats:read', 'users:delete'],
      lifetime: '365',
    };
    const page = await create(cookie, wanting);
    expect([page.status, await countOf()]).toEqual([400, before]);
    expect(page.text).toContain(
      '<p role="alert">justification: say why users:delete is needed</p>',
    );
    expect(page.text).toContain('value="Off &quot;boarding&quot;"');
    expect(page.text).toContain('value="users:delete" checked');
    expect(page.text).toContain('<option value="365" selected>');
    const again = await post(
      KEYS,
      { once: onceOf(page), ...wanting, justification: ' Leavers ' },
      cookie,
    );
    expect(again.status).toBe(201);
    const { key_id } = await me(keyOf(again));
    const info = await platform.keyring.get(String(key_id), { entityUuid: ENTITY });
    expect([info?.justification, info?.name]).toEqual(['Leavers', 'Off "boarding"']);
  });

  it.each([
    ['no name', { name: '  ' }, 'name: '],
    ['a name that is too long', { name: 'n'.repeat(101) }, 'name: '],
    ['a wildcard', { scopes: ['threats:*', 'users:*'] }, 'a scope of this service'],
    ['a scope that there is not', { scopes: ['threats:raed'] }, 'a scope of this service'],
    ['a life that nobody offered', { lifetime: '36500' }, 'expiresAt: '],
    ['a name of Object', { lifetime: 'constructor' }, 'expiresAt: '],
  ])('answers %s with the form and a sentence', async (_, fields, sentence) => {
    const cookie = await signIn('ana@example.com');
    const before = await countOf();
    const page = await create(cookie, fields);
    expect([page.status, await countOf()]).toEqual([400, before]);
    expect(page.text).toContain(`<p role="alert">${sentence}`);
  });

  it('shows names as text', async () => {
    const cookie = await signIn('ana@example.com');
    const name = `<script>alert(1)</script>"'&`;
    const { key_id } = await me(keyOf(await create(cookie, { name })));
    for (const { text } of [await get(KEYS, cookie), await get(`${KEYS}/${key_id}`, cookie)]) {
      expect(text).toContain('&lt;script&gt;alert(1)&lt;/script&gt;&quot;&#39;&amp;');
      expect(text).not.toContain('<script>alert');
    }
  });
});

// ── What a role may do ────────────────────────────────────────────────────────────────────────────────

describe('roles and organizations', () => {
  it('an analyst is offered what an analyst may hand out, and gets no more by asking', async () => {
    const cookie = await signIn('ben@example.com');
    const { text } = await get(`${KEYS}/new`, cookie);
    expect(text).toContain('value="canaries:delete"');
    expect(text).not.toContain('value="users:');
    const before = await countOf();
    const page = await create(cookie, { scopes: ['users:read'], justification: 'I would like to' });
    expect([page.status, await countOf()]).toEqual([403, before]);
    expect((await create(cookie)).status).toBe(201);
  });

  it('an analyst does not replace a key that can do more', async () => {
    const { info } = await platform.keyring.issue(
      { name: 'admin', scopes: ['users:read'], expiresAt: 'never', justification: 'x' },
      { entityUuid: ENTITY },
    );
    const cookie = await signIn('ben@example.com');
    const once = onceOf(await get(`${KEYS}/${info.keyId}`, cookie));
    const page = await post(
      `${KEYS}/${info.keyId}`,
      { once, action: 'rotate', overlap: '0' },
      cookie,
    );
    expect(page.status).toBe(403);
    expect((await platform.keyring.get(info.keyId, { entityUuid: ENTITY }))?.retireAt).toBeNull();
  });

  it('a viewer looks on', async () => {
    const { info } = await platform.keyring.issue(
      { name: 'seen', scopes: [], expiresAt: 'never' },
      { entityUuid: ENTITY },
    );
    const cookie = await signIn('chi@example.com');
    const [list, one] = [await get(KEYS, cookie), await get(`${KEYS}/${info.keyId}`, cookie)];
    expect([list.status, list.text.includes('Create API Key')]).toEqual([200, false]);
    expect([one.status, one.text.includes('Revoke')]).toEqual([200, false]);
    const before = await countOf();
    const attempts = [
      await get(`${KEYS}/new`, cookie),
      await post(KEYS, WHOLE, cookie),
      await post(`${KEYS}/${info.keyId}`, { action: 'revoke' }, cookie),
    ];
    expect(attempts.map(({ status }) => status)).toEqual([403, 403, 403]);
    expect(await countOf()).toBe(before);
    expect((await platform.keyring.get(info.keyId, { entityUuid: ENTITY }))?.revokedAt).toBeNull();
  });

  it("another organization's keys are not there", async () => {
    const [ana, dan] = [await signIn('ana@example.com'), await signIn('dan@example.com')];
    const { key_id } = await me(keyOf(await create(ana)));
    const once = onceOf(await get(`${KEYS}/new`, dan));
    const path = `${KEYS}/${key_id}`;
    const attempts = [
      await get(path, dan),
      await post(path, { once, action: 'revoke' }, dan),
      await post(path, { once, action: 'rotate', overlap: '0' }, dan),
    ];
    expect(attempts.map(({ status }) => status)).toEqual([404, 404, 404]);
    expect((await get(KEYS, dan)).text).not.toContain(key_id);
    const info = await platform.keyring.get(String(key_id), { entityUuid: ENTITY });
    expect([info?.revokedAt, info?.retireAt]).toEqual([null, null]);
  });
});

// ── Ending and replacing ──────────────────────────────────────────────────────────────────────────────

describe('a key of one’s own', () => {
  it('is revoked at once and for good', async () => {
    const cookie = await signIn('ana@example.com');
    const key = keyOf(await create(cookie));
    const { key_id } = await me(key);
    const path = `${KEYS}/${key_id}`;
    expect((await post(path, { action: 'revoke' }, cookie)).headers.get('Location')).toBe(
      `/console${path}`,
    );
    expect((await me(key)).status).toBe(401);
    const { text } = await get(path, cookie);
    expect(text).toContain('<dd>Revoked</dd>');
    expect(text).not.toContain('name="action"');
  });

  it('is replaced with an overlap, and the new key is shown once', async () => {
    const cookie = await signIn('ana@example.com');
    const old = keyOf(await create(cookie));
    const { key_id } = await me(old);
    const path = `${KEYS}/${key_id}`;
    const page = await get(path, cookie);
    const fields = { once: onceOf(page), action: 'rotate', overlap: '1' };
    const rotated = await post(path, fields, cookie);
    const next = keyOf(rotated);
    expect(rotated.status).toBe(201);
    expect((await post(path, fields, cookie)).status).toBe(409);
    expect([(await me(old)).status, (await me(next)).scopes]).toEqual([200, WHOLE.scopes]);
    const both = await get(path, cookie);
    expect(both.text).toContain('Replaced, in its overlap');
    expect(both.text).not.toContain('value="rotate"');
    try {
      ahead = 3_600_001;
      expect([(await me(old)).status, (await me(next)).status]).toEqual([401, 200]);
    } finally {
      ahead = 0;
    }
  });

  it('names the scopes that its integration has not called for long', async () => {
    const input = {
      name: 'x',
      scopes: ['threats:read', 'decoys:read'],
      expiresAt: 'never',
    } as const;
    const { info } = await platform.keyring.issue(input, { entityUuid: ENTITY });
    const unused = async () => {
      const { text } = await get(`${KEYS}/${info.keyId}`, await signIn('ana@example.com'));
      return text.match(/could do without/g)?.length ?? 0;
    };
    try {
      expect(await unused()).toBe(0);
      ahead = 91 * 86_400_000;
      expect(await unused()).toBe(2);
    } finally {
      ahead = 0;
    }
  });

  it('that has ended is not replaced, which is no matter of who is signed in', async () => {
    const cookie = await signIn('ana@example.com');
    const { key_id } = await me(keyOf(await create(cookie)));
    const once = onceOf(await get(`${KEYS}/${key_id}`, cookie));
    await platform.keyring.revoke(String(key_id), { entityUuid: ENTITY });
    const page = await post(`${KEYS}/${key_id}`, { once, action: 'rotate', overlap: '0' }, cookie);
    expect(page.status).toBe(409);
    expect(page.text).toContain('This key has ended');
  });

  it.each([
    ['no action', {}],
    ['another action', { action: 'delete' }],
    ['another overlap', { action: 'rotate', overlap: '99999' }],
    ['a name of Object', { action: 'rotate', overlap: 'toString' }],
  ])('is left as it is by a form with %s', async (_, fields) => {
    const cookie = await signIn('ana@example.com');
    const { key_id } = await me(keyOf(await create(cookie)));
    const once = onceOf(await get(`${KEYS}/${key_id}`, cookie));
    expect((await post(`${KEYS}/${key_id}`, { once, ...fields }, cookie)).status).toBe(400);
    const info = await platform.keyring.get(String(key_id), { entityUuid: ENTITY });
    expect([info?.revokedAt, info?.retireAt]).toEqual([null, null]);
  });

  it('is found behind the first page, and a page that there is not is a mistake of the address', async () => {
    const dan = await signIn('dan@example.com');
    for (let n = 0; n < 52; n++)
      await platform.keyring.issue(
        { name: `n${n}`, scopes: [], expiresAt: 'never' },
        { entityUuid: OTHER_ENTITY },
      );
    const first = await get(KEYS, dan);
    const older =
      /href="\/console([^"]*)">Older keys/.exec(first.text)?.[1]?.replaceAll('&amp;', '&') ??
      'none';
    const names = (page: Page) => page.text.match(/api-keys\/[0-9a-f-]{36}"/g)?.length;
    expect([names(first), names(await get(older, dan))]).toEqual([
      50,
      (await countOf(OTHER_ENTITY)) - 50,
    ]);
    expect((await get(`${KEYS}?after=x`, dan)).status).toBe(400);
  });
});

// ── What every answer has ─────────────────────────────────────────────────────────────────────────────

describe('every answer', () => {
  it('is stored nowhere, framed nowhere, and runs no script but its own', async () => {
    const cookie = await signIn('ana@example.com');
    const pages = [
      await get('/sign-in'),
      await get(''),
      await get(KEYS, cookie),
      await create(cookie),
      await get('/none', cookie),
    ];
    expect(pages.map(({ status }) => status)).toEqual([200, 303, 200, 201, 404]);
    for (const { headers } of pages) {
      expect(headers.get('Cache-Control')).toBe('no-store');
      expect(headers.get('X-Frame-Options')).toBe('DENY');
      expect(headers.get('Content-Security-Policy')).toBe(
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src data:; form-action 'self'; frame-ancestors 'none'; base-uri 'none'",
      );
    }
  });

  it('is its visitor’s alone behind a cache that all share, which would hand it out if it did not say no-store', async () => {
    const [ana, dan] = [await signIn('ana@example.com'), await signIn('dan@example.com')];
    const port = Number(new URL(origin).port);
    const through = async (options: CacheOptions) => {
      const cache = await startCache(port, options);
      const ask = async (cookie: string) =>
        (await send(KEYS, { headers: { Cookie: cookie } }, cache.origin)).text;
      const texts = [await ask(ana), await ask(dan), await ask('')];
      await cache.stop();
      return { texts, hits: cache.hits() };
    };
    const own = [(await get(KEYS, ana)).text, (await get(KEYS, dan)).text, ''];
    expect(await through({ credulous: false })).toEqual({ texts: own, hits: 0 });
    const shared = await through({ credulous: false, insteadOfNoStore: 'max-age=3600' });
    expect(shared).toEqual({ texts: [own[0], own[0], own[0]], hits: 2 });
  });

  it('is 413 to more than a form can be', async () => {
    const { status, headers, text } = await post('/sign-in', { email: 'x'.repeat(70_000) });
    expect([status, headers.get('Cache-Control')]).toEqual([413, 'no-store']);
    expect(text).toContain('This is more than a form can be.');
  });

  // It was told to the service as an error of its own, by anybody and without a session.
  it('is 400 to a form that ends before its time, which is no error of the service', async () => {
    const reported: unknown[] = [];
    const report = (error: unknown) => reported.push(error);
    const app = createConsole({ ...platform, report });
    for (const framing of FRAMINGS) {
      const body = slowly('email=ana', () => Promise.reject(new Error('aborted')));
      const init = {
        method: 'POST',
        body,
        headers: { ...framing(50), Origin: origin },
        duplex: 'half',
      } as RequestInit;
      const answer = await app.request(`${origin}/console/sign-in`, init, from('a'));
      expect([answer.status, await answer.text()]).toEqual([
        400,
        expect.stringContaining('did not arrive'),
      ]);
    }
    const other = createServer({ ...platform, report } as Platform);
    const { port, hostname } = new URL(await listen(other, 0));
    for (const framing of [
      'Content-Length: 50\r\n\r\nhello',
      'Transfer-Encoding: chunked\r\n\r\n5\r\nhello',
    ]) {
      const arrived = new Promise((resolve) => other.once('request', resolve));
      const socket = connect(Number(port), hostname);
      const head = `Host: ${hostname}:${port}\r\nContent-Type: application/x-www-form-urlencoded`;
      socket.write(
        `POST /console/sign-in HTTP/1.1\r\n${head}\r\nOrigin: http://${hostname}:${port}\r\n${framing}`,
      );
      const request = (await arrived) as IncomingMessage;
      const closed = new Promise((resolve) => request.once('close', resolve));
      socket.destroy();
      await closed;
      await setTimeout(20);
    }
    await stop(other);
    expect(reported).toEqual([]);
  });

  it('says of a broken store what is known: nothing', async () => {
    const { accounts, now, publicUrl } = platform;
    const reported: unknown[] = [];
    const broken = new StoreError('store.insert failed: see cause', new Error('secret row'));
    const keyring = { ...platform.keyring, issue: () => Promise.reject(broken) };
    const app = createConsole({
      accounts,
      now,
      publicUrl,
      keyring,
      report: (error) => reported.push(error),
    });
    const ask = (path: string, init: RequestInit = {}) =>
      app.request(`${origin}/console${path}`, init, from('192.0.2.1'));
    const postTo = (path: string, fields: Fields, Cookie = '') =>
      ask(path, { method: 'POST', body: formBody(fields), headers: { Origin: origin, Cookie } });
    const entered = await postTo('/sign-in', { email: 'ana@example.com', password: PASSWORD });
    const cookie = String(entered.headers.get('Set-Cookie')).split(';')[0] ?? '';
    const form = await (await ask(`${KEYS}/new`, { headers: { Cookie: cookie } })).text();
    const once = /name="once" value="([^"]+)"/.exec(form)?.[1] ?? '';
    const answer = await postTo(KEYS, { once, ...WHOLE }, cookie);
    const text = await answer.text();
    expect([answer.status, answer.headers.get('Retry-After'), reported]).toEqual([
      503,
      '1',
      [broken],
    ]);
    expect(text).toContain('Look in the list before trying again');
    expect(text).not.toContain('secret row');
  });

  it('holds a key in one page alone: of those that were served here, and of what is on the disk', async () => {
    const cookie = await signIn('ana@example.com');
    const key = keyOf(await create(cookie));
    const { key_id } = await me(key);
    await get(KEYS, cookie);
    await get(`${KEYS}/${key_id}`, cookie);
    expect(answers.filter((text) => text.includes(key))).toHaveLength(1);
    const stored = readFileSync(platform.file, 'latin1');
    expect([stored.includes(key), stored.includes(PASSWORD)]).toEqual([false, false]);
  });
});
