/** Accidents of a single Redis server. Each accident starts its own. */
import { mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { migrate } from 'keyscope/stores/redis';
import { eventually } from '../support/eventually.ts';
import type { Kind } from '../support/redis-clients.ts';
import { isRedisInstalled, type OwnRedis, startRedis } from '../support/redis-servers.ts';
import type { Accident, Stage } from './accident.ts';
import { toServer, waysOver } from './redis-ways.ts';

export const ENGINE = 'Redis, one server';
/** The program that is not installed, if any. */
export const MISSING = isRedisInstalled ? undefined : 'redis-server';

/** How a server is hurt, and how that ends. */
interface Blow {
  readonly name: string;
  readonly lastsMs: number;
  readonly options?: readonly string[];
  readonly mayLose?: string;
  readonly isLong?: true;
  strike(own: OwnRedis): Promise<unknown>;
  mend?(own: OwnRedis): Promise<unknown>;
}

const set = (own: OwnRedis, name: string, value: string) => own.ask('CONFIG', 'SET', name, value);

/** Blocks snapshots with a folder, which no file can replace. */
async function obstacleOf(own: OwnRedis): Promise<string> {
  const [, dir = ''] = (await own.ask('CONFIG', 'GET', 'dir')) as string[];
  return join(dir, 'dump.rdb', 'in the way');
}

async function hasSaved(own: OwnRedis, status: 'ok' | 'err'): Promise<boolean> {
  const info = String(await own.ask('INFO', 'persistence'));
  return info.includes(`rdb_last_bgsave_status:${status}`);
}

const kill = (own: OwnRedis) => own.stop('SIGKILL');
const start = (own: OwnRedis) => own.start();

/** Until somebody migrates, the store answers with an outage: its data are gone. */
async function startAnew(own: OwnRedis): Promise<void> {
  await own.start();
  const client = new Redis(own.url);
  await migrate(client);
  await client.quit();
}

/** Loops by the clock of the server, because Lua has none that runs during a script. */
const HOLD = `
local start = redis.call('TIME')
repeat
  local now = redis.call('TIME')
until (now[1] - start[1]) * 1000000 + now[2] - start[2] > 3000000`;

const KILLED: Blow = {
  name: 'the server is killed, and back after 2 s (appendfsync always)',
  lastsMs: 2_000,
  options: ['--appendonly', 'yes', '--appendfsync', 'always'],
  strike: kill,
  mend: start,
};

const BLOWS: readonly Blow[] = [
  KILLED,
  {
    name: 'the server is killed, and back after 2 s (appendfsync everysec)',
    lastsMs: 2_000,
    isLong: true,
    options: ['--appendonly', 'yes', '--appendfsync', 'everysec'],
    mayLose: '`everysec` may hold writes back for a second or two while the disk is busy.',
    strike: kill,
    mend: start,
  },
  {
    name: 'the server is killed, back after 2 s (no persistence), and migrated',
    lastsMs: 2_000,
    mayLose: 'Redis keeps its data in memory: without the append-only file, nothing is on a disk.',
    strike: kill,
    mend: startAnew,
  },
  {
    name: 'a script holds the server for 3 s',
    lastsMs: 3_000,
    async strike(own) {
      // Not awaited: that is how long it takes.
      own.ask('EVAL', HOLD, '0').catch(() => {});
    },
  },
  {
    name: 'CLIENT PAUSE for 3 s',
    lastsMs: 3_000,
    isLong: true,
    strike: (own) => own.ask('CLIENT', 'PAUSE', '3000', 'ALL'),
  },
  {
    name: 'writes are paused for 3 s, as before a failover',
    lastsMs: 3_000,
    strike: (own) => own.ask('CLIENT', 'PAUSE', '3000', 'WRITE'),
  },
  {
    name: 'the memory is full for 3 s (maxmemory, noeviction)',
    lastsMs: 3_000,
    options: ['--maxmemory-policy', 'noeviction'],
    strike: (own) => set(own, 'maxmemory', '1'),
    mend: (own) => set(own, 'maxmemory', '0'),
  },
  {
    name: 'a snapshot cannot be saved for 3 s',
    lastsMs: 3_000,
    options: ['--save', '3600 1'],
    async strike(own) {
      mkdirSync(await obstacleOf(own), { recursive: true });
      await own.ask('BGSAVE');
      await eventually(() => hasSaved(own, 'err'), 'it could not be saved');
    },
    async mend(own) {
      rmSync(join(await obstacleOf(own), '..'), { recursive: true });
      await own.ask('BGSAVE');
      await eventually(() => hasSaved(own, 'ok'), 'it is saved again');
    },
  },
];

async function stageOf(kind: Kind, blow: Blow): Promise<Stage> {
  const own = await startRedis(...(blow.options ?? []));
  const { managing, guarding, close } = await waysOver(toServer(kind, own));
  return {
    managing,
    guarding,
    strike: async () => void (await blow.strike(own)),
    mend: async () => void (await blow.mend?.(own)),
    async close() {
      await close();
      await own.remove();
    },
  };
}

function accidentOf(kind: Kind, blow: Blow): Accident {
  const { mayLose, isLong } = blow;
  return {
    engine: ENGINE,
    name: kind === 'ioredis' ? blow.name : `${blow.name}, ${kind}`,
    lastsMs: blow.lastsMs,
    ...(mayLose !== undefined && { mayLose }),
    ...(isLong && { isLong }),
    missing: MISSING,
    open: () => stageOf(kind, blow),
  };
}

/** For a long run: a server that is killed and restarted repeatedly, with every write on disk. */
export async function openRestarted() {
  const own = await startRedis(...(KILLED.options ?? []));
  const { managing, guarding, close } = await waysOver(toServer('ioredis', own));
  const { name, lastsMs } = KILLED;
  return {
    name: ENGINE,
    managing,
    guarding,
    troubles: [{ name, lastsMs, strike: () => kill(own), mend: () => start(own) }],
    async close() {
      await close();
      await own.remove();
    },
  };
}

export const REDIS: readonly Accident[] = [
  ...BLOWS.map((blow) => accidentOf('ioredis', blow)),
  accidentOf('node-redis', { ...KILLED, isLong: true }),
];
