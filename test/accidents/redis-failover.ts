/** A Redis primary fails and a replica takes over: with Sentinel and in a cluster. */
import { setTimeout as sleep } from 'node:timers/promises';
import { eventually } from '../support/eventually.ts';
import { KINDS, type Kind } from '../support/redis-clients.ts';
import { isReplica, type OwnTrio, SENTINEL_NAME, startTrio } from '../support/redis-sentinels.ts';
import { type OwnCluster, type OwnRedis, startCluster } from '../support/redis-servers.ts';
import type { Accident, Stage } from './accident.ts';
import { MISSING } from './redis.ts';
import { throughSentinels, toCluster, waysOver } from './redis-ways.ts';

const REASON = 'Replication is asynchronous: the new primary may lack the last writes.';

/** How a primary fails, and how it returns after another has taken over. */
interface Going {
  readonly name: string;
  go(first: OwnRedis, second: OwnRedis): Promise<void>;
  come(first: OwnRedis): Promise<void>;
}

const GOINGS: readonly Going[] = [
  {
    name: 'the primary is killed while its replica is behind',
    async go(first, second) {
      second.pause();
      // Otherwise data in transit would still arrive.
      await first.ask('CLIENT', 'KILL', 'TYPE', 'REPLICA');
      await sleep(400);
      await first.stop('SIGKILL');
      second.resume();
    },
    come: (first) => first.start(),
  },
  {
    // Until it learns of the new primary, it still considers itself the primary.
    name: 'the primary hangs, and goes on when the other one has taken over',
    go: async (first) => first.pause(),
    come: async (first) => first.resume(),
  },
];

// ── Sentinel ────────────────────────────────────────────────────────────────────────────────────

async function watchedTrio(kind: Kind, { go, come }: Going): Promise<Stage> {
  const trio: OwnTrio = await startTrio();
  const { first, second, sentinels } = trio;
  const connect = throughSentinels(kind, SENTINEL_NAME, sentinels);
  const { managing, guarding, close } = await waysOver(connect);
  return {
    managing,
    guarding,
    strike: () => go(first, second),
    async comeBack() {
      await come(first);
      await eventually(() => isReplica(first), 'the first one is a replica');
    },
    async close() {
      await close();
      await trio.remove();
    },
  };
}

// ── A cluster ───────────────────────────────────────────────────────────────────────────────────

async function cluster(kind: Kind, { go, come }: Going): Promise<Stage> {
  const own: OwnCluster = await startCluster();
  const { masters, replica, remove } = own;
  const [first] = masters as [OwnRedis];
  const { managing, guarding, close } = await waysOver(toCluster(kind, masters));
  return {
    managing,
    guarding,
    strike: () => go(first, replica),
    async comeBack() {
      await come(first);
      await eventually(() => isReplica(first), 'the first one is a replica');
    },
    async close() {
      // Paused processes could not end otherwise.
      for (const each of [...masters, replica]) each.resume();
      await close();
      await remove();
    },
  };
}

// ── The list ────────────────────────────────────────────────────────────────────────────────────

const OPENERS = { 'Redis, Sentinel': watchedTrio, 'Redis, a cluster': cluster } as const;

export const REDIS_FAILOVER: readonly Accident[] = Object.entries(OPENERS).flatMap(
  ([engine, open]) =>
    GOINGS.flatMap((going) =>
      KINDS.map((kind) => ({
        engine,
        name: `${going.name}, ${kind}`,
        lastsMs: 0,
        isLong: true as const,
        mayLose: REASON,
        missing: MISSING,
        open: () => open(kind, going),
      })),
    ),
);
