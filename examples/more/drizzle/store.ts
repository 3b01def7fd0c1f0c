import { drizzle } from 'drizzle-orm/node-postgres';
import { postgresStore } from 'keyscope/stores/postgres';
import pg from 'pg';

const pool = new pg.Pool({ connectionString: process.env.DATABASE_URL });
pool.on('error', console.error); // Without it, pg ends the process when it loses a connection.

export const db = drizzle({ client: pool });
export const store = postgresStore(db.$client);
