import type { MysqlClient } from 'keyscope/stores/mysql';
import { migrate, mysqlStore, purgeEnded } from 'keyscope/stores/mysql';
import { MIGRATIONS } from 'keyscope/stores/schema';
import { beforeAll, expect, test } from 'vitest';
import { MIN_READERS } from '../../../src/stores/schema/versions.ts';
import type { Database } from '../../support/mysql-clients.ts';
import {
  another,
  CONNECTIONS,
  describeMysql,
  KINDS,
  OWN_KEYS,
  openClient,
  revokeAt,
  revoked,
  SLOW,
  schemaOf,
  until,
  usageOf,
  withClient,
} from '../../support/mysql-place.ts';
import { RECORD } from '../../support/records.ts';

const STATEMENTS = MIGRATIONS.mysql.flat();

/** The statements that change the schema. */
function changes(asked: readonly string[]): string[] {
  return asked.filter((sql) => STATEMENTS.includes(sql));
}

/** A connection that records unprepared statements, until it is cut off. */
function noting(
  client: MysqlClient,
  asked: string[],
  isCut: () => boolean = () => false,
): MysqlClient {
  return {
    execute: (statement, values) => client.execute(statement, values),
    async query(statement) {
      asked.push(statement.sql);
      if (isCut()) throw new Error('cut short');
      return client.query(statement);
    },
  };
}

