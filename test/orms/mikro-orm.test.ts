/** Keys next to MikroORM's tables: over its pool, and under its schema generator. */
import { type defineConfig, MikroORM } from '@mikro-orm/postgresql';
import { migrate } from 'keyscope/stores/postgres';
import pg from 'pg';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { createDatabase, type Database, describeOrm, tablesIn } from './database.ts';
import { expectKeysIn, issueKey, keyringOf } from './keys.ts';

type Options = Parameters<typeof defineConfig>[0]['schemaGenerator'];

const KEYS = ['keyscope_addressing', 'keyscope_keys', 'keyscope_schema'] as const;

let database: Database;
beforeEach(async () => {
  database = await createDatabase();
});
afterEach(() => database.drop());

/** Makes the database match the entities, with these options. */
async function update(schemaGenerator: Options = {}): Promise<void> {
  const { Threat } = await import('./.project/mikro-orm/schema.ts');
  const orm = await MikroORM.init({ clientUrl: database.url, entities: [Threat], schemaGenerator });
  await orm.schema.update();
  await orm.close();
}

/** Checks whether the function is there that deletes ended keys. */
async function purges(): Promise<boolean> {
  const { rows } = await database.owner.query(
    "SELECT 1 FROM pg_proc WHERE proname = 'keyscope_purge'",
  );
  return rows.length > 0;
}

/** Creates keyscope's tables in a schema. */
async function migrateIn(schema: string): Promise<void> {
  await database.owner.query(`CREATE SCHEMA IF NOT EXISTS ${schema}`);
  const options = `-c search_path=${schema}`;
  const client = new pg.Client({ connectionString: database.url, options });
  await client.connect();
  await migrate(client);
  await client.end();
}

describeOrm('keys next to MikroORM', () => {
  test("work over its pool, and survive its updates with the example's options", async () => {
    process.env.DATABASE_URL = database.url;
    const { orm, store } = await import('./.project/mikro-orm/store.ts');
    const { Threat } = await import('./.project/mikro-orm/schema.ts');
    await expectKeysIn(store);
    const key = await issueKey(store);
    await orm.schema.update();
    expect(await orm.schema.getUpdateSchemaSQL()).toBe('');
    await orm.em.fork().insert(Threat, { id: 1, name: 'a' });
    expect(await orm.em.fork().findOneOrFail(Threat, 1)).toMatchObject({ name: 'a' });
    await expect(keyringOf(store).verify(key)).resolves.toBeDefined();
    const triggers = 'SELECT tgname FROM pg_trigger WHERE NOT tgisinternal';
    expect((await database.owner.query(triggers)).rows.length).toBeGreaterThan(3);
    expect(await purges()).toBe(true);
    await orm.close();
  });

  // If this fails, MikroORM has learned to leave unknown tables alone, and docs/orms.md can say so.
  test.each(['public', 'keys'])('are lost without options, in the schema %s', async (schema) => {
    await migrateIn(schema);
    const outcome = await update().catch(String);
    // It fails after it has dropped the tables, at a schema that still has functions.
    if (outcome !== undefined) expect(outcome).toContain('cannot drop schema keys');
    expect(await tablesIn(database)).toEqual(['public.threats']);
  });

  test('survive in a schema that ignoreSchema names', async () => {
    await migrateIn('keys');
    await update({ ignoreSchema: ['keys'] });
    expect(await purges()).toBe(true);
    const kept = KEYS.map((name) => `keys.${name}`);
    expect(await tablesIn(database)).toEqual([...kept, 'public.threats']);
  });

  test('lose the function that deletes ended keys without ignoreRoutines', async () => {
    await migrate(database.owner);
    await update({ skipTables: [/^keyscope_/] });
    expect(await tablesIn(database)).toContain('public.keyscope_keys');
    expect(await purges()).toBe(false);
  });
});
