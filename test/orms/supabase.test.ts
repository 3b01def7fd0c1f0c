/** Keys in a database with Supabase's roles, under the rights that its API works with. */
import { execFile } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { postgresStore } from 'keyscope/stores/postgres';
import pg from 'pg';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { createDatabase, type Database, describeOrm } from './database.ts';
import { expectKeysIn } from './keys.ts';

const FOLDER = fileURLToPath(new URL('./', import.meta.url));
const BIN = join(FOLDER, 'node_modules/keyscope/dist/keyscope.js');
const PAGE = readFileSync(join(FOLDER, '../../docs/orms.md'), 'utf8');
const [, PRINTED = ''] = /^## Supabase\n[\s\S]*?^```sql\n([\s\S]*?)^```/m.exec(PAGE) ?? [];

/** Instead of Supabase's `postgres`, which is not a superuser. */
const DASHBOARD = `keyscope_orms_dashboard_${process.pid}`;
const SERVICE = 'keyscope_service';
const API = ['anon', 'authenticated', 'service_role'] as const;

const CONFIG = `
  import { createKeyring, defineScopes } from 'keyscope';
  import { defineConfig } from 'keyscope/cli';
  import { postgresStore } from 'keyscope/stores/postgres';
  import pg from 'pg';
  const pool = new pg.Pool({ connectionString: process.env.DATABASE_URL });
  const catalog = defineScopes({ threats: { read: 'Read threats.' } });
  const store = postgresStore(pool);
  const keyring = createKeyring({ prefix: 'acme', catalog, store, peppers: 'none' });
  export default defineConfig({
    keyring, store, peppers: 'none',
    sql: { dialect: 'postgres', query: async (sql) => (await pool.query(sql)).rows },
    close: () => pool.end(),
  });`;

let database: Database;
let project: string;
beforeEach(async () => {
  database = await createDatabase();
  mkdirSync(join(FOLDER, '.project'), { recursive: true });
  project = mkdtempSync(join(FOLDER, '.project/supabase-'));
  writeFileSync(join(project, 'keyscope.config.mjs'), CONFIG);
  const { owner } = database;
  await owner.query(`
    CREATE ROLE anon NOLOGIN;
    CREATE ROLE authenticated NOLOGIN;
    CREATE ROLE service_role NOLOGIN BYPASSRLS;
    CREATE ROLE ${DASHBOARD} LOGIN CREATEROLE CREATEDB BYPASSRLS IN ROLE ${API.join()};
    ALTER DATABASE ${owner.database} OWNER TO ${DASHBOARD};
    GRANT USAGE, CREATE ON SCHEMA public TO ${DASHBOARD};
    GRANT USAGE ON SCHEMA public TO ${API.join()};
    ALTER DEFAULT PRIVILEGES FOR ROLE ${DASHBOARD} IN SCHEMA public
      GRANT ALL ON TABLES TO ${API.join()};
  `);
});
afterEach(async () => {
  rmSync(project, { recursive: true, force: true });
  const { owner } = database;
  await owner.query(`ALTER DATABASE ${owner.database} OWNER TO ${owner.user}`);
  // Roles belong to the server, not to the database.
  const made = [SERVICE, DASHBOARD, ...API];
  const { rows } = await owner.query<{ name: string }>(
    'SELECT rolname AS name FROM pg_roles WHERE rolname = ANY ($1)',
    [made],
  );
  for (const { name } of rows) await owner.query(`DROP OWNED BY ${name} CASCADE`);
  await owner.query(`DROP ROLE IF EXISTS ${made.join()}`);
  await database.drop();
});

function urlOf(role: string): string {
  const url = new URL(database.url);
  url.username = role;
  return url.href;
}

/** Runs statements as a role. Returns the rows of the last one. */
async function as(role: string, ...statements: readonly string[]): Promise<unknown> {
  const client = new pg.Client({ connectionString: urlOf(role) });
  await client.connect();
  try {
    let rows: unknown;
    for (const sql of statements) ({ rows } = await client.query(sql));
    return rows;
  } finally {
    await client.end();
  }
}

/** Takes a key from issue to revoke. */
async function expectKeysOf(role: string): Promise<void> {
  const pool = new pg.Pool({ connectionString: urlOf(role) });
  try {
    await expectKeysIn(postgresStore(pool));
  } finally {
    await pool.end();
  }
}

/** Returns the line of a check of `keyscope doctor`. */
async function doctor(check: string, role: string): Promise<string> {
  const env = { ...process.env, DATABASE_URL: urlOf(role), NO_COLOR: '1' };
  const stdout = await new Promise<string>((resolve) => {
    execFile(process.execPath, [BIN, 'doctor'], { cwd: project, env }, (_, out) => resolve(out));
  });
  return new RegExp(`^${check} .*$`, 'm').exec(stdout)?.[0] ?? stdout;
}

const COUNT = 'SELECT count(*)::int AS keys FROM';

describeOrm("keys next to Supabase's roles", () => {
  test('work as the page says, where no role of the API reaches them', async () => {
    await as(DASHBOARD, PRINTED);
    await expectKeysOf(SERVICE);
    expect(await doctor('rights', SERVICE)).toMatch(/ ok +only the owner/);
    for (const role of API) {
      const counting = as(DASHBOARD, `SET ROLE ${role}`, `${COUNT} keyscope.keyscope_keys`);
      await expect(counting).rejects.toThrow(/permission denied/);
    }
  });

  test('are open to the API in public, and doctor says so', async () => {
    await expectKeysOf(DASHBOARD);
    const line = await doctor('rights', DASHBOARD);
    expect(line).toContain('others can read or write the tables: anon, authenticated');
    expect(line).toContain('REVOKE ALL on them FROM anon, authenticated');
    expect(await as(DASHBOARD, 'SET ROLE anon', `${COUNT} keyscope_keys`)).toEqual([{ keys: 1 }]);
  });

  test('are an outage to a role that row-level security applies to', async () => {
    await expectKeysOf(DASHBOARD);
    await as(DASHBOARD, PRINTED);
    const grant = 'GRANT SELECT, INSERT, UPDATE ON';
    for (const table of ['keyscope_keys', 'keyscope_addressing', 'keyscope_schema']) {
      await as(DASHBOARD, `ALTER TABLE ${table} ENABLE ROW LEVEL SECURITY`);
      await as(DASHBOARD, `${grant} ${table} TO ${SERVICE}`);
    }
    await as(DASHBOARD, `ALTER ROLE ${SERVICE} SET search_path = public`);
    expect(await doctor('store', SERVICE)).toMatch(/ to do .*row-level security applies/);
    await expectKeysOf(DASHBOARD); // which owns the tables
  });
});
