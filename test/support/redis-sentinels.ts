/** A primary, its replica and three sentinels that a test starts and stops itself. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import type { RedisClient } from 'keyscope/stores/redis';
import { createSentinel } from 'redis';
import { eventually } from './eventually.ts';
import type { Closing, Kind } from './redis-clients.ts';
import { type OwnPlace, type OwnRedis, startOwn, startRedis } from './redis-servers.ts';

/** The sentinels' name for the primary and its replicas. */
export const SENTINEL_NAME = 'keys';

/** Five processes that belong to the test. */
export interface OwnTrio {
  /** The initial primary. */
  readonly first: OwnRedis;
  /** Its replica, which takes over. */
  readonly second: OwnRedis;
  readonly sentinels: readonly OwnRedis[];
  remove(): Promise<void>;
}

/** Starts them. The sentinels consider a primary down after one second without an answer. */
export async function startTrio(): Promise<OwnTrio> {
  const durable = ['--appendonly', 'yes', '--repl-diskless-sync-delay', '0'];
  const first = await startRedis(...durable);
  const second = await startRedis(...durable, '--replicaof', '127.0.0.1', String(first.port));
  await eventually(() => isReplica(second), 'it replicates');
  const sentinels = await Promise.all([0, 1, 2].map(() => startSentinel(first.port)));
  const all = [first, second, ...sentinels];
  for (const sentinel of sentinels) {
    await eventually(() => knowsAll(sentinel), 'the sentinels know each other');
  }
  return {
    first,
    second,
    sentinels,
    async remove() {
      // Paused processes could not end otherwise.
      for (const each of all) each.resume();
      await Promise.all(all.map((each) => each.remove()));
    },
  };
}

/** Whether a server is a replica that is in sync with its primary. */
export async function isReplica(own: OwnRedis): Promise<boolean> {
  return String(await own.ask('INFO', 'replication')).includes('master_link_status:up');
}

function startSentinel(primary: number): Promise<OwnRedis> {
  return startOwn(({ port, dir }: OwnPlace) => {
    // A sentinel writes to its configuration file.
    const path = join(dir, 'sentinel.conf');
    const lines = [
      `port ${port}`,
      'bind 127.0.0.1',
      `dir ${dir}`,
      `sentinel monitor ${SENTINEL_NAME} 127.0.0.1 ${primary} 2`,
      `sentinel down-after-milliseconds ${SENTINEL_NAME} 1000`,
      `sentinel failover-timeout ${SENTINEL_NAME} 5000`,
    ];
    writeFileSync(path, `${lines.join('\n')}\n`);
    return [path, '--sentinel'];
  });
}

async function knowsAll(sentinel: OwnRedis): Promise<boolean> {
  const [, ...fields] = String(await sentinel.ask('INFO', 'sentinel')).split('\r\n');
  return fields.some((line) => line.includes('slaves=1,sentinels=3'));
}

// ── Clients ─────────────────────────────────────────────────────────────────────────────────────

const ignore = () => {};

/** A client that finds the primary through the sentinels. */
export async function connectThrough(kind: Kind, trio: OwnTrio): Promise<Closing<RedisClient>> {
  const sentinels = trio.sentinels.map(({ port }) => ({ host: '127.0.0.1', port }));
  if (kind === 'ioredis') {
    const client = new Redis({ sentinels, name: SENTINEL_NAME }).on('error', ignore);
    return { client, close: () => client.disconnect() };
  }
  const options = { name: SENTINEL_NAME, sentinelRootNodes: sentinels };
  const client = createSentinel(options).on('error', ignore);
  await client.connect();
  return { client, close: () => client.destroy() };
}
