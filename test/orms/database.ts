/** A separate database for tools that change everything in it. */
import { existsSync } from 'node:fs';
import pg from 'pg';
import { describe } from 'vitest';
import { describeOn, SERVERS } from '../support/servers.ts';

const { CI } = process.env;
const isInstalled = existsSync(new URL('node_modules/.package-lock.json', import.meta.url));
const describeServer = await describeOn('postgres');

/**
 * `describe` for these tests. Without a server or the packages, they are skipped under their names.
 */
export const describeOrm: typeof describe.skip | typeof describe =
  isInstalled || CI === 'true' ? describeServer : describe.skip;

export interface Database {
  readonly url: string;
  /** A connection as the owner, without any limits. */
  readonly owner: pg.Client;
  drop(): Promise<void>;
}

async function connect(url: string): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  return client;
}

let made = 0;

export async function createDatabase(): Promise<Database> {
  made += 1;
  const name = `keyscope_orms_${process.pid}_${made}`;
  const admin = await connect(SERVERS.postgres);
  await admin.query(`CREATE DATABASE ${name}`);
  const url = new URL(SERVERS.postgres);
  url.pathname = name;
  const owner = await connect(url.href);
  async function drop(): Promise<void> {
    await owner.end();
    await admin.query(`DROP DATABASE ${name} WITH (FORCE)`);
    await admin.end();
  }
  return { url: url.href, owner, drop };
}

/** The names of all tables with their schemas, sorted. */
export async function tablesIn({ owner }: Database): Promise<readonly string[]> {
  const { rows } = await owner.query<{ name: string }>(
    `SELECT schemaname || '.' || tablename AS name FROM pg_tables
    WHERE schemaname NOT IN ('pg_catalog', 'information_schema') ORDER BY 1`,
  );
  return rows.map(({ name }) => name);
}
