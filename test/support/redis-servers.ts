/** Redis servers and clusters that a test starts and stops itself. */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import type { RedisClient } from 'keyscope/stores/redis';
import { afterAll, beforeAll, beforeEach, describe } from 'vitest';
import { eventually } from './eventually.ts';
import { type Closing, connectTo, KINDS, type Kind } from './redis-clients.ts';

const { CI } = process.env;
export const isRedisInstalled: boolean = spawnSync('redis-server', ['--version']).status === 0;

/**
 * `describe` for tests that start a `redis-server`. If it is not installed, they are skipped under
 * their names; with `CI=true` they fail.
 */
export const describeWithRedis = isRedisInstalled || CI === 'true' ? describe : describe.skip;

// Redis rejects port 0. A cluster's bus uses the port 10,000 above, so both must be valid.
async function freePort(): Promise<number> {
  for (;;) {
    const server = createServer().listen(0, '127.0.0.1');
    await once(server, 'listening');
    const address = server.address();
    server.close();
    await once(server, 'close');
    if (typeof address === 'object' && address !== null && address.port < 55_000) {
      return address.port;
    }
  }
}

/** A Redis process with a separate folder. */
export interface OwnRedis {
  readonly port: number;
  readonly url: string;
  /** Sends one command over a separate connection. */
  ask(...command: string[]): Promise<unknown>;
  stop(signal?: NodeJS.Signals): Promise<void>;
  /** Pauses it in the middle of its work until it is resumed. Its connections stay open. */
  pause(): void;
  resume(): void;
  start(): Promise<void>;
  /** Stops it and removes its folder. */
  remove(): Promise<void>;
}

// Kills the servers when a run is cut short.
const started = new Set<ChildProcess>();
process.on('exit', () => {
  for (const server of started) server.kill('SIGKILL');
});

/** Starts a server without persistence, unless `options` enable it. */
export function startRedis(...options: string[]): Promise<OwnRedis> {
  return startOwn(({ port, dir }) => {
    const place = ['--port', String(port), '--bind', '127.0.0.1', '--dir', dir];
    return [...place, '--save', '', '--daemonize', 'no', ...options];
  });
}

/** A process's port and folder. */
export interface OwnPlace {
  readonly port: number;
  readonly dir: string;
}

/** Starts a `redis-server` with these arguments and waits until it answers. */
export async function startOwn(argumentsAt: (place: OwnPlace) => string[]): Promise<OwnRedis> {
  const dir = mkdtempSync(join(tmpdir(), 'keyscope-redis-'));
  const port = await freePort();
  const argv = argumentsAt({ port, dir });
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
    running = spawn('redis-server', argv, { stdio: 'ignore' });
    started.add(running);
    const isUp = async () => (await ask('PING')) === 'PONG';
    await eventually(isUp, `redis-server on port ${port} answers`);
  }

  async function stop(signal: NodeJS.Signals = 'SIGKILL'): Promise<void> {
    if (running?.exitCode !== null || running.signalCode !== null) return;
    const gone = once(running, 'exit');
    running.kill(signal);
    await gone;
    started.delete(running);
  }

  async function remove(): Promise<void> {
    await stop();
    rmSync(dir, { recursive: true, force: true });
  }

  await start();
  const url = `redis://127.0.0.1:${port}`;
  const pause = () => running?.kill('SIGSTOP');
  const resume = () => running?.kill('SIGCONT');
  return { port, url, ask, stop, start, pause, resume, remove };
}

/**
 * The commands that a server receives during `act`, admin commands excluded: command → calls.
 * Includes commands called by scripts.
 */
export async function commandsOf(
  own: OwnRedis,
  act: () => unknown,
): Promise<Record<string, number>> {
  await own.ask('CONFIG', 'RESETSTAT');
  await act();
  const stats = String(await own.ask('INFO', 'commandstats'));
  const calls: Record<string, number> = {};
  for (const [, name = '', count] of stats.matchAll(/cmdstat_([a-z|]+):calls=(\d+)/g)) {
    if (!ADMIN.test(name)) calls[name] = Number(count);
  }
  return calls;
}

const ADMIN = /^(?:info|config|client|hello|command|select|ping|auth|readonly)\b/;

