/**
 * Accidents of a single PostgreSQL server: restarts, a full disk, read-only mode, no free
 * connections.
 */
import { spawnSync } from 'node:child_process';
import { chownSync, mkdirSync, rmSync, statfsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import pg from 'pg';
import type { Settings } from '../support/postgres-clients.ts';
import {
  atTheEnd,
  type Ending,
  missingPostgres,
  OWNER,
  type OwnPostgres,
  ownFolder,
  type Place,
  POSTGRES_NAME,
  startPostgres,
} from '../support/postgres-servers.ts';
import { openTcpProxy } from '../support/tcp-proxy.ts';
import type { Accident, Stage } from './accident.ts';
import { through, visitWithPg } from './postgres-host.ts';

type Acts = Pick<Stage, 'strike' | 'mend'>;

async function onServer(server: OwnPostgres, acts: Acts): Promise<Stage> {
  const { managing, guarding, close: leave } = visitWithPg({ connectionString: server.url });
  async function close(): Promise<void> {
    await leave();
    await server.remove();
  }
  return { managing, guarding, ...acts, close };
}

async function onOwn(settings: Settings, actsOn: (server: OwnPostgres) => Acts): Promise<Stage> {
  const server = await startPostgres(settings);
  return onServer(server, actsOn(server));
}

// ── A restart ───────────────────────────────────────────────────────────────────────────────────

function restarted(ending: Ending): Promise<Stage> {
  return onOwn({}, (server) => ({
    async strike() {
      await server.stop(ending);
      await server.start();
    },
  }));
}

// ── Read-only ───────────────────────────────────────────────────────────────────────────────────

function readOnly(): Promise<Stage> {
  return onOwn({}, (server) => {
    async function set(to: 'on' | 'off'): Promise<void> {
      await server.sql(`ALTER SYSTEM SET default_transaction_read_only = ${to}`);
      await server.sql('SELECT pg_reload_conf()');
    }
    return { strike: () => set('on'), mend: () => set('off') };
  });
}

// ── A full disk ─────────────────────────────────────────────────────────────────────────────────

const DISK_MB = 160;

/** A small separate disk in memory. Only root can create one. */
function smallDisk(): Place {
  const { path, remove } = ownFolder();
  const size = `size=${DISK_MB}m,mode=0700`;
  const { status, stderr } = spawnSync('mount', ['-t', 'tmpfs', '-o', size, 'tmpfs', path]);
  if (status !== 0) throw new Error(String(stderr));
  if (OWNER.uid !== undefined && OWNER.gid !== undefined) chownSync(path, OWNER.uid, OWNER.gid);
  const unmount = atTheEnd(() => spawnSync('umount', ['--lazy', path]));
  function clear(): void {
    unmount();
    remove();
  }
  return { path, remove: clear };
}

/** The missing requirement of such a disk, if any. */
function missingMount(): string | undefined {
  const { path, remove } = ownFolder();
  const { status } = spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=1m', 'tmpfs', path]);
  if (status === 0) spawnSync('umount', [path]);
  remove();
  return status === 0 ? undefined : 'the right to mount a small disk';
}

/** The disk with all of the server's files is full until space is freed. */
async function diskFull(): Promise<Stage> {
  const disk = smallDisk();
  const ballast = join(disk.path, 'ballast');
  mkdirSync(ballast);
  const server = await startPostgres({ max_wal_size: '16MB', min_wal_size: '2MB' }, disk);
  function fill(): void {
    const { bavail, bsize } = statfsSync(disk.path);
    writeFileSync(join(ballast, 'file'), Buffer.alloc(bavail * bsize));
  }
  return onServer(server, {
    strike: async () => fill(),
    async mend() {
      rmSync(ballast, { recursive: true });
      // Without space for its log, it may have shut down.
      await server.start();
    },
  });
}

// ── No connection left ──────────────────────────────────────────────────────────────────────────

/** Opens connections until the server accepts no more. */
async function takeAll(server: OwnPostgres): Promise<pg.Client[]> {
  const taken: pg.Client[] = [];
  for (;;) {
    const client = new pg.Client(server.url);
    client.on('error', () => {});
    try {
      await client.connect();
    } catch {
      return taken;
    }
    taken.push(client);
  }
}

/** Other clients take all connections, including those that this service loses in the process. */
async function allTaken(): Promise<Stage> {
  const server = await startPostgres({ max_connections: '40' });
  const proxy = await openTcpProxy(server.address);
  const visit = visitWithPg({ connectionString: through(proxy.port, server.url) });
  const taken: pg.Client[] = [];
  async function giveBack(): Promise<void> {
    await Promise.all(taken.splice(0).map((client) => client.end()));
  }
  return {
    managing: visit.managing,
    guarding: visit.guarding,
    async strike() {
      taken.push(...(await takeAll(server)));
      proxy.cut();
      taken.push(...(await takeAll(server)));
    },
    mend: giveBack,
    async close() {
      await proxy.close();
      await visit.close();
      await server.remove();
    },
  };
}

// ── All of them ─────────────────────────────────────────────────────────────────────────────────

const rest = { engine: POSTGRES_NAME, isLong: true, missing: missingPostgres } as const;

export const POSTGRES_SERVER: readonly Accident[] = [
  { ...rest, name: 'the server is restarted, fast', lastsMs: 0, open: () => restarted('fast') },
  {
    ...rest,
    name: 'the server is restarted, immediately',
    lastsMs: 0,
    open: () => restarted('immediate'),
  },
  {
    ...rest,
    name: 'the server is killed and started again',
    lastsMs: 0,
    open: () => restarted('killed'),
  },
  { ...rest, name: 'the server is read-only for 3 s', lastsMs: 3_000, open: readOnly },
  {
    ...rest,
    name: 'the disk is full for 5 s',
    lastsMs: 5_000,
    missing: missingPostgres ?? missingMount(),
    open: diskFull,
  },
  { ...rest, name: 'others take all connections for 3 s', lastsMs: 3_000, open: allTaken },
];
