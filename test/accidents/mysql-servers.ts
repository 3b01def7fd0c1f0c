/** Accidents of a MariaDB server and of a replica promoted in its place, with their clients. */
import {
  follow,
  type MariadbPair,
  missingMariadb,
  type OwnMariadb,
  promoteMariadb,
  startMariadb,
  startMariadbPair,
} from '../support/mariadb-servers.ts';
import { openTcpProxy, type TcpProxy } from '../support/tcp-proxy.ts';
import type { Accident, Stage } from './accident.ts';
import { admitService, at, visitWithMysql2 } from './mysql-host.ts';

const engine = 'MariaDB';

/** From the manual, "Replication Overview". */
const ASYNCHRONOUS =
  'Replication is asynchronous: what the replica had not fetched when the primary died is lost.';

async function onOwnServer(
  acts: (server: OwnMariadb) => Pick<Stage, 'strike' | 'mend'>,
): Promise<Stage> {
  const server = await startMariadb();
  await admitService(server);
  const { managing, guarding, close } = visitWithMysql2(server.address);
  return {
    managing,
    guarding,
    ...acts(server),
    async close() {
      await close();
      await server.remove();
    },
  };
}

function restarts(server: OwnMariadb): Pick<Stage, 'strike'> {
  return {
    async strike() {
      await server.stop('SIGTERM');
      await server.start();
    },
  };
}

function isKilled(server: OwnMariadb): Pick<Stage, 'strike'> {
  return {
    async strike() {
      await server.stop('SIGKILL');
      await server.start();
    },
  };
}

function becomesReadOnly(server: OwnMariadb): Pick<Stage, 'strike' | 'mend'> {
  return {
    async strike() {
      await server.rows('SET GLOBAL read_only = 1');
    },
    async mend() {
      await server.rows('SET GLOBAL read_only = 0');
    },
  };
}

/** All connections are killed, and the server accepts fewer new ones than the pools want. */
function hasTooMany(server: OwnMariadb): Pick<Stage, 'strike' | 'mend'> {
  const list = "SELECT id FROM information_schema.processlist WHERE command <> 'Daemon'";
  return {
    async strike() {
      await server.rows('SET GLOBAL max_connections = 10');
      const ids = (await server.rows(list)).map(({ id }) => String(id));
      // Connections that have ended since then are not an error.
      for (const id of ids) await server.rows(`KILL ${id}`).catch(() => {});
    },
    async mend() {
      await server.rows('SET GLOBAL max_connections = 151');
    },
  };
}

/** Two servers and one address, which leads to one of them at a time. */
interface Cluster extends MariadbPair {
  readonly proxy: TcpProxy;
}

async function onPair(acts: (cluster: Cluster) => Pick<Stage, 'strike' | 'mend'>): Promise<Stage> {
  const { primary, replica } = await startMariadbPair();
  await admitService(primary);
  const proxy = await openTcpProxy(primary.address);
  const { managing, guarding, close } = visitWithMysql2(at(proxy.port));
  return {
    managing,
    guarding,
    ...acts({ primary, replica, proxy }),
    async close() {
      await proxy.close();
      await close();
      await primary.remove();
      await replica.remove();
    },
  };
}

/** The primary dies, the replica is promoted and then takes over the address. */
function failsOver({ primary, replica, proxy }: Cluster): Pick<Stage, 'strike'> {
  return {
    async strike() {
      await primary.stop('SIGKILL');
      await promoteMariadb(replica);
      proxy.turnTo(replica.address);
    },
  };
}

/** Clients are sent to the replica by mistake. */
function isMistaken({ primary, replica, proxy }: Cluster): Pick<Stage, 'strike' | 'mend'> {
  return {
    strike: async () => proxy.turnTo(replica.address),
    mend: async () => proxy.turnTo(primary.address),
  };
}

/** A planned switchover that clients learn about late. */
function changesPlaces({ primary, replica, proxy }: Cluster): Pick<Stage, 'strike' | 'mend'> {
  return {
    async strike() {
      await primary.rows('FLUSH TABLES');
      await primary.rows('SET GLOBAL read_only = 1');
      await replica.rows(`SELECT MASTER_GTID_WAIT('${await positionOf(primary)}', 10)`);
      await promoteMariadb(replica);
      await follow(primary, replica);
    },
    mend: async () => proxy.turnTo(replica.address),
  };
}

async function positionOf(server: OwnMariadb): Promise<string> {
  const [{ position } = {}] = await server.rows('SELECT @@gtid_binlog_pos AS position');
  return String(position);
}

const rest = { engine, isLong: true, missing: missingMariadb } as const;

export const MYSQL_SERVERS: readonly Accident[] = [
  { ...rest, name: 'the server restarts', lastsMs: 0, open: () => onOwnServer(restarts) },
  {
    ...rest,
    name: 'the server is killed, and starts again',
    lastsMs: 0,
    open: () => onOwnServer(isKilled),
  },
  {
    ...rest,
    name: 'the server is read-only for 3 s',
    lastsMs: 3_000,
    open: () => onOwnServer(becomesReadOnly),
  },
  {
    ...rest,
    name: 'all connections are ended, and there are too few for 5 s',
    lastsMs: 5_000,
    open: () => onOwnServer(hasTooMany),
  },
  {
    ...rest,
    name: 'the primary is killed, and its replica promoted',
    lastsMs: 0,
    mayLose: ASYNCHRONOUS,
    open: () => onPair(failsOver),
  },
  {
    ...rest,
    name: 'clients are sent to the replica for 5 s',
    lastsMs: 5_000,
    open: () => onPair(isMistaken),
  },
  {
    ...rest,
    name: 'primary and replica change places, and clients stay for 5 s',
    lastsMs: 5_000,
    open: () => onPair(changesPlaces),
  },
];
