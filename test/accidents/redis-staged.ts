/** Redis accidents that need several servers, a disk, or other clients. */
import { Redis } from 'ioredis';
import { type IoRedis, redisStore } from 'keyscope/stores/redis';
import { eventually } from '../support/eventually.ts';
import { isReplica } from '../support/redis-sentinels.ts';
import { type OwnRedis, startRedis } from '../support/redis-servers.ts';
import { mountSmall, SMALL_DISK_NEEDS } from '../support/small-disk.ts';
import type { Accident, Stage } from './accident.ts';
import { ENGINE, MISSING } from './redis.ts';
import { toServer, waysOver } from './redis-ways.ts';

// ── A primary and its replica ───────────────────────────────────────────────────────────────────

interface Pair {
  readonly first: OwnRedis;
  readonly second: OwnRedis;
  remove(): Promise<void>;
}

async function startPair(...options: string[]): Promise<Pair> {
  const both = ['--repl-diskless-sync-delay', '0', '--appendonly', 'yes', ...options];
  const first = await startRedis(...both);
  const second = await startRedis(...both, '--replicaof', '127.0.0.1', String(first.port));
  await eventually(() => isReplica(second), 'it replicates');
  return {
    first,
    second,
    async remove() {
      await first.remove();
      await second.remove();
    },
  };
}

async function withoutReplica(): Promise<Stage> {
  const { first, second, remove } = await startPair('--min-replicas-to-write', '1');
  const { managing, guarding, close } = await waysOver(toServer('ioredis', first));
  return {
    managing,
    guarding,
    strike: () => second.stop(),
    async mend() {
      await second.start();
      await eventually(() => isReplica(second), 'it replicates again');
    },
    async close() {
      await close();
      await remove();
    },
  };
}

/** Hands the role over and waits until the other server has it. */
async function handOver(from: OwnRedis, to: OwnRedis): Promise<void> {
  await eventually(async () => (await from.ask('FAILOVER')) === 'OK', 'it lets go');
  const isPrimary = async () => String(await to.ask('ROLE')).startsWith('master');
  await eventually(isPrimary, 'the other one has the role');
  await eventually(() => isReplica(from), 'it is the replica of the other one');
}

/** Key management follows the role; requests stay on the server they are connected to. */
async function demoted(): Promise<Stage> {
  const { first, second, remove } = await startPair();
  const { guarding, close } = await waysOver(toServer('ioredis', first));
  const toFirst = await toServer('ioredis', first)();
  const toSecond = await toServer('ioredis', second)();
  let current = toFirst.client as IoRedis;
  const following: IoRedis = { call: (command, ...args) => current.call(command, ...args) };
  return {
    managing: redisStore(following),
    guarding,
    async strike() {
      await handOver(first, second);
      current = toSecond.client as IoRedis;
    },
    async mend() {
      await handOver(second, first);
      current = toFirst.client as IoRedis;
    },
    async close() {
      toFirst.close();
      toSecond.close();
      await close();
      await remove();
    },
  };
}

// ── Other clients ───────────────────────────────────────────────────────────────────────────────

/** The number of other clients, which take all connections. */
const OTHERS = 30;

async function crowded(): Promise<Stage> {
  const own = await startRedis();
  const { managing, guarding, close } = await waysOver(toServer('ioredis', own));
  const others = Array.from({ length: OTHERS }, () => new Redis(own.url, { retryStrategy: null }));
  for (const other of others) other.on('error', () => {});
  const [boss] = others as [Redis];
  return {
    managing,
    guarding,
    async strike() {
      const kept = await Promise.all(others.map((other) => other.client('ID')));
      await boss.config('SET', 'maxclients', String(OTHERS));
      const list = (await boss.client('LIST')) as string;
      for (const [, id = ''] of list.matchAll(/^id=(\d+) /gm)) {
        if (!kept.includes(Number(id))) await boss.client('KILL', 'ID', id);
      }
    },
    mend: async () => void (await boss.config('SET', 'maxclients', '1000')),
    async close() {
      for (const other of others) other.disconnect();
      await close();
      await own.remove();
    },
  };
}

// ── A disk ──────────────────────────────────────────────────────────────────────────────────────

/** With `always`, the server shuts down and has to be restarted. */
async function diskFull(appendfsync: 'always' | 'everysec'): Promise<Stage> {
  const disk = mountSmall();
  const append = ['--appendonly', 'yes', '--appendfsync', appendfsync];
  const own = await startRedis('--dir', disk.path, ...append);
  const { managing, guarding, close } = await waysOver(toServer('ioredis', own));
  return {
    managing,
    guarding,
    strike: async () => disk.fill(),
    async mend() {
      disk.empty();
      if (appendfsync === 'always') await own.start();
    },
    async close() {
      await close();
      await own.remove();
      disk.unmount();
    },
  };
}

// ── The list ────────────────────────────────────────────────────────────────────────────────────

export const REDIS_STAGED: readonly Accident[] = [
  {
    engine: ENGINE,
    name: 'its replica is lost for 3 s (min-replicas-to-write 1)',
    lastsMs: 3_000,
    missing: MISSING,
    open: withoutReplica,
  },
  {
    engine: ENGINE,
    name: 'it is demoted for 3 s, and clients stay connected',
    lastsMs: 3_000,
    missing: MISSING,
    open: demoted,
  },
  {
    engine: ENGINE,
    name: 'other clients take all places for 3 s (maxclients)',
    lastsMs: 3_000,
    missing: MISSING,
    open: crowded,
  },
  {
    engine: ENGINE,
    name: 'the disk is full for 3 s (appendfsync everysec)',
    lastsMs: 3_000,
    isLong: true,
    missing: MISSING ?? SMALL_DISK_NEEDS,
    open: () => diskFull('everysec'),
  },
  {
    engine: ENGINE,
    name: 'the disk is full for 3 s (appendfsync always), and the server ends itself',
    lastsMs: 3_000,
    isLong: true,
    missing: MISSING ?? SMALL_DISK_NEEDS,
    open: () => diskFull('always'),
  },
];
