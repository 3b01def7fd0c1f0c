/** Reasons for a store to see fewer rows than exist. */
import { mysqlStore } from 'keyscope/stores/mysql';
import { expect, test } from 'vitest';
import { emptyDatabase } from '../../support/mysql-clients.ts';
import {
  another,
  describeMysql,
  lineageOf,
  OWN_KEYS,
  revokeAt,
  usageOf,
  withClient,
} from '../../support/mysql-place.ts';
import { RECORD } from '../../support/records.ts';

describeMysql('a connection', () => {
  // Look-ups used the database that was selected last: if it had such tables, every key was
  // unknown. Later, lineages and summaries still did.
  test('uses the tables of its first database, whichever is selected on it later', async () => {
    const other = await emptyDatabase();
    await withClient('mysql2 connection', {}, async ({ client, query }, { console }) => {
      const store = mysqlStore(client);
      await store.insert(RECORD);
      await query(`USE \`${other.name}\``);
      await mysqlStore(client).findById(RECORD.keyId);
      expect(await store.findByDigest([RECORD.digest])).toEqual([RECORD]);
      await store.insert({ ...another(1), accessibleEntities: [...RECORD.accessibleEntities] });
      await store.touch([usageOf(RECORD, 5)]);
      expect(await store.findById(RECORD.keyId)).toMatchObject({ lastUsedAt: 5 });
      expect(await store.listLineage(lineageOf(RECORD.rootKeyId))).toHaveLength(1);
      expect(await store.summarize(1)).toMatchObject([{ live: 2 }]);
      expect(await store.mark(RECORD.keyId, revokeAt(5))).toBe(true);
      expect(await store.list(OWN_KEYS)).toHaveLength(2);
      expect(await console.rows('SELECT * FROM keyscope_keys')).toHaveLength(2);
    });
    await other.drop();
  });
});
