/**
 * Honest requests in the middle of a flood: `node bench/flood.ts`. A stranger sends garbage as fast
 * as it is refused, while honest requests arrive by the clock. Beside it the same number of
 * requests a second with good keys, and the honest ones alone. Server, flood and honest client are
 * a process each.
 */
import { quantile } from './harness.ts';
import type { Arrived, Job } from './http/arrivals.ts';
import { type Child, startChild } from './http/child.ts';
import { OURS, PATH } from './http/route.ts';
import type { Ready } from './http/server.ts';
import { aim, publish, quick, type Row } from './report.ts';

const ROUNDS = quick ? 1 : 5;
const SECONDS = quick ? 1 : 2;
const HONEST_RATE = 200;
const CONNECTIONS = 32;

type Client = Child<true, Job, Arrived>;

const GARBAGE: Readonly<Record<string, (key: string) => string>> = {
  'no keys at all': () => 'x',
  'keys with a wrong checksum': (key) => key.replace(/.$/, (end) => (end === '0' ? '1' : '0')),
};
const ALONE = 'alone';

interface Round {
  /** By what was beside the honest requests: their 99th percentile, in milliseconds. */
  readonly p99: ReadonlyMap<string, number>;
  /** Requests of the flood in a second. */
  readonly flood: number;
}

async function playRound(
  url: string,
  tokens: readonly string[],
  bad: readonly string[],
  [honest, stranger]: readonly [Client, Client],
): Promise<Round> {
  const common = { url, connections: CONNECTIONS };
  const good = { ...common, credentials: tokens, status: 200 };
  const asHonest: Job = { ...good, rate: HONEST_RATE, seconds: SECONDS };
  const alone = await honest.ask(asHonest);
  const garbage: Job = {
    ...common,
    credentials: bad,
    status: 401,
    rate: null,
    seconds: SECONDS + 0.2,
  };
  const [inFlood, flooded] = await Promise.all([honest.ask(asHonest), stranger.ask(garbage)]);
  const flood = flooded.requests / garbage.seconds;
  const busy: Job = { ...good, rate: flood, seconds: SECONDS + 0.2 };
  const [inTraffic] = await Promise.all([honest.ask(asHonest), stranger.ask(busy)]);
  const p99 = new Map([
    [ALONE, alone.p99],
    ['garbage', inFlood.p99],
    ['good keys', inTraffic.p99],
  ]);
  return { p99, flood };
}

const server = (await startChild('server.ts', 'node:http', OURS)) as Child<Ready, object, unknown>;
const honest = (await startChild('arrivals.ts')) as Client;
const stranger = (await startChild('arrivals.ts')) as Client;
const { tokens, port } = server.ready;
const url = `http://127.0.0.1:${port}${PATH}`;
const rows: Row[] = [];
const aims: ReturnType<typeof aim>[] = [];
for (const [name, spoil] of Object.entries(GARBAGE)) {
  const bad = tokens.map(spoil);
  const rounds: Round[] = [];
  await playRound(url, tokens, bad, [honest, stranger]);
  for (let round = 0; round < ROUNDS; round++) {
    rounds.push(await playRound(url, tokens, bad, [honest, stranger]));
  }
  const flood = quantile(
    rounds.map((round) => round.flood),
    0.5,
  );
  const p99Of = (beside: string): readonly number[] =>
    rounds.map(({ p99 }) => p99.get(beside) ?? Number.NaN);
  const rounded = Math.round(flood / 100) * 100;
  const group = `${rounded.toLocaleString('en-US')} requests a second beside: ${name}`;
  for (const beside of [ALONE, 'good keys', 'garbage']) {
    const all = p99Of(beside);
    const value = quantile(all, 0.5);
    const spread = (quantile(all, 0.9) - quantile(all, 0.1)) / value;
    rows.push({ name: beside, group, value, spread, ours: beside === 'garbage' });
  }
  const within = p99Of('garbage').map((p99, round) => p99 / (p99Of('good keys')[round] as number));
  aims.push(aim(`${name}: p99 of as many good keys`, quantile(within, 0.5), '≤', 1.5, '×'));
}
for (const child of [server, honest, stranger]) child.process.disconnect();
publish({
  name: 'flood',
  title: 'Honest requests in a flood',
  about:
    `The 99th percentile of ${HONEST_RATE} honest requests a second to a guarded route on ` +
    `node:http, alone, and while ${CONNECTIONS} connections send garbage as fast as it is ` +
    'refused, or as many good keys; medians of rounds. Less is better.',
  unit: 'ms',
  rows,
  aims,
});
