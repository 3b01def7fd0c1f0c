/**
 * What a guard costs a service: `node bench/http.ts`, `-- --quick` for a short run. Each server
 * stands in a process of its own and autocannon in another. All servers of a framework are up at
 * once and take turns under load, in rounds.
 */
import assert from 'node:assert/strict';
import { type Figure, measureLanes, quantile, summarize } from './harness.ts';
import { type Child, startChild } from './http/child.ts';
import type { Job, Load } from './http/load.ts';
import { answerTo, OURS, PATH, PLAIN } from './http/route.ts';
import type { Ready } from './http/server.ts';
import { SERVERS } from './http/servers.ts';
import { anotherKey, ENTITY } from './keys.ts';
import { type Aim, aim, percent, publish, quick, type Row, rowOf } from './report.ts';

const ROUNDS = quick ? 3 : 7;
const SECONDS = quick ? 0.2 : 0.5;
/** Enough that a request is always waiting. */
const CONNECTIONS = 32;

type Server = Child<Ready, object, NodeJS.CpuUsage>;
type Generator = Child<true, Job, Load>;

/** Seconds that a turn took, and of them those that the server and the generator worked. */
interface Turn {
  readonly requests: number;
  readonly seconds: number;
  readonly served: number;
  readonly loaded: number;
}

/** The servers of a framework, by the clock and by the processor time that they took themselves. */
interface Measured {
  readonly figures: readonly Figure[];
  readonly busy: readonly Figure[];
  readonly turns: readonly Turn[];
}

function urlOf({ ready }: Server): string {
  return `http://127.0.0.1:${ready.port}${PATH}`;
}

/** Right and wrong credentials, before anything is timed. */
async function checkServer(server: Server, name: string): Promise<void> {
  const { tokens, underScoped, guarded } = server.ready;
  const expectStatus = async (token: string | undefined, wanted: number) => {
    const headers = token === undefined ? {} : { Authorization: `Bearer ${token}` };
    const response = await fetch(urlOf(server), { headers });
    const body = await response.text();
    assert.equal(response.status, wanted, `${name}: ${body}`);
    if (wanted === 200) assert.deepEqual(JSON.parse(body), answerTo(ENTITY), name);
  };
  const first = tokens[0] as string;
  await expectStatus(first, 200);
  await expectStatus(tokens.at(-1), 200);
  if (underScoped !== undefined) await expectStatus(underScoped, 403);
  if (!guarded) return;
  await expectStatus(undefined, 401);
  await expectStatus(anotherKey(first), 401);
}

async function turn(server: Server, generator: Generator): Promise<Turn> {
  const { user, system } = await server.ask({});
  const { tokens } = server.ready;
  const { worked, ...load } = await generator.ask({
    url: urlOf(server),
    tokens,
    seconds: SECONDS,
    connections: CONNECTIONS,
  });
  const after = await server.ask({});
  return { ...load, served: (after.user - user + after.system - system) / 1e6, loaded: worked };
}

/** Those of a framework that can be started, by name. */
async function startServers(framework: string): Promise<ReadonlyMap<string, Server>> {
  const names = Object.keys(SERVERS[framework] ?? {});
  const start = (name: string): Promise<Server | null> => startChild('server.ts', framework, name);
  const started = await Promise.all(names.map(start));
  const servers = new Map<string, Server>();
  for (const [index, name] of names.entries()) {
    const server = started[index] ?? null;
    if (server !== null) servers.set(name, server);
  }
  return servers;
}

/** All servers of a framework, round by round. */
async function measureServers(framework: string, generator: Generator): Promise<Measured> {
  const servers = await startServers(framework);
  try {
    for (const [name, server] of servers) {
      await checkServer(server, `${framework}, ${name}`);
      await turn(server, generator); // Much of a server is compiled only now.
    }
    return await measureInTurns(servers, generator);
  } finally {
    for (const server of servers.values()) server.process.disconnect();
  }
}

async function measureInTurns(
  servers: ReadonlyMap<string, Server>,
  generator: Generator,
): Promise<Measured> {
  const turns = new Map<string, Turn[]>();
  const lanes = Array.from(servers, ([name, server]) => ({
    name,
    over: PLAIN,
    turn: async () => {
      const done = await turn(server, generator);
      turns.set(name, [...(turns.get(name) ?? []), done]);
      return (1e9 * done.seconds) / done.requests;
    },
  }));
  const figures = await measureLanes(lanes, ROUNDS);
  const busy = new Map<string, readonly number[]>();
  const counted: Turn[] = [];
  for (const [name, all] of turns) {
    // Without the rounds that warmed them up.
    const own = all.slice(-ROUNDS);
    const times = own.map(({ served, requests }) => (1e9 * served) / requests);
    busy.set(name, times);
    counted.push(...own);
  }
  return { figures, busy: summarize(lanes, busy), turns: counted };
}

// ── Report ───────────────────────────────────────────────────────────────────────────────────────

const WORKED = 'a second of processor time';

function rowsOf(figures: readonly Figure[], group: string): readonly Row[] {
  return figures.map((figure) =>
    rowOf(figure, 'ops/s', { name: figure.name, group, ours: figure.name === OURS }),
  );
}

/** The part of the time that one side worked, in the median turn. */
function shareOf(turns: readonly Turn[], worked: 'served' | 'loaded'): string {
  const parts = turns.map((each) => each[worked] / each.seconds);
  return percent(quantile(parts, 0.5));
}

function aimsOf(rows: readonly Row[]): readonly Aim[] {
  const ratio = (group: string) =>
    rows.find((row) => row.group === group && row.name === OURS)?.ratio;
  return Object.keys(SERVERS).map((framework) =>
    aim(
      `${framework}, of the plain check, by processor time`,
      ratio(`${framework}, ${WORKED}`),
      '≥',
      0.9,
      '×',
    ),
  );
}

async function main(): Promise<void> {
  const generator: Generator | null = await startChild('load.ts');
  if (generator === null) return;
  const rows: Row[] = [];
  const turns: Turn[] = [];
  for (const framework of Object.keys(SERVERS)) {
    const measured = await measureServers(framework, generator);
    rows.push(...rowsOf(measured.figures, framework));
    rows.push(...rowsOf(measured.busy, `${framework}, ${WORKED}`));
    turns.push(...measured.turns);
  }
  generator.process.disconnect();
  publish({
    name: 'http',
    title: 'HTTP: a guarded route, on four frameworks',
    about:
      `One route that answers a line of JSON, under load by autocannon: ${CONNECTIONS} ` +
      'connections that stay, 1,000 keys in turn. keyscope is the guard of `examples/`, with ' +
      'keys in memory, on node:http `keyring.admit`; the plain check is `bench/by-hand.ts` as ' +
      'the middleware of its framework. Each server is a process and the generator another. Two ' +
      `ratios: of requests in a second, and of requests in ${WORKED} of the server, which is ` +
      'what a guard costs where the generator or the machine holds a server up. In the median ' +
      `turn the server worked ${shareOf(turns, 'served')} of the time and the generator ` +
      `${shareOf(turns, 'loaded')}.`,
    unit: 'requests/s',
    base: 'the plain check',
    rows,
    aims: aimsOf(rows),
  });
}

await main();
