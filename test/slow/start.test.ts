/**
 * The reference service from outside: several that start at once, a command line, and stores that
 * never answer.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import type { AddressInfo, Socket } from 'node:net';
import { createServer } from 'node:net';
import { resolve } from 'node:path';
import { createInterface } from 'node:readline';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { decodeJwt } from 'jose';
import pg from 'pg';
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from 'vitest';
import { ENTITY, openPlatform, readArguments } from '../../examples/platform/boot.ts';
import { openStore, placeOf } from '../../examples/platform/store.ts';
import { folder } from '../support/sqlite.ts';

const timeout = 60_000;
const { file, remove } = folder();
afterAll(remove);
const root = (path: string) => fileURLToPath(new URL(`../../${path}`, import.meta.url));
const NODE = [
  '--disable-warning=ExperimentalWarning',
  '--import',
  root('test/support/typescript.ts'),
];
// Each start would strip the types of the whole source again.
const env = {
  ...process.env,
  NODE_COMPILE_CACHE: file('cache'),
  KEYSCOPE_PEPPER: '',
  KEYSCOPE_SIGNING_KEY: '',
};

/** Takes connections, and says nothing: no greeting, no answer, no farewell. */
const silent = createServer({ allowHalfOpen: true });
const sockets = new Set<Socket>();
let port: number;
beforeAll(async () => {
  silent.on('connection', (socket) => sockets.add(socket.on('error', () => {}).resume()));
  silent.listen(0, '127.0.0.1');
  await once(silent, 'listening');
  port = (silent.address() as AddressInfo).port;
});
afterAll(() => {
  for (const socket of sockets) socket.destroy();
  silent.close();
});

// ── In processes of their own ───────────────────────────────────────────────────────────────────

