/** The schema without triggers, for servers that have none. */
import type { MysqlClient } from 'keyscope/stores/mysql';
import { migrate, mysqlStore, purgeEnded } from 'keyscope/stores/mysql';
import { type SchemaOptions, schemaSql } from 'keyscope/stores/schema';
import { storeContract } from 'keyscope/testing';
import { beforeAll, expect, test } from 'vitest';
import { OTHER, OWN } from '../../support/keyring.ts';
import {
  another,
  describeMysql,
  POOLS,
  SLOW,
  schemaOf,
  usePlace,
  withClient,
} from '../../support/mysql-place.ts';
import { RECORD } from '../../support/records.ts';

const WITHOUT = { triggers: false } as const;

describeMysql.each(POOLS)('%s, on a schema without triggers', SLOW, (kind) => {
  const place = usePlace(kind);
  beforeAll(() => migrate(place.opened.client, WITHOUT));
  storeContract(test, () => place.store);

  test('has created none meanwhile', async () => {
    expect(await place.rows('SHOW TRIGGERS')).toEqual([]);
  });
});

describeMysql('a schema without triggers', SLOW, () => {
  test('has the same tables and the same version, and migrate leaves it unchanged', async () => {
    await withClient('mysql2 pool', {}, async ({ client }, database) => {
      const expected = await withClient('mysql2 pool', {}, async (full, fullDatabase) => {
        await migrate(full.client);
        return schemaOf(fullDatabase);
      });
      await migrate(client, WITHOUT);
      expect(await schemaOf(database)).toEqual({ ...expected, triggers: [] });
      await migrate(client);
      await mysqlStore(client).insert(RECORD);
      expect(await schemaOf(database)).toEqual({ ...expected, triggers: [] });
    });
  });

  test('equals the output of schemaSql', async () => {
    await withClient('mysql2 pool', {}, async ({ client }, database) => {
      const expected = await withClient('mysql2 pool', {}, async (other, otherDatabase) => {
        await migrate(other.client, WITHOUT);
        return schemaOf(otherDatabase);
      });
      const pieces = schemaSql('mysql', WITHOUT).split(';\n');
      for (const sql of pieces) if (sql.trim() !== '') await database.console.rows(sql);
      expect(await schemaOf(database)).toEqual(expected);
      await mysqlStore(client).insert(RECORD);
    });
  });

  test('is purged with the pairs of its keys', async () => {
    await withClient('mysql2 pool', {}, async ({ client }, { console }) => {
      await migrate(client, WITHOUT);
      const store = mysqlStore(client);
      const accessibleEntities = [OWN, OTHER];
      for (const expiresAt of [5, 50]) {
        await store.insert({ ...another(expiresAt), accessibleEntities, expiresAt });
      }
      const deleted = await purgeEnded(client, { endedBefore: new Date(9) });
      expect(deleted).toEqual([another(5).keyId]);
      const left = [{ key_id: another(50).keyId }];
      expect(await console.rows('SELECT key_id FROM keyscope_keys')).toEqual(left);
      expect(await console.rows('SELECT key_id FROM keyscope_addressing')).toEqual(left);
    });
  });

  test('is rejected if a later release has closed it to this one', async () => {
    await withClient('mysql2 pool', {}, async ({ client }, { console }) => {
      await migrate(client, WITHOUT);
      await console.rows('UPDATE keyscope_schema SET version = 2, min_reader = 2');
      await expect(migrate(client, WITHOUT)).rejects.toThrow('Upgrade keyscope');
      await expect(async () => mysqlStore(client).findById(OTHER)).rejects.toThrow(
        'Upgrade keyscope',
      );
    });
  });

  test('lets unsealed fields be rewritten, as the option says', async () => {
    await withClient('mysql2 pool', {}, async ({ client }, { console }) => {
      await migrate(client, WITHOUT);
      await mysqlStore(client).insert({ ...RECORD, revokedAt: 5 });
      await console.rows("UPDATE keyscope_keys SET revoked_at = NULL, name = 'other'");
      expect(await console.value('SELECT name FROM keyscope_keys')).toBe('other');
      await console.rows('DELETE FROM keyscope_keys');
    });
  });

  test.each([{ trigger: false }, { triggers: 'no' }, { triggers: null }, null, 5])(
    'is not created for the options %j',
    async (options) => {
      await withClient('mysql2 pool', {}, async ({ client }, { console }) => {
        const run = async (to: MysqlClient) => migrate(to, options as SchemaOptions);
        await expect(run(client)).rejects.toThrow(TypeError);
        await expect(run(client)).rejects.toThrow(/^migrate: /);
        expect(await console.rows('SHOW TABLES')).toEqual([]);
      });
    },
  );
});
