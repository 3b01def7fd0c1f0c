/** The demo as a process: its flags, its stores, and the files it leaves behind. */
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

/** Runs the demo to its end, with its own folder for temporary files. */
async function demo(name: string, ...args: readonly string[]) {
  const temporary = file(name);
  mkdirSync(temporary);
  const env = environmentWith(file('cache'), { TMPDIR: temporary, PORT: '0' });
  const ended = await runToEnd(PROGRAMS.demo, args, env);
  return { ...ended, left: readdirSync(temporary) };
}

// These tests mostly wait, so they run at the same time.
describe.concurrent('the demo', () => {
  // The demo once ignored a misspelt `--check`, and started a server instead.
  test('refuses an unknown flag', { timeout }, async () => {
    const { out, err, code } = await demo('flag', '--chekc');
    expect(err).toMatch(/^Usage: npm run demo -- \[--check\] \[--store <address>\]\n/);
    expect(err).toMatch(/\n(?: {2}--\S+ .+\n){3}\nThe environment variables PORT .+\n$/);
    expect(out).toBe('');
    expect(code).toBe(1);
  });

  test('leaves nothing behind if it cannot open its store', { timeout }, async () => {
    const address = 'mongodb://root:hunter2@db/x';
    const { err, code, left } = await demo('unknown', '--check', '--store', address);
    expect(err).toMatch(/^The service could not start\. openStore: pass .+, not mongodb:\n$/);
    expect(code).toBe(1);
    expect(left).toEqual([]);
  });

  // A store that is only slow has no driver's error. Explaining that once crashed, and nothing was
  // closed.
  test('explains and ends if its store never answers', { timeout }, async () => {
    const address = `postgres://u@127.0.0.1:${silent.port}/x`;
    const { out, err, code, left } = await demo('silent', '--check', '--store', address);
    // The driver, the keyring and the channel's connection give up at the same time.
    expect(err).toMatch(/^store\.insert (?:did not answer within|failed: )/m);
    expect(err).toMatch(/^(?:(?:store\.insert|The key store's channel:) .+\n)+$/);
    expect(out).toMatch(/ {3}Unexpected: the console showed no key\n$/);
    expect(code).toBe(1);
    expect(left).toEqual([]);
  });

  test('walks through the service on another store, and says what stays there', {
    timeout,
  }, async () => {
    const address = `sqlite:${file('walk.db')}`;
    const { out, err, code, left } = await demo('walk', '--check', '--store', address);
    const stays = 'The key stays in that database, and so do the tables and the other keys';
    expect(out).toContain(`${stays} that this walk creates (entity ${ENTITY})`);
    expect(out).toContain('\n12. Without a secret: ');
    expect(out).not.toMatch(/eyJ[\w-]+\./); // A whole token could be used by anyone who reads it.
    expect(out).toMatch(/\nAll as expected\.\n$/);
    expect({ err, code, left }).toEqual({ err: '', code: 0, left: [] });
  });

  // It once expected a second process to find a key in the memory of the first.
  test('walks through the service on a store in memory without a second instance', {
    timeout,
  }, async () => {
    const address = 'sqlite::memory:';
    const { out, err, code, left } = await demo('memory', '--check', '--store', address);
    expect(out).not.toContain('stays in that database');
    expect(out).toMatch(/\n13\. Two instances: skipped, .+\nAll as expected\.\n$/);
    expect({ err, code, left }).toEqual({ err: '', code: 0, left: [] });
  });
});
