/**
 * Good keys in the middle of a flood of bad ones: `node bench/flood.ts`. Good requests arrive by
 * the clock, so that a server that falls behind cannot slow down who asks: a time begins when a
 * request was due. The flood comes as fast as it is refused; next to it, as many good keys. Server,
 * flood and good client are a process each.
 */
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { Agent, createServer, type IncomingMessage, request as send } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createKeyring, definePolicy, generateKey, isAccessError, toResponse } from 'keyscope';
import { quantile } from './harness.ts';
import { catalog, fill, NEEDED, PREFIX } from './keys.ts';
import { atMost, number, publish, quick, type Row } from './report.ts';

const ROUNDS = quick ? 1 : 7;
const SECONDS = quick ? 1 : 2;
const RATE = 200;
const CONNECTIONS = 32;
const KEYS = 1_000;
const [, , ROLE = ''] = process.argv;

// ── The server ───────────────────────────────────────────────────────────────────────────────────

interface Ready {
  readonly port: number;
  readonly keys: readonly string[];
}

/** A guarded route, as in the README's quick start. */
async function serve(): Promise<void> {
  const { store, values } = fill(KEYS);
  const policy = definePolicy(catalog, { listThreats: [NEEDED] });
  const keyring = createKeyring({ prefix: PREFIX, policy, store, peppers: 'none' });
  const server = createServer(async (request, response) => {
    response.setHeader('Cache-Control', 'no-store');
    try {
      const { entityId } = await keyring.admit(request, { operation: 'listThreats' });
      response.setHeader('Content-Type', 'application/json');
      response.end(JSON.stringify({ entityId, threats: [] }));
    } catch (error) {
      if (!isAccessError(error)) console.error(error);
      const { status, headers, body } = toResponse(error, { realm: 'bench' });
      response.writeHead(status, headers).end(body);
    }
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const keys = Array.from({ length: KEYS }, (_, index) => values.key(index));
  process.send?.({ port: (server.address() as AddressInfo).port, keys } satisfies Ready);
}

// ── A client ─────────────────────────────────────────────────────────────────────────────────────

interface Job {
  readonly port: number;
  readonly keys: readonly string[];
  /** The status that each is answered with. */
  readonly status: number;
  /** A second; null for as fast as they are answered. */
  readonly rate: number | null;
  readonly seconds: number;
}

interface Arrived {
  readonly requests: number;
  /** Milliseconds. */
  readonly p99: number;
}

async function ask({ port, keys, status, rate, seconds }: Job): Promise<Arrived> {
  const agent = new Agent({ keepAlive: true, maxSockets: CONNECTIONS });
  const times: number[] = [];
  let next = 0;
  async function one(due: number): Promise<void> {
    next += 1;
    const headers = { Authorization: `Bearer ${keys[next % keys.length]}` };
    const sent = send({ host: '127.0.0.1', port, path: '/threats', agent, headers }).end();
    const [response] = (await once(sent, 'response')) as [IncomingMessage];
    if (response.statusCode !== status) throw new Error(`answered ${response.statusCode}`);
    response.resume();
    await once(response, 'end');
    times.push(performance.now() - due);
  }
  const begun = performance.now();
  async function inTurn(): Promise<void> {
    while (performance.now() < begun + 1000 * seconds) await one(performance.now());
  }
  async function byTheClock(perSecond: number): Promise<void> {
    const pending: Promise<void>[] = [];
    for (let count = 0; count < perSecond * seconds; ) {
      const due = begun + (1000 * count) / perSecond;
      if (due > performance.now()) await new Promise((turn) => void setTimeout(turn, 1));
      else {
        pending.push(one(due));
        count += 1;
      }
    }
    await Promise.all(pending);
  }
  if (rate === null) await Promise.all(Array.from({ length: CONNECTIONS }, inTurn));
  else await byTheClock(rate);
  agent.destroy();
  return { requests: times.length, p99: quantile(times, 0.99) };
}

// ── All of them ──────────────────────────────────────────────────────────────────────────────────

/** The next message of a process, which fails if that ends. */
async function messageOf<T>(child: ChildProcess): Promise<T> {
  const waiting = new AbortController();
  const { signal } = waiting;
  const gone = once(child, 'exit', { signal }).then(() =>
    Promise.reject(new Error('a process has ended')),
  );
  gone.catch(() => {});
  try {
    const answered = once(child, 'message', { signal });
    answered.catch(() => {});
    const [message] = (await Promise.race([answered, gone])) as [T];
    return message;
  } finally {
    waiting.abort();
  }
}

function start(role: string): ChildProcess {
  return fork(new URL(import.meta.url), [role, ...process.argv.slice(2)]);
}

async function assign(client: ChildProcess, job: Job): Promise<Arrived> {
  client.send(job);
  return messageOf<Arrived>(client);
}

interface Round {
  readonly alone: number;
  readonly amongBad: number;
  readonly amongGood: number;
  /** Requests of the flood in a second. */
  readonly flood: number;
}

async function main(): Promise<void> {
  const server = start('server');
  const { port, keys } = await messageOf<Ready>(server);
  const good = start('client');
  const stranger = start('client');
  const FLOODS: Readonly<Record<string, readonly string[]>> = {
    garbage: ['x'],
    'keys that nobody issued': keys.map(() => generateKey({ prefix: PREFIX })),
  };

  async function play(bad: readonly string[]): Promise<Round> {
    const honest: Job = { port, keys, status: 200, rate: RATE, seconds: SECONDS };
    const alone = await assign(good, honest);
    const seconds = SECONDS + 0.2;
    const flooding: Job = { port, keys: bad, status: 401, rate: null, seconds };
    const [among, flooded] = await Promise.all([assign(good, honest), assign(stranger, flooding)]);
    const flood = flooded.requests / seconds;
    const busy: Job = { ...honest, rate: flood, seconds };
    const [amongGood] = await Promise.all([assign(good, honest), assign(stranger, busy)]);
    return { alone: alone.p99, amongBad: among.p99, amongGood: amongGood.p99, flood };
  }

  const rows: Row[] = [];
  for (const [name, bad] of Object.entries(FLOODS)) {
    await play(bad);
    const rounds: Round[] = [];
    while (rounds.length < ROUNDS) rounds.push(await play(bad));
    const median = (of: (round: Round) => number): number => quantile(rounds.map(of), 0.5);
    const ratio = median(({ amongBad, amongGood }) => amongBad / amongGood);
    rows.push({
      name,
      cells: [
        median(({ flood }) => flood),
        median(({ alone }) => alone),
        median(({ amongGood }) => amongGood),
        median(({ amongBad }) => amongBad),
        `${number(ratio)} ×`,
      ],
      verdict: atMost(ratio, 1.5, '×'),
      inSummary: `p99 in a flood of ${name}; among as many good requests it is 1`,
    });
  }
  for (const child of [server, good, stranger]) child.disconnect();
  publish({
    name: 'flood',
    title: 'In a flood',
    about:
      `The 99th percentile of ${RATE} good requests a second to a guarded route on node:http, in ` +
      `milliseconds: alone, among as many good keys as the flood has bad ones, and in the flood, ` +
      `which ${CONNECTIONS} connections send as fast as it is refused. Medians of rounds; all on ` +
      'one machine, so that the clients take their part of it.',
    tables: [
      {
        head: ['flood of', 'a second', 'alone', 'among good', 'in the flood', 'in it, of among'],
        rows,
      },
    ],
  });
}

if (ROLE === 'server') {
  process.on('disconnect', () => process.exit());
  await serve();
} else if (ROLE === 'client') {
  process.on('disconnect', () => process.exit());
  process.on('message', async (job: Job) => process.send?.(await ask(job)));
} else await main();
