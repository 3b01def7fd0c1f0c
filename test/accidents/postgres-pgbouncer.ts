/** PgBouncer between a service and its PostgreSQL: transaction pooling, no prepared statements. */
import type pg from 'pg';
import {
  type Bouncer,
  missingPgBouncer,
  PGBOUNCER_VERSION,
  startPgBouncer as start,
} from '../support/pgbouncer.ts';
import { missingPostgres, POSTGRES_NAME, promote, startPair } from '../support/postgres-servers.ts';
import { type Address, openTcpProxy } from '../support/tcp-proxy.ts';
import type { Accident, Stage } from './accident.ts';
import { visitWithPg } from './postgres-host.ts';

const missing = missingPostgres ?? missingPgBouncer;
const engine = `${POSTGRES_NAME}, PgBouncer ${PGBOUNCER_VERSION}`.trim();

function startPgBouncer(server: Address, mode: 'transaction' | 'session'): Promise<Bouncer> {
  const behind = { ...server, user: 'postgres', database: 'postgres' };
  const settings = `pool_mode = ${mode}
default_pool_size = 10
server_login_retry = 1
query_wait_timeout = 5`;
  return start(behind, settings);
}

/**
 * A synchronous pair, and a PgBouncer configured with one address, which the new primary takes
 * over.
 */
async function failsOver(): Promise<Stage> {
  const { primary, standby, remove } = await startPair('synchronous');
  // PgBouncer accepts no such setting from a client.
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

/** Three connections of each process return to the pool inside BEGIN, through session pooling. */
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