/** The names of the Redis keys that match a pattern. */
export async function keysOf(own: OwnRedis, pattern: string): Promise<string[]> {
  return (await own.ask('KEYS', pattern)) as string[];
}

// ── A cluster ───────────────────────────────────────────────────────────────────────────────────

/** Three masters and a replica of the first, one process each. */
export interface OwnCluster {
  readonly masters: readonly OwnRedis[];
  readonly replica: OwnRedis;
  remove(): Promise<void>;
}

/** Starts three masters that share the slots, and a replica of the first. */
export async function startCluster(): Promise<OwnCluster> {
  const enabled = ['--cluster-enabled', 'yes', '--cluster-node-timeout', '5000'];
  const nodes = await Promise.all([0, 1, 2, 3].map(() => startRedis(...enabled)));
  const masters = nodes.slice(0, 3);
  const first = nodes[0] as OwnRedis;
  const replica = nodes[3] as OwnRedis;

  await shareSlots(masters);
  for (const node of nodes.slice(1)) {
    await node.ask('CLUSTER', 'MEET', '127.0.0.1', String(first.port));
  }
  for (const node of nodes) {
    const knowsAll = () => clusterInfoHas(node, 'cluster_known_nodes:4');
    await eventually(knowsAll, 'the nodes know each other');
  }
  await replica.ask('CLUSTER', 'REPLICATE', String(await first.ask('CLUSTER', 'MYID')));
  for (const node of nodes) {
    await eventually(() => clusterInfoHas(node, 'cluster_state:ok'), 'the cluster is up');
  }
  const replicates = async () =>
    String(await replica.ask('INFO')).includes('master_link_status:up');
  await eventually(replicates, 'it replicates');
  for (const node of nodes) {
    await eventually(() => knowsReplica(node), 'every node knows the replica');
  }
  return { masters, replica, remove: () => removeAll(nodes) };
}

const SLOTS = 16_384;

async function shareSlots(masters: readonly OwnRedis[]): Promise<void> {
  const share = Math.ceil(SLOTS / masters.length);
  for (const [index, node] of masters.entries()) {
    const from = index * share;
    const to = Math.min(from + share, SLOTS) - 1;
    await node.ask('CLUSTER', 'ADDSLOTSRANGE', String(from), String(to));
    await node.ask('CLUSTER', 'SET-CONFIG-EPOCH', String(index + 1));
  }
}

async function clusterInfoHas(node: OwnRedis, text: string): Promise<boolean> {
  return String(await node.ask('CLUSTER', 'INFO')).includes(text);
}

async function knowsReplica(node: OwnRedis): Promise<boolean> {
  const ranges = (await node.ask('CLUSTER', 'SLOTS')) as unknown[][];
  // Two bounds, the master and its replica.
  return ranges[0]?.length === 4;
}

async function removeAll(nodes: readonly OwnRedis[]): Promise<void> {
  await Promise.all(nodes.map((node) => node.remove()));
}

// ── A server for a suite ────────────────────────────────────────────────────────────────────────

/** A server that a suite's tests share, emptied before each test, with a client of each kind. */
export interface SuiteRedis {
  /** Available once the suite runs. */
  readonly own: OwnRedis;
  client(kind: Kind): RedisClient;
}

/** Starts a server before the tests of the calling suite and removes it after them. */
export function useRedis(...options: string[]): SuiteRedis {
  const clients = new Map<Kind, Closing<RedisClient>>();
  let server: OwnRedis | undefined;
  function running(): OwnRedis {
    if (server === undefined) throw new Error('the suite has not started its server yet');
    return server;
  }

  beforeAll(async () => {
    server = await startRedis(...options);
    for (const kind of KINDS) clients.set(kind, await connectTo(kind, server.url));
  });
  beforeEach(async () => {
    await running().ask('FLUSHALL');
    const roomy = ['maxmemory', '0', 'maxmemory-policy', 'noeviction'];
    await running().ask('CONFIG', 'SET', ...roomy);
  });
  afterAll(async () => {
    for (const opened of clients.values()) opened.close();
    await server?.remove();
  });

  return {
    get own() {
      return running();
    },
    client(kind) {
      const opened = clients.get(kind);
      if (opened === undefined) throw new Error('the suite has not connected its clients yet');
      return opened.client;
    },
  };
}
