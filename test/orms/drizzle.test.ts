/** Keys next to Drizzle's tables: over its client, and under `drizzle-kit push`. */
import { execFile } from 'node:child_process';
import { cpSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { migrate, postgresStore } from 'keyscope/stores/postgres';
import pg from 'pg';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { createDatabase, type Database, describeOrm, tablesIn } from './database.ts';
import { expectKeysIn, issueKey, keyringOf } from './keys.ts';

const FOLDER = fileURLToPath(new URL('./', import.meta.url));
const KIT = join(FOLDER, 'node_modules/.bin/drizzle-kit');

const KEYS = ['keyscope_addressing', 'keyscope_keys', 'keyscope_schema'] as const;
const inSchema = (schema: string): readonly string[] => KEYS.map((name) => `${schema}.${name}`);

let database: Database;
let project: string;
beforeEach(async () => {
  database = await createDatabase();
  // Next to node_modules, where the config finds drizzle-kit.
  project = mkdtempSync(join(FOLDER, '.project/push-'));
  cpSync(join(FOLDER, '.project/drizzle'), project, { recursive: true });
});
afterEach(async () => {
  rmSync(project, { recursive: true, force: true });
  await database.drop();
});

/** Runs `drizzle-kit push`, answers yes to everything, and returns its output. */
async function push(url: string, options?: object): Promise<string> {
  const env = { ...process.env, DATABASE_URL: url, NO_COLOR: '1' };
  if (options !== undefined) {
    const own = { dialect: 'postgresql', schema: './schema.ts', dbCredentials: { url } };
    const text = `export default ${JSON.stringify({ ...own, ...options })};\n`;
    writeFileSync(join(project, 'drizzle.config.ts'), text);
  }
  const running = promisify(execFile)(KIT, ['push', '--force'], { cwd: project, env });
  running.child.stdin?.end();
  const { stdout, stderr } = await running;
  return stdout + stderr;
}

async function connectTo(url: string, options = ''): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: url, options });
  await client.connect();
  return client;
}

describeOrm('keys next to Drizzle', () => {
  test("work over the client of Drizzle's own pool", async () => {
    process.env.DATABASE_URL = database.url;
    const { db, store } = await import('./.project/drizzle/store.ts');
    const { threats } = await import('./.project/drizzle/schema.ts');
    await push(database.url);
    await expectKeysIn(store);
    await db.insert(threats).values({ id: 1, name: 'a' });
    expect(await db.select().from(threats)).toEqual([{ id: 1, name: 'a' }]);
    await db.$client.end();
  });

  test("survive the first push with the example's config, and the next", async () => {
    const store = postgresStore(database.owner);
    const key = await issueKey(store);
    for (const said of ['Changes applied', 'No changes detected']) {
      expect(await push(database.url)).toContain(said);
      expect(await tablesIn(database)).toEqual([...inSchema('public'), 'public.threats']);
    }
    await expect(keyringOf(store).verify(key)).resolves.toBeDefined();
    const { rows } = await database.owner.query(
      'SELECT tgname FROM pg_trigger WHERE NOT tgisinternal',
    );
    expect(rows.length).toBeGreaterThan(3);
  });

  test('survive with a list of names in tablesFilter', async () => {
    await migrate(database.owner);
    expect(await push(database.url, { tablesFilter: ['threats'] })).toContain('Changes applied');
    expect(await tablesIn(database)).toEqual([...inSchema('public'), 'public.threats']);
  });

  // If this fails, drizzle-kit has learned to leave unknown tables alone, and docs/orms.md can say
  // so.
  test('are lost without a filter', async () => {
    await push(database.url, {});
    await migrate(database.owner);
    expect(await push(database.url, {})).toContain('Changes applied');
    expect(await tablesIn(database)).toEqual(['public.threats']);
  });

  test('survive in a separate schema, unless schemaFilter names it', async () => {
    await database.owner.query('CREATE SCHEMA keys');
    await push(database.url, {});
    const client = await connectTo(database.url, '-c search_path=keys');
    await migrate(client);
    await client.end();
    expect(await push(database.url, {})).toContain('No changes detected');
    expect(await tablesIn(database)).toEqual([...inSchema('keys'), 'public.threats']);
    await push(database.url, { schemaFilter: ['public', 'keys'] });
    expect(await tablesIn(database)).toEqual(['public.threats']);
  });

  test('survive in tables that another role owns, filter or not', async () => {
    const role = `keyscope_orms_app_${process.pid}`;
    await database.owner.query(`CREATE ROLE ${role} LOGIN`);
    try {
      await database.owner.query(`GRANT USAGE, CREATE ON SCHEMA public TO ${role}`);
      const url = new URL(database.url);
      url.username = role;
      await push(url.href, {});
      const store = postgresStore(database.owner);
      const key = await issueKey(store);
      // More than a service needs.
      await database.owner.query(`GRANT ALL ON ALL TABLES IN SCHEMA public TO ${role}`);
      expect(await push(url.href, {})).toContain('must be owner of table keyscope_');
      await expect(keyringOf(store).verify(key)).resolves.toBeDefined();
    } finally {
      await database.owner.query(`DROP OWNED BY ${role}`);
      await database.owner.query(`DROP ROLE ${role}`);
    }
  });
});
