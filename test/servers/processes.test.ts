/**
 * Processes that race and processes that are killed, a thousand rounds and a hundred kills on each
 * kind of store. Prints what it counted.
 */
import type { SuiteFactory } from 'vitest';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type OpenedStore, openStore } from '../../examples/platform/store.ts';
import type { Child, Kills, Races } from '../support/crash.ts';
import {
  crashRounds,
  killRotations,
  migrationRound,
  revokeAgainstRotate,
  rotateAgainstRotate,
  startChild,
} from '../support/crash.ts';
import { makeScratch, type Scratch, type StoreKind } from '../support/scratch.ts';
import { describeOn } from '../support/servers.ts';
import { DRIVERS, folder } from '../support/sqlite.ts';

const ROUNDS = 1_000;
const KILLS = 100;
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

const number = (n: number) => n.toLocaleString('en');
const racesLine = ({ rounds, oneWinner, metAtTheWrite }: Races) =>
  `${number(rounds)} rounds: ${number(oneWinner)} with one winner; ${number(metAtTheWrite)} met at the write`;
const killsLine = (seen: Kills) =>
  `kills: ${seen.kills}, predecessor alive ${seen.predecessorAlive}, successors handed out ${seen.handedOut}, ` +
  `not handed out and listed ${seen.visible}, remedied ${seen.remedied}`;

function suite(kind: StoreKind): SuiteFactory {
  return () => {
    let scratch: Scratch;
    let opened: OpenedStore;
    let children: readonly [Child, Child, Child, Child];

    beforeAll(async () => {
      scratch = await makeScratch(kind);
      // All of them find nothing, and make the tables.
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

    const arena = () => ({ store: opened.store, children: [children[0], children[1]] as const });

    test('two processes rotate one key: one winner', { timeout }, async () => {
      const seen = await rotateAgainstRotate(arena(), ROUNDS);
      console.log(`${kind}, rotate against rotate, ${racesLine(seen)}`);
      expect(seen.oneWinner).toBe(ROUNDS);
      // Rounds in which one came too late to race prove nothing.
      expect(seen.metAtTheWrite).toBeGreaterThan(0);
    });

    test('two processes, one revokes what the other rotates: revoked in any case', {
      timeout,
    }, async () => {
      const seen = await revokeAgainstRotate(arena(), ROUNDS);
      const [first, second] = [seen.rotations, ROUNDS - seen.rotations].map(number);
      console.log(
        `${kind}, revoke against rotate, ${racesLine(seen)}; first was rotate ${first}, revoke ${second}`,
      );
      expect(seen.oneWinner).toBe(ROUNDS);
      expect(seen.rotations).toBeGreaterThan(0);
      expect(seen.rotations).toBeLessThan(ROUNDS);
    });

    test('kill -9 in the middle of a rotation takes no key along', { timeout }, async () => {
      const seen = await killRotations(scratch.address, opened.store, KILLS);
      console.log(
        `${kind}, kill -9 in a rotation, ${killsLine(seen)}\n  killed at ${JSON.stringify(seen.at)}`,
      );
      expect([seen.predecessorAlive, seen.remedied]).toEqual([KILLS, KILLS]);
      // Each moment has had its turn: between insert, markEnded and the hand-out there are no
      // others.
      expect(Object.keys(seen.at).length).toBe(kind === 'sqlite' ? 8 : 11);
    });
  };
}

for (const kind of Object.keys(SUITES) as StoreKind[])
  SUITES[kind](`processes on ${kind}`, suite(kind));

describe('processes on SQLite files', () => {
  test.each(DRIVERS)('what %s acknowledged is there after kill -9', { timeout }, async (driver) => {
    let keys = 0;
    // A new file every ten rounds: the kill also falls into its creation.
    for (let i = 0; i < KILLS; i += 10) {
      const moments = Array.from({ length: 10 }, (_, k) => (k % 5 === 0 ? 0 : ((i + k) * 17) % 60));
      keys += await crashRounds(driver, file(`${driver.replace(':', '-')}-${i}.db`), moments, i);
    }
    console.log(
      `${driver}, kill -9: ${KILLS} kills; of ${number(keys)} keys nothing that was acknowledged is lost`,
    );
    expect(keys).toBeGreaterThan(KILLS);
  });

  test('four processes migrate a new file at once', { timeout }, async () => {
    const children = [startChild(), startChild(), startChild(), startChild()];
    for (let i = 0; i < 200; i++) await migrationRound(children, file(`migrate-${i}.db`));
    await Promise.all(children.map((child) => child.stop()));
    console.log('four processes migrate a new file: 200 rounds, each migrated once');
  });
});
