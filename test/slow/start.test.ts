/** The reference service from outside: several that start at once, a command line, and stores that never answer. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, readdirSync } from 'node:fs';
import type { AddressInfo, Socket } from 'node:net';
import { createServer } from 'node:net';
import { createInterface } from 'node:readline';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from 'vitest';
import { ENTITY, openPlatform, readArguments } from '../../examples/platform/boot.ts';
import { openStore } from '../../examples/platform/store.ts';
import { folder } from '../support/sqlite.ts';

const timeout = 60_000;
const { file, remove } = folder();
afterAll(remove);
const root = (path: string) => fileURLToPath(new URL(`../../${path}`, import.meta.url));
const NODE = ['--disable-warning=ExperimentalWarning', '--import', root('test/support/typescript.ts')];
// Each start would strip the types of the whole source again.
const env = { ...process.env, NODE_COMPILE_CACHE: file('cache'), KEYSCOPE_PEPPER: '', KEYSCOPE_SIGNING_KEY: '' };

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

// ── In processes of their own ─────────────────────────────────────────────────────────────────────────

// They wait more than they work: all at once.
describe.concurrent('from outside', () => {
  // Of 36 processes that started at once in fresh folders, 21 died: of a pepper that was there already, or of rows that were.
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
        expect([domain.listThreats(ENTITY, all).items.length, domain.listDecoys(ENTITY, all).items.length]).toEqual([
          5, 3,
        ]);
        await close();
      }
    } finally {
      await Promise.all(children.map(({ stop }) => stop()));
    }
  });

  describe('a server that takes connections and never answers', () => {
    // close() of PostgreSQL waited for it without end, and so did whoever shut down.
    test.each(['postgres', 'mysql'])('is left by close(), on %s', { timeout }, async (scheme) => {
      const { store, invalidation, close } = await openStore(`${scheme}://u@127.0.0.1:${port}/x`);
      invalidation?.subscribe(() => {});
      const asked = Promise.resolve(store.findById(ENTITY)).catch((error: Error) => error);
      await close();
      expect(await asked).toBeInstanceOf(Error);
    });

    test('is not waited for by openStore, on redis', { timeout }, async () => {
      await expect(openStore(`redis://127.0.0.1:${port}`)).rejects.toThrow('Redis did not answer within 2000 ms');
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
      const [out, err, [code]] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'close')]);
      return { out, err, code, left: readdirSync(TMPDIR) };
    }

    // A misspelt flag was passed over: what should have been a check was a server that stays up.
    test('refuses a flag that it does not know', { timeout }, async () => {
      const { out, err, code } = await demo('flag', '--chekc');
      expect(err).toMatch(/^Usage: npm run demo -- \[--check\] \[--store <address>\]\n(?: {2}--\S+ .+\n){3}$/);
      expect([out, code]).toEqual(['', 1]);
    });

    test('leaves nothing behind where its store cannot be opened', { timeout }, async () => {
      const { err, code, left } = await demo('unknown', '--check', '--store', 'mongodb://root:hunter2@db/x');
      expect(err).toMatch(/^The service could not start\. openStore: pass .+, not mongodb:\n$/);
      expect([code, left]).toEqual([1, []]);
    });

    // Where a store only took too long there is no driver's error: saying why crashed, and nothing was closed.
    test('says why and ends where its store never answers', { timeout }, async () => {
      const { out, code, left } = await demo('silent', '--check', '--store', `postgres://u@127.0.0.1:${port}/x`);
      expect(out).toMatch(/ {3}Failed\. store\.insert (?:did not answer within|failed: )/);
      expect([code, left]).toEqual([1, []]);
    });

    test('walks through the service on another store, and says what it leaves there', { timeout }, async () => {
      const { out, err, code, left } = await demo('walk', '--check', '--store', `sqlite:${file('walk.db')}`);
      expect(out).toContain(
        `It stays in that database, as do its tables and the other keys made here, of entity ${ENTITY}`,
      );
      expect(out).toMatch(/\nAll as expected\.\n$/);
      expect([err, code, left]).toEqual(['', 0, []]);
    });
  });
});

// ── The command line ──────────────────────────────────────────────────────────────────────────────────

describe('the command line', () => {
  afterEach(() => {
    vi.restoreAllMocks();
    process.exitCode = undefined;
  });
  function read(...args: readonly string[]) {
    const [log, error] = [vi.spyOn(console, 'log').mockImplementation(() => {}), vi.spyOn(console, 'error')];
    error.mockImplementation(() => {});
    const own = { check: { type: 'boolean' } } as const;
    const given = readArguments('demo [--check]', own, args);
    return { given, printed: log.mock.calls.flat(), complained: error.mock.calls.flat(), exitCode: process.exitCode };
  }

  test('is what it says', () => {
    const nothing = { printed: [], complained: [], exitCode: undefined };
    expect(read()).toEqual({ given: {}, ...nothing });
    const args = ['--check', '--store', 'sqlite:x'];
    expect(read(...args)).toEqual({ given: { check: true, store: 'sqlite:x' }, ...nothing });
  });

  test('may ask for help', () => {
    const printed = [expect.stringMatching(/^Usage: demo \[--check\]\n(?: {2}--\S+ .+\n?)+$/)];
    expect(read('--check', '--help')).toEqual({ given: null, printed, complained: [], exitCode: undefined });
  });

  test.each([['--chekc'], ['--check', 'postgres://root:hunter2@db/x'], ['--store'], ['--check=hunter2']])(
    'is refused and not repeated: %s',
    (...args) => {
      const { given, printed, complained, exitCode } = read(...args);
      expect({ given, printed, exitCode }).toEqual({ given: null, printed: [], exitCode: 1 });
      expect(complained).toEqual([expect.stringMatching(/^Usage: demo/)]);
      expect(String(complained)).not.toContain('hunter2');
    },
  );
});

// SQLite took the slashes for a path: the keys went into the root of the file system, or for no path into nothing.
test.each(['sqlite://keys.db', 'sqlite:///srv/keys.db', 'sqlite:'])('openStore refuses %s', async (address) => {
  await expect(openStore(address)).rejects.toThrow(
    /^openStore: write the path right behind the colon, as in sqlite:keys/,
  );
});
