/** Connects two processes to a PostgreSQL, and describes the shared server. */
import { type PostgresStoreOptions, postgresStore } from 'keyscope/stores/postgres';
import type pg from 'pg';
import { emptySchema, pgPool, type Settings, url } from '../support/postgres-clients.ts';
import type { Host, Visit } from './place.ts';

/** The pool settings that the README recommends, so that no connection hangs forever. */
const PATIENCE = {
  connectionTimeoutMillis: 2_000,
  statement_timeout: 4_000,
  query_timeout: 5_000,
} as const;

/** Two processes with a pool each. */
export interface PgVisit extends Visit {
  readonly pools: readonly pg.Pool[];
}

/** Connection options in addition to the README's. */
export interface PgWay {
  readonly connectionString: string;
  readonly settings?: Settings;
  readonly more?: pg.PoolConfig;
  readonly options?: PostgresStoreOptions;
}

export function visitWithPg({ connectionString, settings, more, options }: PgWay): PgVisit {
  const open = () => pgPool(settings, { connectionString, ...PATIENCE, ...more });
  const managing = open();
  const guarding = open();
  return {
    managing: postgresStore(managing, options),
    guarding: postgresStore(guarding, options),
    pools: [managing, guarding],
    close: () => Promise.all([managing.end(), guarding.end()]),
  };
}

/** A URL that reaches the same server through a port of this machine. */
export function through(port: number, to: string): string {
  const address = new URL(to);
  address.host = `127.0.0.1:${port}`;
  return address.href;
}

export async function postgresHost(): Promise<Host> {
  const schema = await emptySchema();
  const { hostname, port } = new URL(url);
  return {
    address: { host: hostname, port: Number(port) || 5432 },
    visit: async (by) =>
      visitWithPg({ connectionString: through(by, url), settings: schema.settings }),
    remove: schema.drop,
  };
}
