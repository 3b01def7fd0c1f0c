/** Keys next to Kysely's tables: over its pool, and created by its migrations. */
import { afterEach, beforeEach, expect, test } from 'vitest';
import { createDatabase, type Database, describeOrm, tablesIn } from './database.ts';
import { expectKeysIn } from './keys.ts';

let database: Database;
beforeEach(async () => {
  database = await createDatabase();
});
afterEach(() => database.drop());

describeOrm('keys next to Kysely', () => {
  test('work over its pool, in tables that its migrations created', async () => {
    process.env.DATABASE_URL = database.url;
    const { Migrator } = await import('kysely/migration');
    const { db, store } = await import('./.project/kysely/store.ts');
    const { up } = await import('./.project/kysely/migration.ts');
    const threats = {
      up: () => db.schema.createTable('threats').addColumn('id', 'integer').execute(),
      down: () => db.schema.dropTable('threats').execute(),
    };
    const migrations = { '001-keyscope': { up }, '002-threats': threats };
    const migrator = new Migrator({ db, provider: { getMigrations: async () => migrations } });
    expect((await migrator.migrateToLatest()).error).toBeUndefined();
    expect(await tablesIn(database)).toEqual(
      expect.arrayContaining(['public.keyscope_keys', 'public.threats']),
    );
    await expectKeysIn(store);
    expect((await migrator.migrateDown()).error).toBeUndefined();
    expect(await tablesIn(database)).not.toContain('public.threats');
    await expectKeysIn(store);
    await db.destroy();
  });
});
