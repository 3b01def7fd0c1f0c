import type { D1Client } from 'keyscope/stores/d1';
import { d1Store, migrate, purgeEnded } from 'keyscope/stores/d1';
import { MIGRATIONS, schemaSql } from 'keyscope/stores/schema';
import { expect, test } from 'vitest';
import { another, RECORD, revokeAt, WHOSE } from '../../../support/d1-records.ts';
import { spyOn } from '../../../support/d1-spy.ts';
import { databases, describeWithWorkerd, SLOW, sqlOf } from '../../../support/workerd.ts';

/** Everything in the schema, except D1's own tables. */
const CATALOG = `SELECT name, sql FROM sqlite_master
  WHERE name NOT LIKE '\\_cf%' ESCAPE '\\' ORDER BY name`;

describeWithWorkerd('migrate', SLOW, () => {
  const fresh = databases();

  test('can be repeated, and only reads if the schema is current', async () => {
    const db = await fresh();
    await d1Store(db).insert(RECORD);
    const schema = await sqlOf(db)(CATALOG);
    const { client, asked } = spyOn(db);
    await migrate(client);
    expect(asked.statements).toHaveLength(1);
    expect(asked.batches).toEqual([]);
    expect(await sqlOf(db)(CATALOG)).toEqual(schema);
    expect(await d1Store(db).findById(RECORD.keyId)).toEqual(RECORD);
  });

  test('from 8 places at once creates one schema, and no store fails meanwhile', async () => {
    const db = await fresh();
    const migrations = Array.from({ length: 8 }, () => migrate(db));
    const inserts = Array.from({ length: 8 }, (_, i) => d1Store(db).insert(another(i)));
    await Promise.all([...migrations, ...inserts]);
    const versions = await sqlOf(db)('SELECT * FROM keyscope_schema');
    expect(versions).toEqual([{ id: 1, version: 1, min_reader: 1, purge_before: null }]);
    expect(await d1Store(db).list({ ...WHOSE, limit: 99 })).toHaveLength(8);
  });

  test('recognizes tables that were created by hand', async () => {
    const byHand = await fresh();
    const migrated = await fresh();
    // As a tool splits it: a statement ends with a line that ends in `;` and does not start another
    // statement of a trigger.
    for (const statement of schemaSql('sqlite').split(/;\n(?=\n|$)/)) {
      if (statement.trim() !== '') await sqlOf(byHand)(statement);
    }
    await migrate(migrated);
    const made = await sqlOf(byHand)(CATALOG);
    const expected = await sqlOf(migrated)(CATALOG);
    expect(made.map(({ name }) => name)).toEqual(expected.map(({ name }) => name));
    const { client, asked } = spyOn(byHand);
    await d1Store(client).insert(RECORD);
    expect(asked.statements).toHaveLength(2);
    expect(asked.batches).toEqual([]);
  });

  // A roll-out locked out every process that still ran the previous release.
  test('works with a schema that a newer release has extended, and leaves it so', async () => {
    const db = await fresh();
    await migrate(db);
    const sql = sqlOf(db);
    await sql('ALTER TABLE keyscope_keys ADD COLUMN next_one TEXT');
    await sql('UPDATE keyscope_schema SET version = 2, min_reader = 1');
    await migrate(db);
    const store = d1Store(db);
    await store.insert(RECORD);
    expect(await store.mark(RECORD.keyId, revokeAt(5))).toBe(true);
    expect(await store.list(WHOSE)).toMatchObject([{ keyId: RECORD.keyId, revokedAt: 5 }]);
    expect(await purgeEnded(db, { endedBefore: new Date(6) })).toEqual([RECORD.keyId]);
    expect(await sql('SELECT version FROM keyscope_schema')).toEqual([{ version: 2 }]);
  });

  test('rejects a schema that a newer release has changed, and leaves it unchanged', async () => {
    const db = await fresh();
    await migrate(db);
    await sqlOf(db)('UPDATE keyscope_schema SET version = 3, min_reader = 2');
    const store = d1Store(db);
    const acts = [
      async () => migrate(db),
      async () => store.findById(RECORD.keyId),
      async () => store.insert(RECORD),
      async () => purgeEnded(db, { endedBefore: new Date(6) }),
    ];
    const why =
      'keyscope: the database has schema version 3, which needs a release that knows ' +
      'version 2 or later; this release knows 1. Upgrade keyscope';
    for (const act of acts) await expect(act).rejects.toThrow(why);
    expect(await sqlOf(db)('SELECT version FROM keyscope_schema')).toEqual([{ version: 3 }]);
  });

  test('does everything or nothing, and is retried at the next use', async () => {
    const db = await fresh();
    const sql = sqlOf(db);
    // Another index has the name of ours, which comes after the table.
    await sql('CREATE TABLE mine (a)');
    await sql('CREATE INDEX keyscope_keys_listing ON mine (a)');
    const store = d1Store(db);
    const find = async () => store.findById(RECORD.keyId);
    await expect(find).rejects.toThrow(/keyscope_keys_listing/);
    await expect(find).rejects.toThrow(/keyscope_keys_listing/);
    const names = (await sql(CATALOG)).map(({ name }) => name);
    expect(names).toEqual(['keyscope_keys_listing', 'mine']);
    await sql('DROP TABLE mine');
    expect(await find()).toBe(null);
  });

  test('reports a version table without a version', async () => {
    const db = await fresh();
    await sqlOf(db)(MIGRATIONS.sqlite.flat()[0] ?? '');
    await expect(migrate(db)).rejects.toThrow('table keyscope_schema already exists');
  });

  test('reports the cause if the version cannot be read', async () => {
    const db = await fresh();
    await sqlOf(db)('CREATE TABLE keyscope_schema (other)');
    await expect(migrate(db)).rejects.toThrow('no such column: version');
  });
});

