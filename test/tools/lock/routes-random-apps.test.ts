/**
 * Random apps: `routesOf` lists every route that answers, and lists none as guarded that answers a
 * stranger. `npm run lab -- lock` runs many more.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Dice, emptyTally, judge, type RandomApp } from '../../support/random-apps.ts';
import { openExpress, randomExpress } from '../../support/random-express.ts';
import { randomFastify } from '../../support/random-fastify.ts';
import { randomHono } from '../../support/random-hono.ts';

let close = (): void => {};
beforeAll(async () => {
  close = await openExpress();
});
afterAll(() => close());

const MAKERS: readonly [string, (dice: Dice) => RandomApp | Promise<RandomApp>][] = [
  ['Express', randomExpress],
  ['Fastify', randomFastify],
  ['Hono', randomHono],
];

describe.each(MAKERS)('routesOf on random apps of %s', (_, make) => {
  it('lists routes that answer strangers as unguarded, or rejects the app', async () => {
    const tally = emptyTally();
    for (let at = 0; at < 30; at += 1) await judge(await make(new Dice(at)), tally);
    const { falseAllClears, unlisted, misread } = tally;
    expect({ falseAllClears, unlisted, misread }).toEqual({
      falseAllClears: [],
      unlisted: [],
      misread: [],
    });
    const { guarded, unguarded, behind, answered, denied } = tally;
    expect(Math.min(guarded, unguarded, behind, answered, denied)).toBeGreaterThan(5);
  });
});
