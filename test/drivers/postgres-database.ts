/** New databases for the trials. */
import pg from 'pg';

/** Runs SQL over a separate connection. */
export async function query(url: string, sql: string): Promise<void> {
  const client = new pg.Client({ connectionString: url });
  client.on('error', () => {});
  await client.connect();
  try {
    await client.query(sql);
  } finally {
    await client.end();
  }
}

/** An empty database, and a function that drops it. */
export interface PostgresDatabase {
  readonly url: string;
  drop(): Promise<void>;
}

export async function createDatabase(server: string): Promise<PostgresDatabase> {
  const name = `keyscope_drivers_${crypto.randomUUID().replaceAll('-', '')}`;
  await query(server, `CREATE DATABASE ${name}`);
  const url = new URL(server);
  url.pathname = name;
  return { url: url.href, drop: () => query(server, `DROP DATABASE ${name} WITH (FORCE)`) };
}