// They wait more than they work: all at once.
describe.concurrent('from outside', () => {
  // Of 36 processes that started at once in fresh folders, 21 died: of a pepper that was there
  // already, or of rows that were.
  test('processes that start at once in a fresh folder all come up, with one pepper and one signing key', {
    timeout,
  }, async () => {
    const children = Array.from({ length: 3 }, () => {
      const child = spawn(process.execPath, [...NODE, root('test/support/boot-child.ts')], {
        env,
        stdio: ['pipe', 'pipe', 'inherit'],
      });
      const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
      const hear = async () => String((await lines.next()).value);
      const stop = async () => {
        const closed = once(child, 'close');
        child.stdin.end();
        await closed;
      };
      return { hear, stop, open: (path: string) => child.stdin.write(`${path}\n`) };
    });
    try {
      expect(await Promise.all(children.map(({ hear }) => hear()))).toEqual(Array(3).fill('ready'));
      for (let round = 0; round < 4; round++) {
        const path = file(`at-once-${round}`);
        for (const { open } of children) open(path);
        const said = await Promise.all(children.map(({ hear }) => hear()));
        expect(said).toEqual(Array(3).fill(said[0]));
        expect(said[0]).toMatch(/^up [0-9a-f]{64} [0-9a-f]{64}$/);
        // No draft of a secret is left behind.
        const files = readdirSync(path).filter((name) => !name.startsWith('platform.db'));
        expect(files.sort()).toEqual(['pepper', 'signing-key.json']);
        const { domain, close } = await openPlatform(path);
        const all = { limit: 100, after: null };
        expect([
          domain.listThreats(ENTITY, all).items.length,
          domain.listDecoys(ENTITY, all).items.length,
        ]).toEqual([5, 3]);
        await close();
      }
    } finally {
      await Promise.all(children.map(({ stop }) => stop()));
    }
  });

  describe('a server that takes connections and never answers', () => {
    // close() of PostgreSQL waited for it without end, and so did whoever shut down.
    // `postgresql` is libpq's own spelling, and was refused, as were its kin.
    test.each(['postgres', 'postgresql', 'mysql', 'mariadb'])(
      'is left by close(), on %s',
      { timeout },
      async (scheme) => {
        const { store, invalidation, close } = await openStore(`${scheme}://u@127.0.0.1:${port}/x`);
        invalidation?.subscribe(() => {});
        const asked = Promise.resolve(store.findById(ENTITY)).catch((error: Error) => error);
        await close();
        expect(await asked).toBeInstanceOf(Error);
      },
    );

    test.each([
      // In hex: a list of RESP, and a TLS handshake (RFC 8446 §5.1).
      ['redis', /^2a/],
      ['rediss', /^1603/],
    ])('is not waited for by openStore, on %s', { timeout }, async (scheme, wanted) => {
      const heard: string[] = [];
      const server = createServer((socket) => {
        socket.on('error', () => {}).on('data', (data) => heard.push(data.toString('hex')));
      });
      server.listen(0, '127.0.0.1');
      await once(server, 'listening');
      const address = `${scheme}://127.0.0.1:${(server.address() as AddressInfo).port}`;
      await expect(openStore(address)).rejects.toThrow('Redis did not answer within 2000 ms');
      server.close();
      expect(heard[0]).toMatch(wanted);
    });
  });

  describe('a server', () => {
    /** Starts one on a free port, and tells what it says once it is up. */
    async function up(
      script: string,
      more: Readonly<Record<string, string>>,
      ...args: readonly string[]
    ) {
      const child = spawn(process.execPath, [...NODE, script, ...args], {
        env: { ...env, PORT: '0', PUBLIC_URL: '', ...more },
        stdio: ['ignore', 'pipe', 'inherit'],
        timeout: timeout / 2,
      });
      const closed = once(child, 'close');
      let out = '';
      for await (const data of child.stdout) {
        out += data;
        if (out.includes('Ctrl-C')) break;
      }
      const stop = async () => {
        child.kill('SIGINT');
        return (await closed)[0];
      };
      return {
        out,
        origin: /up at (http:\/\/127\.0\.0\.1:[1-9]\d*)\/v1\n/.exec(out)?.[1] ?? 'none',
        stop,
      };
    }

    /** Starts the console in a folder of its own. */
    function start(name: string, ...args: readonly string[]) {
      const script = file(`${name}.mjs`);
      const [boot, server] = [
        root('examples/platform/boot.ts'),
        root('examples/console/server.ts'),
      ];
      const imports = `import { run } from '${boot}';\nimport { createServer, tryDoors } from '${server}';\n`;
      writeFileSync(script, `${imports}await run(createServer, tryDoors, '${file(name)}');\n`);
      return up(script, {}, ...args);
    }

    async function tokenFor(origin: string, key: string): Promise<string> {
      const body = new URLSearchParams({
        grant_type: 'urn:ietf:params:oauth:grant-type:token-exchange',
        subject_token: key,
        subject_token_type: 'urn:ietf:params:oauth:token-type:access_token',
      });
      const exchanged = await fetch(`${origin}/v1/token`, { method: 'POST', body });
      const { access_token } = (await exchanged.json()) as { readonly access_token: string };
      return access_token;
    }
    async function status(url: string, credential: string): Promise<number> {
      return (await fetch(url, { headers: { Authorization: `Bearer ${credential}` } })).status;
    }
    const keyOf = (out: string) => /export KEY=(\S+)/.exec(out)?.[1] ?? '';

    // It said of itself that it was at port 0: to whoever had no key, in its document, and in each
    // token.
    test('on a free port calls itself by that port', { timeout }, async () => {
      const { out, origin, stop } = await start('free');
      const metadata = `resource_metadata="${origin}/.well-known/oauth-protected-resource/mcp"`;
      const denied = await fetch(`${origin}/mcp`, { method: 'POST' });
      expect(denied.headers.get('WWW-Authenticate')).toContain(metadata);
      expect(await (await fetch(`${origin}/v1/openapi.json`)).json()).toMatchObject({
        servers: [{ url: origin }],
      });
      const token = await tokenFor(origin, keyOf(out));
      expect(decodeJwt(token)).toMatchObject({ iss: origin, aud: `${origin}/v1` });
      expect([await status(`${origin}/v1/me`, token), await stop()]).toEqual([200, 0]);
    });

    // It printed nothing, and ended with 0.
    test('behind the platform takes the tokens of that one, and its keys not', {
      timeout,
    }, async () => {
      const platform = await start('platform');
      const behind = await up(root('examples/resource-server/server.ts'), {
        PLATFORM_URL: platform.origin,
      });
      const key = keyOf(platform.out);
      const token = await tokenFor(platform.origin, key);
      for (const path of ['/v1/me', '/v1/reports/executive']) {
        expect(behind.out).toContain(`"Authorization: Bearer $TOKEN" ${behind.origin}${path}\n`);
        const url = `${behind.origin}${path}`;
        expect([await status(url, token), await status(url, key)]).toEqual([200, 401]);
      }
      // What it prints for a shell is what was asked for above.
      const lines = /TOKEN=\$\((curl .+?)\|/s.exec(behind.out)?.[1] ?? '';
      expect(lines).toContain(`curl -s ${platform.origin}/v1/token `);
      expect(lines).toContain(`"resource=${platform.origin}/v1"`);
      expect([await behind.stop(), await platform.stop()]).toEqual([0, 0]);
    });

    test.each([
      [
        'a port that is taken',
        'taken',
        [],
        1,
        /^Port \d+ is taken\. Set PORT to another one, .+\n$/,
      ],
      ['a port that is none', '8788x', [], 1, /^PORT is a whole number from 0 to 65535; .+\n$/],
      [
        'a flag that it does not know',
        '0',
        ['--hlep'],
        1,
        /^Usage: npx node examples\/resource-server\/server\.ts /,
      ],
      [
        'a cry for help',
        '0',
        ['--help'],
        0,
        /^Usage: npx node examples\/resource-server\/server\.ts /,
      ],
    ])(
      'behind the platform answers %s in a sentence',
      { timeout },
      async (_, PORT, args, wanted, words) => {
        const child = spawn(
          process.execPath,
          [...NODE, root('examples/resource-server/server.ts'), ...args],
          {
            env: { ...env, PORT: PORT.replace('taken', String(port)) },
            stdio: ['ignore', 'pipe', 'pipe'],
            timeout: timeout / 2,
          },
        );
        const [out, err, [code]] = await Promise.all([
          text(child.stdout),
          text(child.stderr),
          once(child, 'close'),
        ]);
        expect([code, code === 0 ? err : out]).toEqual([wanted, '']);
        expect(code === 0 ? out : err).toMatch(words);
      },
    );

    // It said that the keys were in its own folder, and offered to remove that: with the pepper
    // that they need.
    test('says where the keys are, and offers to remove nothing that they need', {
      timeout,
    }, async () => {
      const args = ['--store', `sqlite:${file('elsewhere.db')}`];
      const first = await start('apart', ...args);
      expect(await first.stop()).toBe(0);
      const second = await start('apart', ...args);
      expect(await second.stop()).toBe(0);
      expect(second.out).toContain('shown on the first run');
      for (const { out } of [first, second]) {
        expect(out).toMatch(/Keys: \S+elsewhere\.db .+Pepper: \S+pepper\.\nKeep the pepper: /);
        expect(out).not.toContain('rm -r');
      }
      const whole = await start('whole');
      expect(await whole.stop()).toBe(0);
      expect(whole.out).toMatch(/Start afresh: rm -r \S+whole/);
    });
  });

  describe('the demo', () => {
    /** Runs it to its end, with a folder of its own for temporary files. */
    async function demo(name: string, ...args: readonly string[]) {
      const TMPDIR = file(name);
      mkdirSync(TMPDIR);
      const child = spawn(process.execPath, [...NODE, root('examples/platform/demo.ts'), ...args], {
        env: { ...env, TMPDIR, PORT: '0' },
        stdio: ['ignore', 'pipe', 'pipe'],
        // One that stays up ends too, and fails the test.
        timeout: timeout / 2,
      });
      const [out, err, [code]] = await Promise.all([
        text(child.stdout),
        text(child.stderr),
        once(child, 'close'),
      ]);
      return { out, err, code, left: readdirSync(TMPDIR) };
    }

    // A misspelt flag was passed over: what should have been a check was a server that stays up.
    test('refuses a flag that it does not know', { timeout }, async () => {
      const { out, err, code } = await demo('flag', '--chekc');
      expect(err).toMatch(
        /^Usage: npm run demo -- \[--check\] \[--store <address>\]\n(?: {2}--\S+ .+\n){3}\nThe environment variables PORT .+\n$/,
      );
      expect([out, code]).toEqual(['', 1]);
    });

    test('leaves nothing behind where its store cannot be opened', { timeout }, async () => {
      const { err, code, left } = await demo(
        'unknown',
        '--check',
        '--store',
        'mongodb://root:hunter2@db/x',
      );
      expect(err).toMatch(/^The service could not start\. openStore: pass .+, not mongodb:\n$/);
      expect([code, left]).toEqual([1, []]);
    });

    // Where a store only took too long there is no driver's error: saying why crashed, and nothing
    // was closed.
    test('says why and ends where its store never answers', { timeout }, async () => {
      const address = `postgres://u@127.0.0.1:${port}/x`;
      const { out, err, code, left } = await demo('silent', '--check', '--store', address);
      expect(err).toMatch(/^store\.insert (?:did not answer within|failed: )/);
      expect(out).toMatch(/ {3}Surprise: the console showed no key\n$/);
      expect([code, left]).toEqual([1, []]);
    });

    test('walks through the service on another store, and says what it leaves there', {
      timeout,
    }, async () => {
      const { out, err, code, left } = await demo(
        'walk',
        '--check',
        '--store',
        `sqlite:${file('walk.db')}`,
      );
      expect(out).toContain(
        `It stays in that database, as do its tables and the other keys made here, of entity ${ENTITY}`,
      );
      expect(out).toMatch(/\nAll as expected\.\n$/);
      expect([err, code, left]).toEqual(['', 0, []]);
    });

    // It expected a second process to find a key that was in the memory of the first.
    test('walks through the service on a store in memory, without a second instance', {
      timeout,
    }, async () => {
      const { out, err, code, left } = await demo(
        'memory',
        '--check',
        '--store',
        'sqlite::memory:',
      );
      expect(out).not.toContain('It stays in that database');
      expect(out).toMatch(/\n12\. Two instances: left out, .+\nAll as expected\.\n$/);
      expect([err, code, left]).toEqual(['', 0, []]);
    });
  });
});

// ── The command line ────────────────────────────────────────────────────────────────────────────

describe('the command line', () => {
  afterEach(() => {
    vi.restoreAllMocks();
    process.exitCode = undefined;
  });
  function read(...args: readonly string[]) {
    const [log, error] = [
      vi.spyOn(console, 'log').mockImplementation(() => {}),
      vi.spyOn(console, 'error'),
    ];
    error.mockImplementation(() => {});
    const own = { check: { type: 'boolean' } } as const;
    const given = readArguments('demo [--check]', own, args);
    return {
      given,
      printed: log.mock.calls.flat(),
      complained: error.mock.calls.flat(),
      exitCode: process.exitCode,
    };
  }

  test('is what it says', () => {
    const nothing = { printed: [], complained: [], exitCode: undefined };
    expect(read()).toEqual({ given: {}, ...nothing });
    const args = ['--check', '--store', 'sqlite:x'];
    expect(read(...args)).toEqual({ given: { check: true, store: 'sqlite:x' }, ...nothing });
  });

  test('may ask for help', () => {
    const printed = [
      expect.stringMatching(
        /^Usage: demo \[--check\]\n(?: {2}--\S+ .+\n){2}\nThe environment variables PORT .+$/,
      ),
    ];
    expect(read('--check', '--help')).toEqual({
      given: null,
      printed,
      complained: [],
      exitCode: undefined,
    });
  });

  test.each([
    ['--chekc'],
    ['--check', 'postgres://root:hunter2@db/x'],
    ['--store'],
    ['--check=hunter2'],
  ])('is refused and not repeated: %s', (...args) => {
    const { given, printed, complained, exitCode } = read(...args);
    expect({ given, printed, exitCode }).toEqual({ given: null, printed: [], exitCode: 1 });
    expect(complained).toEqual([expect.stringMatching(/^Usage: demo/)]);
    expect(String(complained)).not.toContain('hunter2');
  });
});

// SQLite took the slashes for a path: the keys went into the root of the file system, or for no
// path into nothing.
test.each(['sqlite://keys.db', 'sqlite:///srv/keys.db', 'sqlite:'])(
  'openStore refuses %s',
  async (address) => {
    await expect(openStore(address)).rejects.toThrow(
      /^openStore: write the path right behind the colon, as in sqlite:keys/,
    );
  },
);

test('openStore names what it takes, and nothing of what it does not', async () => {
  const taken =
    'sqlite:<path>, postgres://…, postgresql://…, mysql://…, mariadb://…, redis://… or rediss://…';
  await expect(openStore('mongodb://root:hunter2@db/x')).rejects.toThrow(
    new TypeError(`openStore: pass ${taken}, not mongodb:`),
  );
});

test.each([
  ['postgres://root:hunter2@db:5432/keys?password=hunter2', 'postgres://db:5432/keys'],
  ['postgresql:///keys?host=/run/postgresql', 'postgresql:///keys'],
  ['mariadb://root:hunter2@[::1]/keys', 'mariadb://[::1]/keys'],
  ['rediss://:hunter2@cache:6380/2?prefix=a:', 'rediss://cache:6380/2'],
  ['postgres://root:hunter#2@db/keys', 'postgres://…'],
])('placeOf shows of %s no more than where it is', (address, name) => {
  expect(placeOf(address)).toEqual({ kind: 'server', name });
});

test.each([
  ['sqlite::memory:', { kind: 'memory' }],
  ['sqlite:file::memory:', { kind: 'memory' }],
  ['sqlite:file:keys?mode=memory&cache=shared', { kind: 'memory' }],
  ['sqlite:/srv/keys.db', { kind: 'file', path: '/srv/keys.db' }],
  ['sqlite:keys.db', { kind: 'file', path: resolve('keys.db') }],
  ['sqlite:file:/srv/my%20keys.db?mode=rw', { kind: 'file', path: '/srv/my keys.db' }],
  ['sqlite:file:///srv/keys.db', { kind: 'file', path: '/srv/keys.db' }],
])('placeOf knows a file from memory: %s', (address, place) => {
  expect(placeOf(address)).toEqual(place);
});

// It kept every client that had ever listened, one more each second of an outage, and ended them
// all anew.
test('openStore lets go of connections to PostgreSQL that were lost while it listened', {
  timeout,
}, async () => {
  let lost = 0;
  const away = createServer((socket) => {
    lost += 1;
    socket.on('error', () => {}).destroy();
  });
  away.listen(0, '127.0.0.1');
  await once(away, 'listening');
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  const ended = vi.spyOn(pg.Client.prototype, 'end');
  try {
    const { invalidation, close } = await openStore(
      `postgres://u@127.0.0.1:${(away.address() as AddressInfo).port}/x`,
    );
    invalidation?.subscribe(() => {});
    while (lost < 6) {
      await vi.advanceTimersByTimeAsync(1000);
      await new Promise((done) => setImmediate(done));
    }
    ended.mockClear();
    await close();
    // The last one may still be on its way.
    expect(ended.mock.calls.length).toBeLessThan(3);
  } finally {
    vi.useRealTimers();
    ended.mockRestore();
    away.close();
  }
});
