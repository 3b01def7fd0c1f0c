/**
 * Processes that race and processes that are killed, on each kind of store: 200 rounds and 20
 * kills. `npm run lab -- races` runs 1,000 and 100. Prints its counts.
 */
import type { SuiteFactory } from 'vitest';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type OpenedStore, openStore } from '../../examples/platform/host/open-store.ts';
import { folder } from '../support/folder.ts';
import { type Kills, killRotations } from '../support/kills.ts';
import { type MarkRaces, markAgainstMark, PAIRS, type Pair } from '../support/mark-races.ts';
import {
  type Arena,
  type Races,
  revokeAgainstRotate,
  rotateAgainstRotate,
} from '../support/races.ts';
import { runs } from '../support/runs.ts';
import { describeOn } from '../support/servers.ts';
import { DRIVERS } from '../support/sqlite.ts';
import { crashRounds, migrationRound } from '../support/sqlite-crashes.ts';
import { makeScratch, type Scratch, type StoreKind } from '../support/store-address.ts';
import { type Child, startChild } from '../support/store-process.ts';

const ROUNDS = runs(200);
const KILLS = ROUNDS / 10;
const timeout = 600_000;

const { file, remove } = folder();
afterAll(remove);
// Each start would strip the types of the whole source again.
Object.assign(process.env, { NODE_COMPILE_CACHE: file('cache') });

const SUITES: Readonly<Record<StoreKind, typeof describe | typeof describe.skip>> = {
  sqlite: describe,
  postgres: await describeOn('postgres'),
  mysql: await describeOn('mysql'),
  redis: await describeOn('redis'),
};

const grouped = (value: number) => value.toLocaleString('en');

function racesLine({ rounds, oneWinner, metAtTheWrite }: Races): string {
  const won = `${grouped(oneWinner)} with one winner`;
  return `${grouped(rounds)} rounds: ${won}; ${grouped(metAtTheWrite)} met at the write`;
}

function marksLine([first, second]: Pair, { oneWrote, bothWrote, met }: MarkRaces): string {
  const wrote = `one wrote in ${grouped(oneWrote)}, both in ${grouped(bothWrote)}`;
  return `${first} against ${second}, ${grouped(ROUNDS)} rounds: ${wrote}; ${grouped(met)} met`;
}

function killsLine(seen: Kills): string {
  return [
    `kills: ${seen.kills}`,
    `predecessor alive ${seen.predecessorAlive}`,
    `successors handed out ${seen.handedOut}`,
    `not handed out and listed ${seen.visible}`,
    `remedied ${seen.remedied}`,
  ].join(', ');
}

function suite(kind: StoreKind): SuiteFactory {
  return () => {
    let scratch: Scratch;
    let opened: OpenedStore;
    let children: readonly [Child, Child, Child, Child];

    beforeAll(async () => {
      scratch = await makeScratch(kind);
      // None of them finds tables, so all of them try to create them.
      const start = () => startChild(scratch.address);
      children = [start(), start(), start(), start()];
      opened = await openStore(scratch.address);
      await Promise.all(children.map(({ ready }) => ready));
    }, timeout);

    afterAll(async () => {
      try {
        await Promise.all(children.map((child) => child.stop()));
        await opened.close();
      } finally {
        await scratch.remove();
      }
    });

    function arena(): Arena {
      return { store: opened.store, children: [children[0], children[1]] };
    }

    test('has one winner if two processes rotate one key', { timeout }, async () => {
      const seen = await rotateAgainstRotate(arena(), ROUNDS);
      console.log(`${kind}, rotate against rotate, ${racesLine(seen)}`);
      expect(seen.oneWinner).toBe(ROUNDS);
      // Rounds in which one process was too late to race prove nothing.
      expect(seen.metAtTheWrite).toBeGreaterThan(0);
    });

    test('revokes a key that one process revokes and another rotates', { timeout }, async () => {
      const seen = await revokeAgainstRotate(arena(), ROUNDS);
      const { rotations } = seen;
      const first = `rotate ${grouped(rotations)}, revoke ${grouped(ROUNDS - rotations)}`;
      console.log(`${kind}, revoke against rotate, ${racesLine(seen)}; first was ${first}`);
      expect(seen.oneWinner).toBe(ROUNDS);
      expect(rotations).toBeGreaterThan(0);
      expect(rotations).toBeLessThan(ROUNDS);
    });

    test.each(PAIRS)(
      'marks as if one came after the other, if one process may %s and another %s',
      { timeout },
      async (...pair) => {
        const seen = await markAgainstMark(arena(), pair, ROUNDS);
        console.log(`${kind}, ${marksLine(pair, seen)}`);
        expect(seen.oneWrote + seen.bothWrote + seen.noneWrote).toBe(ROUNDS);
        // Rounds in which one process was too late to race prove nothing.
        expect(seen.met).toBeGreaterThan(0);
      },
    );

    test('loses no key to kill -9 in the middle of a rotation', { timeout }, async () => {
      const seen = await killRotations(scratch.address, opened.store, KILLS);
      console.log(`${kind}, kill -9 in a rotation, ${killsLine(seen)}`);
      console.log(`  killed at ${JSON.stringify(seen.at)}`);
      expect(seen.predecessorAlive).toBe(KILLS);
      expect(seen.remedied).toBe(KILLS);
      // Each moment has had its turn. Between insert, mark and the hand-out there is nothing else.
      expect(Object.keys(seen.at).length).toBe(kind === 'sqlite' ? 8 : 11);
    });
  };
}

for (const kind of Object.keys(SUITES) as StoreKind[]) {
  SUITES[kind](`processes on ${kind}`, suite(kind));
}

describe('processes on SQLite files', () => {
  test.each(DRIVERS)(
    'keep with %s what was acknowledged before kill -9',
    { timeout },
    async (driver) => {
      let keys = 0;
      // A new file every ten rounds: the kill also hits its creation.
      for (let first = 0; first < KILLS; first += 10) {
        const numbers = Array.from({ length: 10 }, (_, index) => first + index);
        const moments = numbers.map((number) => (number % 5 === 0 ? 0 : (number * 17) % 60));
        const path = file(`${driver.replace(':', '-')}-${first}.db`);
        keys += await crashRounds(driver, path, moments, first);
      }
      const kept = `of ${grouped(keys)} keys nothing that was acknowledged is lost`;
      console.log(`${driver}, kill -9: ${KILLS} kills; ${kept}`);
      expect(keys).toBeGreaterThan(KILLS);
    },
  );

  test('migrate a new file once if four open it at a time', { timeout }, async () => {
    const children = [startChild(), startChild(), startChild(), startChild()];
    for (let i = 0; i < 200; i++) await migrationRound(children, file(`migrate-${i}.db`));
    await Promise.all(children.map((child) => child.stop()));
    console.log('four processes migrate a new file: 200 rounds, each migrated once');
  });
});