describeMysql('migrate', SLOW, () => {
  let expected: unknown;
  beforeAll(async () => {
    expected = await withClient('mysql2 connection', {}, async ({ client }, database) => {
      await migrate(client);
      return schemaOf(database);
    });
  });
  async function expectSchema(database: Database): Promise<void> {
    expect(await schemaOf(database)).toEqual(expected);
  }

  test('creates three tables, four triggers and a version', async () => {
    const version = MIGRATIONS.mysql.length;
    const min_reader = MIN_READERS[version - 1];
    expect(expected).toMatchObject({
      tables: { length: 3 },
      triggers: { length: 4 },
      versions: [{ id: 1, version, min_reader, purge_before: null }],
    });
  });

  test.each(KINDS)('can be repeated and keeps existing rows, over a %s', async (kind) => {
    await withClient(kind, {}, async ({ client }, database) => {
      await mysqlStore(client).insert(RECORD);
      await migrate(client);
      await migrate(client);
      await expectSchema(database);
      expect(await mysqlStore(client).findById(RECORD.keyId)).toEqual(RECORD);
    });
  });

  test.each(CONNECTIONS)('runs once for eight of a %s at a time', async (kind) => {
    await withClient(kind, {}, async (_opened, database) => {
      const opening = Array.from({ length: 8 }, () => openClient(kind, database.settings));
      const clients = await Promise.all(opening);
      const asked: string[] = [];
      await Promise.all(clients.map(({ client }) => migrate(noting(client, asked))));
      await expectSchema(database);
      // One of them migrated; the others waited and found nothing to do.
      expect(changes(asked)).toEqual(STATEMENTS);
      await Promise.all(clients.map((client) => client.end()));
    });
  });

  test.each(KINDS)('runs eight times at once over one %s, while stores start', async (kind) => {
    await withClient(kind, {}, async ({ client }, database) => {
      const stores = Array.from({ length: 4 }, () => mysqlStore(client));
      const inserts = stores.map((store, i) => store.insert(another(i)));
      const migrations = Array.from({ length: 8 }, () => migrate(client));
      await Promise.all([...migrations, ...inserts]);
      await expectSchema(database);
      expect(await stores[0]?.list(OWN_KEYS)).toHaveLength(4);
    });
  });

  // The version is written last, so an interrupted run leaves none.
  const counts = Array.from({ length: STATEMENTS.length + 1 }, (_, n) => n);

  test.each(counts)('completes a run that was interrupted after statement %i', async (n) => {
    await withClient('mariadb connection', {}, async ({ client }, database) => {
      const asked: string[] = [];
      const cut = noting(client, asked, () => changes(asked).length > n);
      if (n < STATEMENTS.length) await expect(migrate(cut)).rejects.toThrow('cut short');
      else await migrate(cut);
      await migrate(client);
      await expectSchema(database);
      await mysqlStore(client).insert(RECORD);
    });
  });

  test.each(counts)('completes a migration whose client stopped after statement %i', async (n) => {
    await withClient('mariadb pool', {}, async ({ client }, database) => {
      for (const sql of STATEMENTS.slice(0, n)) await database.console.rows(sql);
      await migrate(client);
      await expectSchema(database);
    });
  });

  test('waits for another process that migrates, and leaves no lock', async () => {
    await withClient('mysql2 pool', {}, async ({ client }, { console }) => {
      const lock = "CONCAT('keyscope_schema_', CRC32(DATABASE()))";
      expect(await console.value(`SELECT GET_LOCK(${lock}, 0)`)).toBe(1);
      let done = false;
      const migrating = migrate(client).then(() => {
        done = true;
      });
      const waits = `SELECT COUNT(*) FROM information_schema.processlist
        WHERE state = 'User lock' AND db = DATABASE()`;
      await until(async () => (await console.value(waits)) === 1, 'it waits for the lock');
      expect(done).toBe(false);
      expect(await console.rows('SHOW TABLES')).toEqual([]);
      await console.rows(`SELECT RELEASE_LOCK(${lock})`);
      await migrating;
      expect(await console.value(`SELECT IS_FREE_LOCK(${lock})`)).toBe(1);
    });
  });

  test('rejects a schema that a later release has closed, and leaves it unchanged', async () => {
    await withClient('mysql2 pool', {}, async ({ client }, { console }) => {
      await migrate(client);
      await console.rows('UPDATE keyscope_schema SET version = 2, min_reader = 2');
      const why =
        'keyscope: the database has schema version 2, which needs a release that knows ' +
        'version 2 or later; this release knows 1. Upgrade keyscope';
      await expect(migrate(client)).rejects.toThrow(why);
      const store = mysqlStore(client);
      const uses = [
        async () => store.findById(RECORD.keyId),
        async () => store.insert(RECORD),
        async () => store.mark(RECORD.keyId, revokeAt(5)),
      ];
      for (const use of uses) await expect(use).rejects.toThrow(why);
      const versions = await console.rows('SELECT version, min_reader FROM keyscope_schema');
      expect(versions).toEqual([{ version: 2, min_reader: 2 }]);
    });
  });

  // Otherwise a roll-out would lock out every process of the older release, and a roll-back all
  // processes.
  test('works with a schema that a later release has extended, and leaves it so', async () => {
    await withClient('mysql2 pool', {}, async ({ client }, database) => {
      const { console } = database;
      await migrate(client);
      await console.rows(
        'ALTER TABLE keyscope_keys ADD COLUMN later LONGTEXT, ADD INDEX (name(9))',
      );
      await console.rows('CREATE TABLE keyscope_later (id INT PRIMARY KEY)');
      await console.rows('UPDATE keyscope_schema SET version = 2, min_reader = 1');
      const before = await schemaOf(database);
      const store = mysqlStore(client);
      await migrate(client);
      await store.insert(RECORD);
      expect(await store.list(OWN_KEYS)).toEqual([RECORD]);
      expect(await store.mark(RECORD.keyId, revokeAt(5))).toBe(true);
      await store.touch([usageOf(RECORD, 6)]);
      const used = { ...revoked(RECORD, 5), lastUsedAt: 6 };
      expect(await store.findByDigest([RECORD.digest])).toEqual([used]);
      expect(await purgeEnded(client, { endedBefore: new Date(9) })).toEqual([RECORD.keyId]);
      expect(await schemaOf(database)).toEqual(before);
    });
  });
});
