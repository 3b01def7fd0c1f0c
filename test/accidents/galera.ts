/** Accidents in a Galera cluster of three nodes, with clients on two of them. */
import { setTimeout as sleep } from 'node:timers/promises';
import mysql from 'mysql2/promise';
import { missingGalera, type OwnMariadb, rootAt, startGalera } from '../support/mariadb-servers.ts';
import { openTcpProxy, type TcpProxy } from '../support/tcp-proxy.ts';
import type { Accident, Stage } from './accident.ts';
import { admitService, at, visitWithMysql2 } from './mysql-host.ts';

/** Three nodes, and the addresses that the two processes use. */
interface Cluster {
  /** Used by the process that creates and revokes keys. Leads to the first node at first. */
  readonly managed: TcpProxy;
  /** Used by the process that answers requests. Leads to the second node. */
  readonly guarded: TcpProxy;
  readonly nodes: readonly [OwnMariadb, OwnMariadb, OwnMariadb];
}

async function onCluster(
  acts: (cluster: Cluster) => Pick<Stage, 'strike' | 'mend'>,
): Promise<Stage> {
  const nodes = await startGalera();
  await admitService(nodes[0]);
  const managed = await openTcpProxy(nodes[0].address);
  const guarded = await openTcpProxy(nodes[1].address);
  const visit = visitWithMysql2(at(managed.port), undefined, at(guarded.port));
  return {
    managing: visit.managing,
    guarding: visit.guarding,
    ...acts({ managed, guarded, nodes }),
    async close() {
      await managed.close();
      await guarded.close();
      await visit.close();
      for (const node of nodes) await node.remove();
    },
  };
}

/** The node that answers requests dies, and the third takes over its address. */
function nodeDies({ guarded, nodes }: Cluster): Pick<Stage, 'strike'> {
  return {
    async strike() {
      await nodes[1].stop('SIGKILL');
      guarded.turnTo(nodes[2].address);
    },
  };
}

/** The node that answers requests is paused. The others go on without it, and it returns. */
function nodeStandsStill({ nodes }: Cluster): Pick<Stage, 'strike' | 'mend'> {
  return { strike: async () => nodes[1].pause(), mend: async () => nodes[1].resume() };
}

/** The other nodes are paused, so the second is alone and without a majority. */
function nodeIsAlone({ nodes }: Cluster): Pick<Stage, 'strike' | 'mend'> {
  const others = [nodes[0], nodes[2]];
  return {
    async strike() {
      for (const node of others) node.pause();
    },
    async mend() {
      for (const node of others) node.resume();
    },
  };
}

/** The node that answers requests receives the others' writes but does not apply them. */
function nodeLags({ nodes }: Cluster): Pick<Stage, 'strike' | 'mend'> {
  let holding: mysql.Connection | undefined;
  return {
    async strike() {
      holding = await mysql.createConnection(rootAt(nodes[1].address));
      await holding.query('FLUSH TABLES WITH READ LOCK');
    },
    async mend() {
      await holding?.query('UNLOCK TABLES');
      await holding?.end();
    },
  };
}

const TOUCH_ALL = 'UPDATE test.keyscope_keys SET last_used_at = COALESCE(last_used_at, 0) + 1';

/** Another client writes all rows on the third node, so that later commits are rejected. */
function nodesConflict({ nodes }: Cluster): Pick<Stage, 'strike' | 'mend'> {
  let isOn = true;
  let writing: Promise<void> | undefined;
  async function write(): Promise<void> {
    while (isOn) {
      // Its own write is rejected now and then, for the same reason.
      await nodes[2].rows(TOUCH_ALL).catch(() => {});
      await sleep(5);
    }
  }
  return {
    async strike() {
      writing = write();
    },
    async mend() {
      isOn = false;
      await writing;
    },
  };
}

const rest = {
  engine: 'MariaDB, three nodes with Galera',
  isLong: true,
  missing: missingGalera,
} as const;

export const GALERA: readonly Accident[] = [
  {
    ...rest,
    name: 'keys are revoked on another node, and the one that answers applies nothing for 3 s',
    lastsMs: 3_000,
    open: () => onCluster(nodeLags),
  },
  {
    ...rest,
    name: 'the node that answers is killed, and another takes its address',
    lastsMs: 0,
    open: () => onCluster(nodeDies),
  },
  {
    ...rest,
    name: 'the node that answers stands still for 12 s, and comes back',
    lastsMs: 12_000,
    open: () => onCluster(nodeStandsStill),
  },
  {
    ...rest,
    name: 'the node that answers is alone for 12 s',
    lastsMs: 12_000,
    open: () => onCluster(nodeIsAlone),
  },
  {
    ...rest,
    name: 'somebody writes all rows on a third node for 5 s',
    lastsMs: 5_000,
    open: () => onCluster(nodesConflict),
  },
];
