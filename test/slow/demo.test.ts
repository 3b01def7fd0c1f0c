/** The demo from outside: its flags, its stores, and what it leaves behind. */
import { mkdirSync, readdirSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { ENTITY } from '../../examples/platform/host/boot.ts';
import { folder } from '../support/folder.ts';
import {
  environmentWith,
  PROGRAMS,
  runToEnd,
  START_TIMEOUT,
  startSilent,
} from '../support/service-process.ts';

const timeout = START_TIMEOUT;
const { file, remove } = folder();

let silent: Awaited<ReturnType<typeof startSilent>>;
beforeAll(async () => {
  silent = await startSilent();
});
afterAll(() => {
  silent.stop();
  remove();
});

/** Runs it to its end, with a folder of its own for temporary files. */
async function demo(name: string, ...args: readonly string[]) {
  const temporary = file(name);
  mkdirSync(temporary);
  const env = environmentWith(file('cache'), { TMPDIR: temporary, PORT: '0' });
  const ended = await runToEnd(PROGRAMS.demo, args, env);
  return { ...ended, left: readdirSync(temporary) };
}

// They wait more than they work: all at once.
describe.concurrent('the demo', () => {
  // A misspelt flag was passed over: what should have been a check was a server that stays up.
  test('refuses a flag that it does not know', { timeout }, async () => {
    const { out, err, code } = await demo('flag', '--chekc');
    expect(err).toMatch(/^Usage: npm run demo -- \[--check\] \[--store <address>\]\n/);
    expect(err).toMatch(/\n(?: {2}--\S+ .+\n){3}\nThe environment variables PORT .+\n$/);
    expect(out).toBe('');
    expect(code).toBe(1);
  });

  test('leaves nothing behind where its store cannot be opened', { timeout }, async () => {
    const address = 'mongodb://root:hunter2@db/x';
    const { err, code, left } = await demo('unknown', '--check', '--store', address);
    expect(err).toMatch(/^The service could not start\. openStore: pass .+, not mongodb:\n$/);
    expect(code).toBe(1);
    expect(left).toEqual([]);
  });

  // Where a store only took too long there is no driver's error: saying why crashed, and nothing
  // was closed.
  test('says why and ends where its store never answers', { timeout }, async () => {
    const address = `postgres://u@127.0.0.1:${silent.port}/x`;
    const { out, err, code, left } = await demo('silent', '--check', '--store', address);
    // The driver gives up at the same time as the keyring, and the channel's connection, too.
    expect(err).toMatch(/^store\.insert (?:did not answer within|failed: )/m);
    expect(err).toMatch(/^(?:(?:store\.insert|The key store's channel:) .+\n)+$/);
    expect(out).toMatch(/ {3}Surprise: the console showed no key\n$/);
    expect(code).toBe(1);
    expect(left).toEqual([]);
  });

  test('walks through the service on another store, and says what it leaves there', {
    timeout,
  }, async () => {
    const address = `sqlite:${file('walk.db')}`;
    const { out, err, code, left } = await demo('walk', '--check', '--store', address);
    const stays = 'It stays in that database, as do its tables and the other keys made here';
    expect(out).toContain(`${stays}, of entity ${ENTITY}`);
    expect(out).toMatch(/\nAll as expected\.\n$/);
    expect({ err, code, left }).toEqual({ err: '', code: 0, left: [] });
  });

  // It expected a second process to find a key that was in the memory of the first.
  test('walks through the service on a store in memory, without a second instance', {
    timeout,
  }, async () => {
    const address = 'sqlite::memory:';
    const { out, err, code, left } = await demo('memory', '--check', '--store', address);
    expect(out).not.toContain('It stays in that database');
    expect(out).toMatch(/\n12\. Two instances: left out, .+\nAll as expected\.\n$/);
    expect({ err, code, left }).toEqual({ err: '', code: 0, left: [] });
  });
});
