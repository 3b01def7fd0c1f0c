/** Accidents that other users of the same PostgreSQL cause: locks, and open transactions. */
import type pg from 'pg';
import { emptySchema, pgClient, type Settings, url } from '../support/postgres-clients.ts';
import type { Accident, Stage } from './accident.ts';
import { type PgVisit, visitWithPg } from './postgres-host.ts';

const engine = 'PostgreSQL';

/** A separate schema on the shared server. */
interface Shared extends PgVisit {
  readonly settings: Settings;
  close(): Promise<void>;
}

async function openShared(): Promise<Shared> {
  const schema = await emptySchema();
  const { settings } = schema;
  const visit = visitWithPg({ connectionString: url, settings });
  async function close(): Promise<void> {
    await visit.close();
    await schema.drop();
  }
  return { ...visit, settings, close };
}

/** Another session holds this lock until `mend`. */
async function heldByAnother(lock: string): Promise<Stage> {
  const shared = await openShared();
  const other = await pgClient(shared.settings);
  return {
    ...shared,
    async strike() {
      await other.query(`BEGIN; ${lock}`);
    },
    async mend() {
      await other.query('ROLLBACK');
    },
    async close() {
      await other.end();
      await shared.close();
    },
  };
}

/** Borrows a connection, begins a transaction and gives it back. */
async function leaveOpen(pool: pg.Pool): Promise<void> {
  const client = await pool.connect();
  await client.query('BEGIN');
  client.release();
}

/** Gives back three connections of each process in the middle of a transaction. */
async function givenBackOpen(): Promise<Stage> {
  const shared = await openShared();
  return {
    ...shared,
    async strike() {
      const three = shared.pools.flatMap((pool) => [pool, pool, pool]);
      await Promise.all(three.map(leaveOpen));
    },
  };
}

export const POSTGRES_LOCKS: readonly Accident[] = [
  {
    engine,
    name: 'another session locks the row of a key for 5 s',
    lastsMs: 5_000,
    open: () =>
      heldByAnother(
        'SELECT FROM keyscope_keys WHERE revoked_at IS NULL ORDER BY created_at LIMIT 1 FOR UPDATE',
      ),
  },
  {
    engine,
    name: 'another session locks the whole table for 3 s',
    lastsMs: 3_000,
    open: () => heldByAnother('LOCK TABLE keyscope_keys IN ACCESS EXCLUSIVE MODE'),
  },
  {
    engine,
    name: 'connections are given back to the pool inside BEGIN',
    lastsMs: 3_000,
    open: givenBackOpen,
  },
];
