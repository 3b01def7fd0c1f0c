/** Keys next to TypeORM's tables: over its pool, and under `synchronize`. */
import { migrate } from 'keyscope/stores/postgres';
import { DataSource } from 'typeorm';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { createDatabase, type Database, describeOrm, tablesIn } from './database.ts';
import { expectKeysIn, issueKey, keyringOf } from './keys.ts';

let database: Database;
beforeEach(async () => {
  database = await createDatabase();
});
afterEach(() => database.drop());

describeOrm('keys next to TypeORM', () => {
  test('work over its pool, and survive synchronize', async () => {
    process.env.DATABASE_URL = database.url;
    const { db, store } = await import('./.project/typeorm/store.ts');
    const { Threat } = await import('./.project/typeorm/schema.ts');
    await expectKeysIn(store);
    const key = await issueKey(store);
    await db.synchronize();
    await db.getRepository(Threat).insert({ id: 1, name: 'a' });
    expect(await db.getRepository(Threat).find()).toEqual([{ id: 1, name: 'a' }]);
    // What `migration:generate` would write.
    expect((await db.driver.createSchemaBuilder().log()).upQueries).toEqual([]);
    await expect(keyringOf(store).verify(key)).resolves.toBeDefined();
    await db.destroy();
  });

  test('are lost with dropSchema', async () => {
    await migrate(database.owner);
    const db = new DataSource({ type: 'postgres', url: database.url, dropSchema: true });
    await db.initialize();
    await db.destroy();
    expect(await tablesIn(database)).toEqual([]);
  });
});
