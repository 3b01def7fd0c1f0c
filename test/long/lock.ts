/**
 * `npm run lab -- lock`: lists 2,000 random apps each on Express, Fastify and Hono, and calls all
 * of their possible routes without a key. Runs the source. Prints how many routes were listed as
 * what. Fails if the list has a handler that answered a stranger as guarded, or misses it. `node …
 * test/long/lock.ts 100 7` makes 100 of each, from another seed.
 */
import { Dice, emptyTally, judge, type RandomApp, type Tally } from '../support/random-apps.ts';
import { openExpress, randomExpress } from '../support/random-express.ts';
import { randomFastify } from '../support/random-fastify.ts';
import { randomHono } from '../support/random-hono.ts';

const [, , count = '2000', seed = '1'] = process.argv;

const MAKERS: Readonly<Record<string, (dice: Dice) => RandomApp | Promise<RandomApp>>> = {
  Express: randomExpress,
  Fastify: randomFastify,
  Hono: randomHono,
};

const close = await openExpress();
for (const [name, make] of Object.entries(MAKERS)) {
  const tally = emptyTally();
  const start = performance.now();
  for (let at = 0; at < Number(count); at += 1) {
    await judge(await make(new Dice(Number(seed) * 1_000_003 + at)), tally);
  }
  print(name, tally, (performance.now() - start) / 1000);
}
close();

function print(name: string, tally: Tally, seconds: number): void {
  const { falseAllClears, unlisted, misread, ...counts } = tally;
  const shown = Object.entries(counts).map(([what, number]) => `${what} ${number}`);
  const wrong = { 'false all-clears': falseAllClears, unlisted, misread };
  const found = Object.entries(wrong).map(([what, { length }]) => `${what} ${length}`);
  console.log(`${name}: ${[...shown, ...found].join(', ')}; ${seconds.toFixed(1)} s`);
  for (const words of Object.values(wrong).flatMap((each) => each.slice(0, 5))) console.log(words);
  if (Object.values(wrong).some(({ length }) => length > 0)) process.exitCode = 1;
}
