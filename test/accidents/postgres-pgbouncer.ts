/** PgBouncer between a service and its PostgreSQL: transaction pooling, no prepared statements. */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import pg from 'pg';
import { eventually } from '../support/eventually.ts';
import {
  atTheEnd,
  freePort,
  missingPostgres,
  OWNER,
  ownFolder,
  POSTGRES_NAME,
  promote,
  startPair,
} from '../support/postgres-servers.ts';
import { type Address, openTcpProxy } from '../support/tcp-proxy.ts';
import type { Accident, Stage } from './accident.ts';
import { visitWithPg } from './postgres-host.ts';

/** Debian has it outside of the PATH of most users. */
const PLACES = ['/usr/sbin/pgbouncer', '/usr/bin/pgbouncer', '/usr/local/bin/pgbouncer'];
const program = PLACES.find((path) => existsSync(path));
const missing = missingPostgres ?? (program === undefined ? 'PgBouncer' : undefined);

function versionOf(path: string | undefined): string {
  if (path === undefined) return '';
  const { stdout } = spawnSync(path, ['--version'], { encoding: 'utf8' });
  return /PgBouncer (\d+\.\d+)/.exec(stdout)?.[1] ?? '';
}

const engine = `${POSTGRES_NAME}, PgBouncer ${versionOf(program)}`.trim();

interface Bouncer {
  readonly url: string;
  remove(): Promise<void>;
}

async function startPgBouncer(server: Address, mode: 'transaction' | 'session'): Promise<Bouncer> {
  const folder = ownFolder();
  const port = await freePort();
  const file = join(folder.path, 'pgbouncer.ini');
  writeFileSync(
    file,
    `[databases]
postgres = host=${server.host} port=${server.port} user=postgres dbname=postgres
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = ${port}
unix_socket_dir =
auth_type = any
pool_mode = ${mode}
default_pool_size = 10
server_login_retry = 1
query_wait_timeout = 5
`,
  );
  const running: ChildProcess = spawn(program ?? 'pgbouncer', ['-q', file], {
    ...OWNER,
    cwd: '/',
    stdio: 'ignore',
  });
  const kill = atTheEnd(() => running.kill('SIGKILL'));
  const url = `postgres://postgres@127.0.0.1:${port}/postgres`;
  await eventually(async () => {
    const client = new pg.Client(url);
    client.on('error', () => {});
    await client.connect();
    await client.end();
    return true;
  }, 'PgBouncer answers');
  return {
    url,
    async remove() {
      const gone = once(running, 'exit');
      kill();
      await gone;
      folder.remove();
    },
  };
}

/** A synchronous pair, and a PgBouncer that is told one address, which the new primary takes. */
async function failsOver(): Promise<Stage> {
  const { primary, standby, remove } = await startPair('synchronous');
  // PgBouncer takes no such setting from a client.
  await primary.sql("ALTER ROLE postgres SET statement_timeout = '4s'");
  const proxy = await openTcpProxy(primary.address);
  const bouncer = await startPgBouncer({ host: '127.0.0.1', port: proxy.port }, 'transaction');
  const visit = visitWithPg({
    connectionString: bouncer.url,
    more: { statement_timeout: false },
    options: { prepare: false },
  });
  return {
    managing: visit.managing,
    guarding: visit.guarding,
    async strike() {
      await primary.stop('killed');
      await promote(standby);
      proxy.turnTo(standby.address);
    },
    async close() {
      await visit.close();
      await bouncer.remove();
      await proxy.close();
      await remove();
    },
  };
}

/** Three connections of each process are given back inside BEGIN, through session pooling. */
async function givenBackOpen(): Promise<Stage> {
  const { primary, remove } = await startPair('asynchronous');
  const bouncer = await startPgBouncer(primary.address, 'session');
  const visit = visitWithPg({
    connectionString: bouncer.url,
    more: { statement_timeout: false, max: 5 },
    options: { prepare: false },
  });
  async function leaveOpen(pool: pg.Pool): Promise<void> {
    const client = await pool.connect();
    await client.query('BEGIN');
    client.release();
  }
  return {
    managing: visit.managing,
    guarding: visit.guarding,
    async strike() {
      const three = visit.pools.flatMap((pool) => [pool, pool, pool]);
      await Promise.all(three.map(leaveOpen));
    },
    async close() {
      await visit.close();
      await bouncer.remove();
      await remove();
    },
  };
}

export const POSTGRES_PGBOUNCER: readonly Accident[] = [
  {
    engine,
    name: 'the primary behind PgBouncer is killed, and its standby promoted',
    lastsMs: 0,
    isLong: true,
    missing,
    open: failsOver,
  },
  {
    engine,
    name: 'connections through PgBouncer are given back inside BEGIN',
    lastsMs: 3_000,
    isLong: true,
    missing,
    open: givenBackOpen,
  },
];
