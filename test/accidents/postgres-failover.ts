/** Accidents of a PostgreSQL primary, with its clients. */
import { postgresStore } from 'keyscope/stores/postgres';
import postgres from 'postgres';
import {
  missingPostgres,
  type OwnPostgres,
  type Pair,
  POSTGRES_NAME,
  promote,
  type Replication,
  startAsStandby,
  startPair,
} from '../support/postgres-servers.ts';
import { openTcpProxy, type TcpProxy } from '../support/tcp-proxy.ts';
import type { Accident, Stage } from './accident.ts';
import type { Visit } from './place.ts';
import { through, visitWithPg } from './postgres-host.ts';

const engine = POSTGRES_NAME;

/** From the manual, 27.2.5: the default replication. */
const ASYNCHRONOUS =
  'Streaming replication is asynchronous by default: what the standby had not received when the ' +
  'primary died is lost.';

/** From the manual, 27.3: what a failover has to prevent. */
const NOT_FENCED =
  'There are two primaries, and nothing in the old one says so: it has to be fenced before the ' +
  'standby is promoted.';

/** Two servers and one address, which leads to one of them at a time. */
interface Cluster extends Pair {
  readonly proxy: TcpProxy;
  readonly url: string;
}

async function openCluster(replication: Replication): Promise<Cluster> {
  const pair = await startPair(replication);
  const proxy = await openTcpProxy(pair.primary.address);
  async function remove(): Promise<void> {
    await proxy.close();
    await pair.remove();
  }
  return { ...pair, proxy, url: through(proxy.port, pair.primary.url), remove };
}

async function stageOf(
  cluster: Cluster,
  acts: Pick<Stage, 'strike' | 'mend'>,
  visit: Visit = visitWithPg({ connectionString: cluster.url }),
): Promise<Stage> {
  const { managing, guarding } = visit;
  async function close(): Promise<void> {
    await cluster.proxy.close();
    await visit.close();
    await cluster.remove();
  }
  return { managing, guarding, ...acts, close };
}

/** The primary dies, the standby is promoted and then takes over the address. */
async function failOver({ primary, standby, proxy }: Cluster): Promise<void> {
  await primary.stop('killed');
  await promote(standby);
  proxy.turnTo(standby.address);
}

async function killed(replication: Replication): Promise<Stage> {
  const cluster = await openCluster(replication);
  return stageOf(cluster, { strike: () => failOver(cluster) });
}

/** postgres.js knows both servers and asks each whether it accepts writes. */
function visitWithPostgresJs(servers: readonly OwnPostgres[]): Visit {
  const hosts = servers.map(({ address }) => `${address.host}:${address.port}`);
  const both = `postgres://postgres@${hosts.join()}/postgres?max_pipeline=1`;
  const open = () =>
    postgres(both, {
      max: 10,
      fetch_types: false,
      onnotice: () => {},
      backoff: () => 0.1,
      connect_timeout: 2,
      target_session_attrs: 'read-write',
    });
  const managing = open();
  const guarding = open();
  return {
    managing: postgresStore(managing),
    guarding: postgresStore(guarding),
    close: () => Promise.all([managing.end({ timeout: 1 }), guarding.end({ timeout: 1 })]),
  };
}

async function killedUnderPostgresJs(): Promise<Stage> {
  const cluster = await openCluster('synchronous');
  const visit = visitWithPostgresJs([cluster.primary, cluster.standby]);
  return stageOf(cluster, { strike: () => failOver(cluster) }, visit);
}

/** The old primary returns unchanged, along with its clients, while the new one is in use. */
async function splitBrain(): Promise<Stage> {
  const cluster = await openCluster('synchronous');
  return stageOf(cluster, {
    strike: () => failOver(cluster),
    async mend() {
      await cluster.primary.start();
      // Otherwise it would wait for a standby that no longer follows it.
      await cluster.primary.sql("ALTER SYSTEM SET synchronous_standby_names = ''");
      await cluster.primary.sql('SELECT pg_reload_conf()');
      cluster.proxy.turnTo(cluster.primary.address);
    },
  });
}

/** A planned switchover that clients learn about late. */
async function demoted(): Promise<Stage> {
  const cluster = await openCluster('asynchronous');
  const { primary, standby, proxy } = cluster;
  return stageOf(cluster, {
    async strike() {
      await primary.stop('fast');
      await promote(standby);
      await startAsStandby(primary, standby);
    },
    mend: async () => proxy.turnTo(standby.address),
  });
}

/** Writes wait for a standby that is gone. */
async function withoutStandby(): Promise<Stage> {
  const cluster = await openCluster('synchronous');
  const { standby } = cluster;
  return stageOf(cluster, { strike: () => standby.stop('killed'), mend: () => standby.start() });
}

const rest = { engine, isLong: true, missing: missingPostgres } as const;

export const POSTGRES_FAILOVER: readonly Accident[] = [
  {
    ...rest,
    name: 'the primary is killed, and its asynchronous standby promoted',
    lastsMs: 0,
    mayLose: ASYNCHRONOUS,
    open: () => killed('asynchronous'),
  },
  {
    ...rest,
    name: 'the primary is killed, and its synchronous standby promoted',
    lastsMs: 0,
    open: () => killed('synchronous'),
  },
  {
    ...rest,
    name: 'the same, with postgres.js and both hosts',
    lastsMs: 0,
    open: killedUnderPostgresJs,
  },
  {
    ...rest,
    name: 'the synchronous standby is gone for 10 s',
    lastsMs: 10_000,
    open: withoutStandby,
  },
  {
    ...rest,
    name: 'the primary that was killed comes back as it was, and clients with it',
    lastsMs: 3_000,
    mayLose: NOT_FENCED,
    open: splitBrain,
  },
  {
    ...rest,
    name: 'the server becomes a standby, and clients stay for 5 s',
    lastsMs: 5_000,
    open: demoted,
  },
];
