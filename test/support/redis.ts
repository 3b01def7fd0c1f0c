/** Redis servers that a test starts and stops itself, and clients of both kinds. */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Redis, type RedisOptions } from 'ioredis';
import { createClient, createClientPool, RESP_TYPES } from 'redis';
import { describe } from 'vitest';

const { CI } = process.env;
const installed = spawnSync('redis-server', ['--version']).status === 0;

/**
 * `describe` for what starts a `redis-server`: skipped by name where none is installed; with
 * `CI=true` it fails.
 */
export const describeWithRedis = installed || CI === 'true' ? describe : describe.skip;

/** Waits until `holds`, which may also throw until it does. */
export async function eventually(holds: () => Promise<boolean>, what: string): Promise<void> {
  const deadline = Date.now() + 15_000;
  for (let last: unknown; ; await sleep(20)) {
    try {
      if (await holds()) return;
    } catch (error) {
      last = error;
    }
    if (Date.now() > deadline) throw new Error(`never came true: ${what}`, { cause: last });
  }
}

// Redis refuses port 0. A cluster's bus takes the port 10,000 above, so both have to exist.
async function freePort(): Promise<number> {
  for (;;) {
    const server = createServer().listen(0, '127.0.0.1');
    await once(server, 'listening');
    const address = server.address();
    server.close();
    await once(server, 'close');
    if (typeof address === 'object' && address !== null && address.port < 55_000)
      return address.port;
  }
}

/** A process of the test's own, with a folder of its own. */
export interface OwnRedis {
  readonly port: number;
  readonly url: string;
  /** Sends one command, over a connection for it alone. */
  ask(...command: string[]): Promise<unknown>;
  stop(signal?: NodeJS.Signals): Promise<void>;
  start(): Promise<void>;
  /** Stops it and removes its folder. */
  remove(): Promise<void>;
}

// A run that is cut short leaves no server behind.
const started = new Set<ChildProcess>();
process.on('exit', () => {
  for (const server of started) server.kill('SIGKILL');
});

/** Starts a server that keeps nothing on disk, unless `options` say otherwise. */
export async function startRedis(...options: string[]): Promise<OwnRedis> {
  const dir = mkdtempSync(join(tmpdir(), 'keyscope-redis-'));
  const port = await freePort();
  let running: ChildProcess | undefined;

  async function ask(...command: string[]): Promise<unknown> {
    const client = new Redis(port, '127.0.0.1', { retryStrategy: () => null, lazyConnect: true });
    client.on('error', () => {});
    try {
      await client.connect();
      const [name = '', ...args] = command;
      return await client.call(name, ...args);
    } finally {
      client.disconnect();
    }
  }

  async function start(): Promise<void> {
    const fixed = [
      '--port',
      String(port),
      '--bind',
      '127.0.0.1',
      '--dir',
      dir,
      '--save',
      '',
      '--daemonize',
      'no',
    ];
    running = spawn('redis-server', [...fixed, ...options], { stdio: 'ignore' });
    started.add(running);
    await eventually(
      async () => (await ask('PING')) === 'PONG',
      `redis-server on port ${port} answers`,
    );
  }

  async function stop(signal: NodeJS.Signals = 'SIGKILL'): Promise<void> {
    if (running?.exitCode !== null || running.signalCode !== null) return;
    const gone = once(running, 'exit');
    running.kill(signal);
    await gone;
    started.delete(running);
  }

  await start();
  const remove = async () => {
    await stop();
    rmSync(dir, { recursive: true, force: true });
  };
  return { port, url: `redis://127.0.0.1:${port}`, ask, stop, start, remove };
}

/**
 * What was sent to a server since, admin aside: command → calls. Commands of a script are counted
 * too.
 */
export async function commandsOf(
  own: OwnRedis,
  act: () => unknown,
): Promise<Record<string, number>> {
  await own.ask('CONFIG', 'RESETSTAT');
  await act();
  const lines = String(await own.ask('INFO', 'commandstats')).matchAll(
    /cmdstat_([a-z|]+):calls=(\d+)/g,
  );
  const admin = /^(?:info|config|client|hello|command|select|ping|auth|readonly)\b/;
  return Object.fromEntries(
    [...lines].flatMap(([, name = '', calls]) => (admin.test(name) ? [] : [[name, Number(calls)]])),
  );
}

