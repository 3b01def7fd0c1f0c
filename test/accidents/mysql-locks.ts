/** Interference by other users of the same MariaDB: locks, and transactions left open. */
import type mysql from 'mysql2/promise';
import { emptyDatabase, openConsole } from '../support/mysql-clients.ts';
import type { Accident, Stage } from './accident.ts';
import { type MysqlLogin, type MysqlVisit, visitWithMysql2 } from './mysql-host.ts';

const engine = 'MariaDB';

/** A separate database for this accident on the shared server. */
interface Shared extends MysqlVisit {
  readonly settings: MysqlLogin & { readonly host: string; readonly port: number };
  close(): Promise<void>;
}

async function openShared(): Promise<Shared> {
  const { settings, drop } = await emptyDatabase();
  const { host, port, ...login } = settings;
  const visit = visitWithMysql2({ host, port }, login);
  async function close(): Promise<void> {
    await visit.close();
    await drop();
  }
  return { ...visit, settings, close };
}

/** Another client takes these locks until the accident is mended. */
async function heldBySomebody(locks: readonly string[], release: string): Promise<Stage> {
  const shared = await openShared();
  const somebody = await openConsole(shared.settings);
  return {
    ...shared,
    async strike() {
      for (const lock of locks) await somebody.rows(lock);
    },
    async mend() {
      await somebody.rows(release);
    },
    async close() {
      await somebody.end();
      await shared.close();
    },
  };
}

/** Borrows a connection, begins a transaction and returns the connection. */
async function leaveOpen(pool: mysql.Pool): Promise<void> {
  const connection = await pool.getConnection();
  await connection.query('START TRANSACTION WITH CONSISTENT SNAPSHOT');
  connection.release();
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

const OLDEST = 'WHERE revoked_at IS NULL ORDER BY created_at LIMIT 1';
/** Selects by id; otherwise MariaDB locks every row that it compares. */
const HOLD = [
  `SELECT key_id INTO @oldest FROM keyscope_keys ${OLDEST}`,
  'START TRANSACTION',
  'SELECT 1 FROM keyscope_keys WHERE key_id = CONVERT(@oldest USING ascii) FOR UPDATE',
];

export const MYSQL_LOCKS: readonly Accident[] = [
  {
    engine,
    name: 'somebody holds the row of a key for 5 s',
    lastsMs: 5_000,
    open: () => heldBySomebody(HOLD, 'ROLLBACK'),
  },
  {
    engine,
    name: 'somebody holds the whole table for 3 s',
    lastsMs: 3_000,
    open: () => heldBySomebody(['LOCK TABLES keyscope_keys WRITE'], 'UNLOCK TABLES'),
  },
  {
    engine,
    name: 'connections are given back to the pool inside a transaction',
    lastsMs: 3_000,
    open: givenBackOpen,
  },
];
