/**
 * Processes on SQLite files that are killed or race. `test/servers/processes.test.ts` runs many
 * more rounds.
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
// Otherwise each start would strip the types of the whole source again.
Object.assign(process.env, { NODE_COMPILE_CACHE: file('cache') });

let children: readonly [Child, Child, Child, Child];
beforeAll(() => {
  children = [startChild(), startChild(), startChild(), startChild()];
});
afterAll(async () => {
  await Promise.all(children.map((child) => child.stop()));
  remove();
});

// After this many moments; 0 is just before the file is created. A moment is before or after a
// store call.
const KILLS = [0, 18] as const;

test.concurrent.each(DRIVERS)(
  'what %s acknowledged survives kill -9',
  { timeout },
  async (driver) => {
    const keys = await crashRounds(driver, file(`${driver.replace(':', '-')}.db`), KILLS);
    // Creating a key has four moments, and each writer's first operation creates one.
    expect(keys).toBeGreaterThan(1);
  },
);

test.concurrent('killing a process in the middle of a rotation loses no key', {
  timeout,
}, async () => {
  const address = `sqlite:${file('kill.db')}`;
  const { store, close } = await openStore(address);
  // From the fourth moment on: paused between the writes, and before the plaintext is out.
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

  test('end a key at once with one winner', { timeout }, async () => {
    expect(await rotateAgainstRotate(arena, 20)).toMatchObject({ oneWinner: 20 });
    expect(await revokeAgainstRotate(arena, 20)).toMatchObject({ oneWinner: 20 });
  });

  test('mark a key at once as if one had come after the other', { timeout }, async () => {
    for (const pair of PAIRS) {
      const seen = await markAgainstMark(arena, pair, 20);
      expect(seen).toMatchObject({ rounds: 20 });
    }
  });
});

/** Alternates between the drivers. */
const addressOf = (i: number, path: string) =>
  `${i % 2 === 0 ? 'sqlite' : 'better-sqlite3'}:${path}`;

describe('openStore', () => {
  test('opens a file and closes it', async () => {
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
  ])('rejects %s, naming what it accepts and nothing of the rest', async (url) => {
    const error = await openStore(url).catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(TypeError);
    expect(String(error)).toMatch(/sqlite:.+postgres:.+mysql:.+redis:/);
    expect(String(error)).not.toContain('hunter2');
  });
});
