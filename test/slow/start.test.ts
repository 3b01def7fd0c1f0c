/**
 * The reference service from outside: several that start at once, stores that never answer, and
 * servers on free ports.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { createInterface } from 'node:readline';
import { decodeJwt } from 'jose';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { ENTITY, openPlatform } from '../../examples/platform/host/boot.ts';
import { openStore } from '../../examples/platform/host/open-store.ts';
import { folder } from '../support/folder.ts';
import {
  environmentWith,
  PROGRAMS,
  type RunningServer,
  runToEnd,
  START_TIMEOUT,
  startPlatform,
  startServer,
  startSilent,
} from '../support/service-process.ts';
import { NODE_ARGUMENTS } from '../support/store-process.ts';

const timeout = START_TIMEOUT;
const { file, remove } = folder();
const env = environmentWith(file('cache'), { PUBLIC_URL: '' });

let silent: Awaited<ReturnType<typeof startSilent>>;
beforeAll(async () => {
  silent = await startSilent();
});
afterAll(() => {
  silent.stop();
  remove();
});

// ── Starting several at once ─────────────────────────────────────────────────────────────────────

/** A process that opens the platform in each folder it receives and reports the result. */
function startBootChild() {
  const child = spawn(process.execPath, [...NODE_ARGUMENTS, PROGRAMS.bootChild], {
    env,
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  return {
    async hear(): Promise<string> {
      const { value }: { readonly value?: unknown } = await lines.next();
      return String(value);
    },
    open(path: string): void {
      child.stdin.write(`${path}\n`);
    },
    async stop(): Promise<void> {
      const closed = once(child, 'close');
      child.stdin.end();
      await closed;
    },
  };
}

// They wait more than they work, so they can all run at once.
describe.concurrent('processes that start at once in a fresh folder', () => {
  // Of 36 such processes, 21 used to die: a pepper or rows already existed.
  test('all come up, with one pepper and one signing key', { timeout }, async () => {
    const children = [startBootChild(), startBootChild(), startBootChild()];
    const hearAll = () => Promise.all(children.map((child) => child.hear()));
    try {
      expect(await hearAll()).toEqual(['ready', 'ready', 'ready']);
      for (let round = 0; round < 4; round++) {
        const path = file(`at-once-${round}`);
        for (const child of children) child.open(path);
        const said = await hearAll();
        expect(said[0]).toMatch(/^up [0-9a-f]{64} [0-9a-f]{64}$/);
        expect(new Set(said).size).toBe(1);
        await expectOneStart(path);
      }
    } finally {
      await Promise.all(children.map((child) => child.stop()));
    }
  });
});

/** Expects the folder to look as if only one process had started. */
async function expectOneStart(path: string): Promise<void> {
  // No draft of a secret is left behind.
  const secrets = readdirSync(path).filter((name) => !name.startsWith('platform.db'));
  expect(secrets.sort()).toEqual(['pepper', 'signing-key.json']);
  const { domain, close } = await openPlatform(path);
  const all = { limit: 100, after: null };
  expect(domain.listThreats(ENTITY, all).items).toHaveLength(5);
  expect(domain.listDecoys(ENTITY, all).items).toHaveLength(3);
  await close();
}

// ── Stores that never answer ─────────────────────────────────────────────────────────────────────

describe.concurrent('a store that accepts connections and never answers', () => {
  // PostgreSQL's close() used to wait forever, and shutting down with it. `postgresql`, libpq's own
  // spelling, and similar schemes used to be rejected.
  test.each(['postgres', 'postgresql', 'mysql', 'mariadb'])(
    'is abandoned by close(), on %s',
    { timeout },
    async (scheme) => {
      const address = `${scheme}://u@127.0.0.1:${silent.port}/x`;
      const { store, invalidation, close } = await openStore(address);
      Promise.resolve(invalidation?.subscribe(() => {})).catch(() => {});
      const asked = Promise.resolve(store.findById(ENTITY)).catch((error: unknown) => error);
      await close();
      expect(await asked).toBeInstanceOf(Error);
    },
  );

  test.each([
    // In hex: a RESP list, and a TLS handshake (RFC 8446 §5.1).
    ['redis', /^2a/],
    ['rediss', /^1603/],
  ])('makes openStore give up, on %s', { timeout }, async (scheme, greeting) => {
    const heard: string[] = [];
    const server = createServer((socket) => {
      socket.on('error', () => {});
      socket.on('data', (data) => heard.push(data.toString('hex')));
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    const opening = openStore(`${scheme}://127.0.0.1:${port}`);
    await expect(opening).rejects.toThrow('Redis did not answer within 2000 ms');
    server.close();
    expect(heard[0]).toMatch(greeting);
  });
});

// ── Servers ──────────────────────────────────────────────────────────────────────────────────────

const startConsole = (name: string, ...args: readonly string[]) =>
  startPlatform(file(name), args, env);

async function readToken(origin: string, key: string): Promise<string> {
  const body = new URLSearchParams({
    grant_type: 'urn:ietf:params:oauth:grant-type:token-exchange',
    subject_token: key,
    subject_token_type: 'urn:ietf:params:oauth:token-type:access_token',
  });
  const exchanged = await fetch(`${origin}/v1/token`, { method: 'POST', body });
  const { access_token } = (await exchanged.json()) as { readonly access_token: string };
  return access_token;
}

async function statusOf(url: string, credential: string): Promise<number> {
  const response = await fetch(url, { headers: { Authorization: `Bearer ${credential}` } });
  return response.status;
}

const keyIn = (out: string) => /export KEY=(\S+)/.exec(out)?.[1] ?? '';

describe.concurrent('a server', () => {
  // It used to claim port 0: in challenges, in its document and in every token.
  test('on a free port uses that port in its own address', { timeout }, async () => {
    const { out, origin, stop } = await startConsole('free');
    const metadata = `resource_metadata="${origin}/.well-known/oauth-protected-resource/mcp"`;
    const denied = await fetch(`${origin}/mcp`, { method: 'POST' });
    expect(denied.headers.get('WWW-Authenticate')).toContain(metadata);
    const document = await fetch(`${origin}/v1/openapi.json`);
    expect(await document.json()).toMatchObject({ servers: [{ url: origin }] });
    const token = await readToken(origin, keyIn(out));
    expect(decodeJwt(token)).toMatchObject({ iss: origin, aud: `${origin}/v1` });
    expect(await statusOf(`${origin}/v1/me`, token)).toBe(200);
    expect(await stop()).toBe(0);
  });

  // It used to say that the keys were in its own folder and offered to remove it, together with the
  // pepper they need.
  test('says where the keys are, and offers to remove nothing that they need', {
    timeout,
  }, async () => {
    const args = ['--store', `sqlite:${file('elsewhere.db')}`];
    const first = await startConsole('apart', ...args);
    expect(await first.stop()).toBe(0);
    const second = await startConsole('apart', ...args);
    expect(await second.stop()).toBe(0);
    expect(second.out).toContain('shown on the first run');
    for (const { out } of [first, second]) {
      expect(out).toMatch(/Keys: in the store that you named .+\S+pepper\.\nKeep the pepper: /);
      expect(out).not.toContain('elsewhere.db');
      expect(out).not.toContain('rm -r');
    }
    const whole = await startConsole('whole');
    expect(await whole.stop()).toBe(0);
    expect(whole.out).toMatch(/Start over: rm -r \S+whole/);
  });
});

describe.concurrent('a server behind the platform', () => {
  // It used to print nothing and exit with 0.
  test("accepts the platform's tokens but not its keys", { timeout }, async () => {
    const platform = await startConsole('platform');
    const { origin } = platform;
    const behindEnv = { ...env, PLATFORM_URL: origin };
    const behind = await startServer(PROGRAMS.resourceServer, [], behindEnv);
    const key = keyIn(platform.out);
    const token = await readToken(origin, key);
    for (const path of ['/v1/me', '/v1/reports/executive']) {
      const url = `${behind.origin}${path}`;
      expect(behind.out).toContain(`"Authorization: Bearer $TOKEN" ${url}\n`);
      expect(await statusOf(url, token)).toBe(200);
      expect(await statusOf(url, key)).toBe(401);
    }
    // The shell command that it prints is the one used above.
    const lines = /TOKEN=\$\((curl .+?)\|/s.exec(behind.out)?.[1] ?? '';
    expect(lines).toContain(`curl -s ${origin}/v1/token `);
    expect(lines).toContain(`"resource=${origin}/v1"`);
    expect(await behind.stop()).toBe(0);
    expect(await platform.stop()).toBe(0);
  });

  const usage = /^Usage: npx node examples\/more\/resource-server\/server\.ts /;

  test('prints its usage on request', { timeout }, async () => {
    const ended = await runToEnd(PROGRAMS.resourceServer, ['--help'], { ...env, PORT: '0' });
    expect(ended).toMatchObject({ code: 0, err: '' });
    expect(ended.out).toMatch(usage);
  });

  const taken = /^Port \d+ is in use\. Set PORT to another one, .+\n$/;
  const none = /^PORT is not valid\. Set it to a number from 0 to 65535; .+\n$/;

  test.each([
    { what: 'a port that is taken', port: () => String(silent.port), args: [], words: taken },
    { what: 'an invalid port', port: () => '8788x', args: [], words: none },
    { what: 'an unknown flag', port: () => '0', args: ['--hlep'], words: usage },
  ])('refuses $what in a sentence', { timeout }, async ({ port, args, words }) => {
    const ended = await runToEnd(PROGRAMS.resourceServer, args, { ...env, PORT: port() });
    expect(ended).toMatchObject({ code: 1, out: '' });
    expect(ended.err).toMatch(words);
  });
});

/** The link that a server printed. */
function linkIn({ out }: RunningServer): string {
  return /^ {2}(https?:\/\/\S+\/console\/sign-in\?link=[\w-]{43})$/m.exec(out)?.[1] ?? 'none';
}

/** Opens a link and presses its button, like a browser. Returns the answer to the button. */
async function signIn(link: string, origin: string): Promise<Response> {
  const { origin: publicUrl, pathname, search } = new URL(link);
  const opened = await (await fetch(`${origin}${pathname}${search}`)).text();
  const value = /name="link" value="([^"]+)"/.exec(opened)?.[1] ?? 'none';
  return fetch(`${origin}${pathname}`, {
    method: 'POST',
    body: new URLSearchParams({ link: value }),
    headers: { Origin: publicUrl },
    redirect: 'manual',
  });
}

describe.concurrent('the link that the demo prints', () => {
  test('signs in once, and is printed once', { timeout }, async () => {
    const server = await startConsole('link');
    const link = linkIn(server);
    const entered = await signIn(link, server.origin);
    expect(entered.status).toBe(303);
    const Cookie = entered.headers.getSetCookie()[0]?.split(';')[0] ?? '';
    const page = await fetch(`${server.origin}/console`, { headers: { Cookie } });
    expect(await page.text()).toContain('ana@example.com, admin');
    const again = await signIn(link, server.origin);
    expect([again.status, again.headers.getSetCookie()]).toEqual([403, []]);
    expect(await server.stop()).toBe(0);
    // In its whole output.
    const { out, err } = server.written;
    const value = new URL(link).searchParams.get('link') ?? 'none';
    expect([out.split(value).length, err]).toEqual([2, '']);
  });

  test('changes at each start, and sessions end with the process', { timeout }, async () => {
    const first = await startConsole('restarted');
    const link = linkIn(first);
    const entered = await signIn(link, first.origin);
    const Cookie = entered.headers.getSetCookie()[0]?.split(';')[0] ?? '';
    expect(await first.stop()).toBe(0);
    const second = await startConsole('restarted');
    expect(linkIn(second)).not.toBe(link);
    const { pathname, search } = new URL(link);
    expect((await fetch(`${second.origin}${pathname}${search}`)).status).toBe(403);
    const visit = { headers: { Cookie }, redirect: 'manual' } as const;
    expect((await fetch(`${second.origin}/console`, visit)).status).toBe(303);
    expect(await second.stop()).toBe(0);
  });

  test('contains the name under which clients reach the service', { timeout }, async () => {
    const publicUrl = 'https://deception.example';
    const behind = { ...env, PUBLIC_URL: publicUrl };
    const server = await startPlatform(file('proxied'), [], behind);
    const link = linkIn(server);
    expect(new URL(link).origin).toBe(publicUrl);
    const entered = await signIn(link, server.origin);
    expect([entered.status, entered.headers.get('Set-Cookie')]).toEqual([
      303,
      expect.stringMatching(/^__Host-session=/),
    ]);
    expect(await server.stop()).toBe(0);
  });
});
