/**
 * Processes that are killed and that race, on SQLite files. `test/servers/processes.test.ts` has
 * many rounds more.
 */
import { readdirSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { openStore } from '../../examples/platform/host/open-store.ts';
import { folder } from '../support/folder.ts';
import { NOWHERE } from '../support/keyring.ts';
import { killRotations } from '../support/kills.ts';
import { markAgainstMark, PAIRS } from '../support/mark-races.ts';
import { type Arena, revokeAgainstRotate, rotateAgainstRotate } from '../support/races.ts';
import { DRIVERS } from '../support/sqlite.ts';
import { crashRounds, migrationRound } from '../support/sqlite-crashes.ts';
import { type Child, startChild } from '../support/store-process.ts';

const { file, remove } = folder();
const timeout = 120_000;
// Each start would strip the types of the whole source again.
Object.assign(process.env, { NODE_COMPILE_CACHE: file('cache') });

let children: readonly [Child, Child, Child, Child];
beforeAll(() => {
  children = [startChild(), startChild(), startChild(), startChild()];
});
afterAll(async () => {
  await Promise.all(children.map((child) => child.stop()));
  remove();
});

// After so many moments; at 0 the file is about to be made. A moment is before or after a call of
// the store.
const KILLS = [0, 18] as const;

test.concurrent.each(DRIVERS)(
  'what %s acknowledged is there after kill -9',
  { timeout },
  async (driver) => {
    const keys = await crashRounds(driver, file(`${driver.replace(':', '-')}.db`), KILLS);
    // Making a key has four moments, and the first operation of each writer is to make one.
    expect(keys).toBeGreaterThan(1);
  },
);

test.concurrent('a process that is killed in the middle of a rotation takes no key along', {
  timeout,
}, async () => {
  const address = `sqlite:${file('kill.db')}`;
  const { store, close } = await openStore(address);
  // From the fourth moment on: standing still between the writes, and before the plaintext is out.
  const seen = await killRotations(address, store, 4, 4);
  expect(seen).toMatchObject({ predecessorAlive: 4, handedOut: 0, visible: 4, remedied: 4 });
  expect(Object.keys(seen.at)).toEqual([
    'insert after',
    'mark before',
    'mark after',
    'rotate made',
  ]);
  await close();
});

test('four processes migrate a new file at once', { timeout }, async () => {
  for (let i = 0; i < 5; i++) await migrationRound(children, file(`migrate-${i}.db`));
});

describe('two processes', () => {
  let arena: Arena;
  let close: () => Promise<void>;

  beforeAll(async () => {
    const path = file('race.db');
    const pair = [children[0], children[1]] as const;
    const answers = await Promise.all(
      pair.map((child, i) => child.ask('open', addressOf(i, path))),
    );
    expect(answers).toEqual(['opened', 'opened']);
    const opened = await openStore(`sqlite:${path}`);
    close = opened.close;
    arena = { store: opened.store, children: pair };
  }, timeout);
  afterAll(() => close());

  test('end a key at once: one winner', { timeout }, async () => {
    expect(await rotateAgainstRotate(arena, 20)).toMatchObject({ oneWinner: 20 });
    expect(await revokeAgainstRotate(arena, 20)).toMatchObject({ oneWinner: 20 });
  });

  test('mark a key at once: as if one had come after the other', { timeout }, async () => {
    for (const pair of PAIRS) {
      const seen = await markAgainstMark(arena, pair, 20);
      expect(seen).toMatchObject({ rounds: 20 });
    }
  });
});

/** One driver and the other. */
const addressOf = (i: number, path: string) =>
  `${i % 2 === 0 ? 'sqlite' : 'better-sqlite3'}:${path}`;

describe('openStore', () => {
  test('opens a file, and ends with it', async () => {
    const { store, close } = await openStore(`sqlite:${file('open.db')}`);
    expect(await store.findById(NOWHERE)).toBe(null);
    await close();
    expect(readdirSync(file('')).filter((name) => name.startsWith('open.db'))).toEqual(['open.db']);
    expect(() => store.findById(NOWHERE)).toThrow();
  });

  test.each([
    'mongodb://root:hunter2@db/keys',
    'file:hunter2',
    'hunter2.db',
    '',
    'constructor:hunter2',
    'SQLITE:hunter2',
  ])('refuses %s, and says what it takes and nothing of the rest', async (url) => {
    const error = await openStore(url).catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(TypeError);
    expect(String(error)).toMatch(/sqlite:.+postgres:.+mysql:.+redis:/);
    expect(String(error)).not.toContain('hunter2');
  });
});