describeWithWorkerd('migrate to a next release', SLOW, () => {
  const fresh = databases();
  const SCHEMA = 'SELECT version, min_reader FROM keyscope_schema';
  // The default for a version without an entry: it locks earlier releases out.
  const SECOND = [{ version: 2, min_reader: 2 }];

  /** Runs `act` on a database of this release, with one more version to migrate to. */
  async function withNext(
    next: readonly string[],
    act: (db: D1Client) => Promise<void>,
  ): Promise<void> {
    const versions = MIGRATIONS.sqlite as (readonly string[])[];
    const db = await fresh();
    await migrate(db);
    versions.push(next);
    try {
      await act(db);
    } finally {
      versions.pop();
    }
  }

  test('happens once, from 8 places at once', async () => {
    // Each of its statements can run only once.
    const next = [
      'ALTER TABLE keyscope_keys ADD COLUMN next_one TEXT',
      'CREATE TABLE keyscope_next (a)',
    ];
    await withNext(next, async (db) => {
      await Promise.all(Array.from({ length: 8 }, () => migrate(db)));
      expect(await sqlOf(db)(SCHEMA)).toEqual(SECOND);
      const columns = await sqlOf(db)("SELECT name FROM pragma_table_info('keyscope_keys')");
      expect(columns.filter(({ name }) => name === 'next_one')).toHaveLength(1);
    });
  });

  test('runs nothing of a version that another place has migrated meanwhile', async () => {
    const harmless = ['INSERT INTO keyscope_next VALUES (1)'];
    await withNext(harmless, async (db) => {
      await sqlOf(db)('CREATE TABLE keyscope_next (a)');
      let raced = false;
      // Another isolate migrates between the read of the version and the batch.
      const slow: D1Client = {
        prepare: (sql) => db.prepare(sql),
        async batch(statements) {
          if (!raced) {
            raced = true;
            await migrate(db);
          }
          return db.batch(statements);
        },
      };
      await migrate(slow);
      expect(raced).toBe(true);
      expect(await sqlOf(db)('SELECT a FROM keyscope_next')).toEqual([{ a: 1 }]);
      expect(await sqlOf(db)(SCHEMA)).toEqual(SECOND);
    });
  });
});
