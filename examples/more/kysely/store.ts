import { postgresStore } from 'keyscope/stores/postgres';
import { Kysely, PostgresDialect } from 'kysely';
import pg from 'pg';

interface Database {
  threats: { id: number; name: string };
}

const pool = new pg.Pool({ connectionString: process.env.DATABASE_URL });
pool.on('error', console.error); // Without it, pg ends the process when it loses a connection.

export const db = new Kysely<Database>({ dialect: new PostgresDialect({ pool }) });
export const store = postgresStore(pool);