export interface OwnCluster {
  readonly masters: readonly OwnRedis[];
  readonly replica: OwnRedis;
  remove(): Promise<void>;
}

/** Three masters that share the slots, and a replica of the first. */
export async function startCluster(): Promise<OwnCluster> {
  const enabled = ['--cluster-enabled', 'yes', '--cluster-node-timeout', '5000'];
  const nodes = await Promise.all([0, 1, 2, 3].map(() => startRedis(...enabled)));
  const [first, second, third, replica] = nodes as [OwnRedis, OwnRedis, OwnRedis, OwnRedis];
  const masters = [first, second, third];
  const bounds = [0, 5461, 10_923, 16_384];
  for (const [i, node] of masters.entries()) {
    await node.ask(
      'CLUSTER',
      'ADDSLOTSRANGE',
      String(bounds[i]),
      String(Number(bounds[i + 1]) - 1),
    );
    await node.ask('CLUSTER', 'SET-CONFIG-EPOCH', String(i + 1));
  }
  for (const node of nodes.slice(1))
    await node.ask('CLUSTER', 'MEET', '127.0.0.1', String(first.port));
  const knows = async (node: OwnRedis, text: string) =>
    String(await node.ask('CLUSTER', 'INFO')).includes(text);
  for (const node of nodes)
    await eventually(() => knows(node, 'cluster_known_nodes:4'), 'the nodes know each other');
  await replica.ask('CLUSTER', 'REPLICATE', String(await first.ask('CLUSTER', 'MYID')));
  for (const node of nodes)
    await eventually(() => knows(node, 'cluster_state:ok'), 'the cluster is up');
  await eventually(
    async () => String(await replica.ask('INFO')).includes('master_link_status:up'),
    'it replicates',
  );
  const seen = async (node: OwnRedis) =>
    ((await node.ask('CLUSTER', 'SLOTS')) as unknown[][])[0]?.length === 4;
  for (const node of nodes) await eventually(() => seen(node), 'every node knows of the replica');
  return {
    masters,
    replica,
    remove: async () => {
      await Promise.all(nodes.map((node) => node.remove()));
    },
  };
}

// ── Clients ───────────────────────────────────────────────────────────────────────────────────────────

/** A client that goes away. */
export interface Closing<C> {
  readonly client: C;
  close(): unknown;
}

/** What a test of an outage does with the client's own reports. */
const ignore = () => {};

export async function nodeRedis(
  url: string,
  options: { RESP?: 2 | 3; disableOfflineQueue?: boolean } = {},
) {
  const client = await createClient({ url, RESP: 3, ...options })
    .on('error', ignore)
    .connect();
  return { client, close: () => client.destroy() };
}

/** One that reads replies as the service likes them: bytes, maps, numbers as text. */
export async function bufferingNodeRedis(url: string) {
  const { client, close } = await nodeRedis(url);
  const mapping = {
    [RESP_TYPES.BLOB_STRING]: Buffer,
    [RESP_TYPES.MAP]: Map,
    [RESP_TYPES.NUMBER]: String,
  };
  return { client: client.withTypeMapping(mapping), close };
}

export async function nodeRedisPool(url: string) {
  const client = createClientPool({ url }, { minimum: 10, maximum: 10 }).on('error', ignore);
  await client.connect();
  return { client, close: () => client.destroy() };
}

export function ioRedis(url: string, options: RedisOptions & { replyMapping?: 'legacy' } = {}) {
  const client = new Redis(url, options).on('error', ignore);
  return { client, close: () => client.disconnect() };
}

/** Ten connections that take turns; ioredis has no pool. */
export function tenIoRedis(url: string) {
  const clients = Array.from({ length: 10 }, () => ioRedis(url));
  let turn = 0;
  const client = {
    call: (command: string, ...args: string[]): Promise<unknown> =>
      (clients[turn++ % clients.length] as (typeof clients)[0]).client.call(command, ...args),
  };
  return { client, close: () => clients.map((each) => each.close()) };
}

/** Deletes what a test left under its own prefix. */
export async function deleteUnder(url: string, prefix: string): Promise<void> {
  const { client, close } = ioRedis(url);
  for await (const keys of client.scanStream({ match: `${prefix}*`, count: 10_000 })) {
    if (keys.length > 0) await client.del(...keys);
  }
  close();
}
