/** The command lines of the example programs: flags, and addresses of stores. */
import { once } from 'node:events';
import { statSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import { createServer } from 'node:net';
import pg from 'pg';
import { afterEach, describe, expect, test, vi } from 'vitest';
import { readArguments } from '../../examples/platform/host/arguments.ts';
import { openStore } from '../../examples/platform/host/open-store.ts';
import { folder } from '../support/folder.ts';

describe('the command line of an example', () => {
  afterEach(() => {
    vi.restoreAllMocks();
    process.exitCode = undefined;
  });

  function read(...args: readonly string[]) {
    const log = vi.spyOn(console, 'log').mockImplementation(() => {});
    const error = vi.spyOn(console, 'error').mockImplementation(() => {});
    const own = { check: { type: 'boolean' } } as const;
    const given = readArguments('demo [--check]', own, args);
    return {
      given,
      printed: log.mock.calls.map(String),
      complained: error.mock.calls.map(String),
      exitCode: process.exitCode,
    };
  }

  test('returns its flags', () => {
    const nothing = { printed: [], complained: [], exitCode: undefined };
    expect(read()).toEqual({ given: {}, ...nothing });
    const args = ['--check', '--store', 'sqlite:x'];
    expect(read(...args)).toEqual({ given: { check: true, store: 'sqlite:x' }, ...nothing });
  });

  test('prints help', () => {
    const { printed, ...others } = read('--check', '--help');
    const usage =
      /^Usage: demo \[--check\]\n(?: {2}--\S+ .+\n){2}\nThe environment variables PORT .+$/;
    expect(printed).toHaveLength(1);
    expect(printed[0]).toMatch(usage);
    expect(others).toEqual({ given: null, complained: [], exitCode: undefined });
  });

  test.each([
    ['--chekc'],
    ['--check', 'postgres://root:hunter2@db/x'],
    ['--store'],
    ['--check=hunter2'],
  ])('is rejected and not repeated: %s', (...args) => {
    const { complained, ...others } = read(...args);
    expect(others).toEqual({ given: null, printed: [], exitCode: 1 });
    expect(complained).toHaveLength(1);
    expect(complained[0]).toMatch(/^Usage: demo/);
    expect(complained[0]).not.toContain('hunter2');
  });
});

describe('openStore', () => {
  // SQLite took the slashes as a path: keys went to the root of the file system, or, without a
  // path, nowhere.
  test.each(['sqlite://keys.db', 'sqlite:///srv/keys.db', 'sqlite:'])(
    'rejects %s',
    async (address) => {
      const told = /^openStore: write the path right after the colon, as in sqlite:keys/;
      await expect(openStore(address)).rejects.toThrow(told);
    },
  );

  // Everyone on the machine could read the digests.
  test('creates a file that only its owner can read', async () => {
    const { file, remove } = folder();
    const { store, close } = await openStore(`sqlite:${file('keys.db')}`);
    await store.findById('any');
    expect(statSync(file('keys.db')).mode & 0o777).toBe(0o600);
    expect(statSync(file('keys.db-wal')).mode & 0o777).toBe(0o600);
    await close();
    remove();
  });

  test('names the addresses that it accepts, and does not repeat the given one', async () => {
    const sql = 'sqlite:<path>, postgres://…, postgresql://…, mysql://…, mariadb://…';
    const taken = `${sql}, redis://… or rediss://…`;
    const told = new TypeError(`openStore: pass ${taken}, not mongodb:`);
    await expect(openStore('mongodb://root:hunter2@db/x')).rejects.toThrow(told);
  });

  // It once kept every client that had ever listened, one more for each second of an outage, and
  // ended all of them again.
  test('releases lost connections to PostgreSQL', { timeout: 60_000 }, async () => {
    let lost = 0;
    const away = createServer((socket) => {
      lost += 1;
      socket.on('error', () => {});
      socket.destroy();
    });
    away.listen(0, '127.0.0.1');
    await once(away, 'listening');
    const { port } = away.address() as AddressInfo;
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    const ended = vi.spyOn(pg.Client.prototype, 'end');
    try {
      const { invalidation, close } = await openStore(`postgres://u@127.0.0.1:${port}/x`);
      // It rejects at once, because the first attempt fails.
      Promise.resolve(invalidation?.subscribe(() => {})).catch(() => {});
      while (lost < 6) {
        await vi.advanceTimersByTimeAsync(1000);
        await new Promise((done) => setImmediate(done));
      }
      ended.mockClear();
      await close();
      // The last one may still be connecting.
      expect(ended.mock.calls.length).toBeLessThan(3);
    } finally {
      vi.useRealTimers();
      ended.mockRestore();
      away.close();
    }
  });
});
