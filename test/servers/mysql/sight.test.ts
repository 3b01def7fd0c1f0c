/** Reasons for a store to see fewer rows than exist. */
import { mysqlStore } from 'keyscope/stores/mysql';
import { expect, test } from 'vitest';
import { emptyDatabase } from '../../support/mysql-clients.ts';
import {
  another,
  describeMysql,
  OWN_KEYS,
  revokeAt,
  usageOf,
  withClient,
} from '../../support/mysql-place.ts';
import { RECORD } from '../../support/records.ts';

describeMysql('a connection', () => {
  // Look-ups used the database that was selected last: if it had such tables, every key was
  // unknown.
  test('uses the tables of its first database, whichever is selected on it later', async () => {
    const other = await emptyDatabase();
    await withClient('mysql2 connection', {}, async ({ client, query }, { console }) => {
      const store = mysqlStore(client);
      await store.insert(RECORD);
      await query(`USE \`${other.name}\``);
      await mysqlStore(client).findById(RECORD.keyId);
      expect(await store.findByDigest([RECORD.digest])).toEqual([RECORD]);
      await store.insert({ ...another(1), accessibleEntities: [...RECORD.accessibleEntities] });
      // Never silently: the keys would look unused.
      const touch = async () => store.touch([usageOf(RECORD, 5)]);
      await expect(touch).rejects.toThrow(/keyscope/);
      expect(await store.mark(RECORD.keyId, revokeAt(5))).toBe(true);
      expect(await store.list(OWN_KEYS)).toHaveLength(2);
      expect(await console.rows('SELECT * FROM keyscope_keys')).toHaveLength(2);
    });
    await other.drop();
  });

  test('is rejected if a view has the name of one of the tables', async () => {
    await withClient('mysql2 pool', {}, async ({ client }, { console }) => {
      await mysqlStore(client).insert(RECORD);
      await console.rows('RENAME TABLE keyscope_keys TO kept');
      await console.rows('CREATE VIEW keyscope_keys AS SELECT * FROM kept WHERE false');
      const find = async () => mysqlStore(client).findById(RECORD.keyId);
      await expect(find).rejects.toThrow('a view has the name of one of the tables');
    });
  });
});
