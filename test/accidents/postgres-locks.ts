/** Interference by other users of the same PostgreSQL: locks, and transactions left open. */
import type pg from 'pg';
import { emptySchema, pgClient, type Settings, url } from '../support/postgres-clients.ts';
import type { Accident, Stage } from './accident.ts';
import { type PgVisit, visitWithPg } from './postgres-host.ts';

const engine = 'PostgreSQL';

/** A separate schema for this accident on the shared server. */
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

/** Another client takes this lock until the accident is mended. */
async function heldBySomebody(lock: string): Promise<Stage> {
  const shared = await openShared();
  const somebody = await pgClient(shared.settings);
  return {
    ...shared,
    async strike() {
      await somebody.query(`BEGIN; ${lock}`);
    },
    async mend() {
      await somebody.query('ROLLBACK');
    },
    async close() {
      await somebody.end();
      await shared.close();
    },
  };
}

/** Borrows a connection, begins a transaction and returns the connection. */
async function leaveOpen(pool: pg.Pool): Promise<void> {
  const client = await pool.connect();
  await client.query('BEGIN');
  client.release();
}

/** Three connections of each process return to the pool in the middle of a transaction. */
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
    name: 'somebody holds the row of a key for 5 s',
    lastsMs: 5_000,
    open: () =>
      heldBySomebody(
        'SELECT FROM keyscope_keys WHERE revoked_at IS NULL ORDER BY created_at LIMIT 1 FOR UPDATE',
      ),
  },
  {
    engine,
    name: 'somebody holds the whole table for 3 s',
    lastsMs: 3_000,
    open: () => heldBySomebody('LOCK TABLE keyscope_keys IN ACCESS EXCLUSIVE MODE'),
  },
  {
    engine,
    name: 'connections are given back to the pool inside BEGIN',
    lastsMs: 3_000,
    open: givenBackOpen,
  },
];
