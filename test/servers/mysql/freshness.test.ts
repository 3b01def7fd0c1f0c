import type { KeyStore } from 'keyscope';
import type { MysqlClient } from 'keyscope/stores/mysql';
import { mysqlStore } from 'keyscope/stores/mysql';
import { expect, test } from 'vitest';
import { OWN } from '../../support/keyring.ts';
import {
  another,
  DRIVERS,
  describeMysql,
  openClient,
  usageOf,
  withClient,
} from '../../support/mysql-place.ts';
import { RECORD } from '../../support/records.ts';

/** Every look-up, each of which finds the record. */
function lookUps(store: KeyStore): readonly (() => Promise<unknown>)[] {
  return [
    async () => store.findByDigest([RECORD.digest]),
    async () => store.findById(RECORD.keyId),
    async () => store.list({ entityUuid: OWN, after: null, limit: 9 }),
    async () => store.summarize(1),
  ];
}

async function expectRefusals(store: KeyStore, why: string): Promise<void> {
  for (const lookUp of lookUps(store)) await expect(lookUp).rejects.toThrow(why);
}

/** A client whose server is read-only whenever its session variable `moved` is 1. */
function moving(client: MysqlClient): MysqlClient {
  return {
    execute({ sql, ...options }, values) {
      const changed = sql.replace('@@read_only', 'IFNULL(@moved, 0)');
      return client.execute(Object.assign({ sql: changed }, options), values);
    },
    query: (statement) => client.query(statement),
  };
}

describeMysql.each(DRIVERS)('a look-up over a connection of %s', (driver) => {
  const kind = `${driver} connection`;

  // A cluster of pools sends each look-up to another server: on a replica, a key passed that was
  // revoked already.
  test('throws if it is sent to a read-only server later', async () => {
    await withClient(kind, {}, async ({ client, query }) => {
      const store = mysqlStore(moving(client));
      await store.insert(RECORD);
      for (const lookUp of lookUps(store)) await lookUp();
      await query('SET @moved = 1');
      await expectRefusals(store, 'connect to the primary');
    });
  });

  test('throws in a transaction that somebody left open, instead of showing the past', async () => {
    await withClient(kind, {}, async ({ client, query }, { settings }) => {
      const store = mysqlStore(client);
      await store.insert(RECORD);
      await query('START TRANSACTION WITH CONSISTENT SNAPSHOT');
      const elsewhere = await openClient('mysql2 pool', settings);
      const other = mysqlStore(elsewhere.client);
      expect(await other.markEnded(RECORD.keyId, { revokedAt: 5 })).toBe(true);
      await expectRefusals(store, 'look-ups would miss later revocations');
      await query('COMMIT');
      expect(await store.findById(RECORD.keyId)).toMatchObject({ revokedAt: 5 });
      await elsewhere.end();
    });
  });

  test('throws if autocommit is off by now, where writes are still committed', async () => {
    await withClient(kind, {}, async ({ client, query }, { settings }) => {
      const store = mysqlStore(client);
      await store.insert(RECORD);
      await query('SET autocommit = 0');
      await store.insert(another(1));
      await store.markEnded(RECORD.keyId, { revokedAt: 5 });
      await store.touch([usageOf(RECORD, 7)]);
      const elsewhere = await openClient('mysql2 connection', settings);
      const other = mysqlStore(elsewhere.client);
      expect(await other.findById(RECORD.keyId)).toMatchObject({ revokedAt: 5, lastUsedAt: 7 });
      expect(await other.findById(another(1).keyId)).toEqual(another(1));
      const find = async () => store.findById(RECORD.keyId);
      await expect(find).rejects.toThrow('autocommit off');
      await elsewhere.end();
    });
  });
});
