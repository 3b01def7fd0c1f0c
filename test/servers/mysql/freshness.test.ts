import type { KeyRecord, KeyStore } from 'keyscope';
import type { MysqlClient, MysqlLoan, MysqlPool, MysqlStatement } from 'keyscope/stores/mysql';
import { mysqlStore } from 'keyscope/stores/mysql';
import { expect, test } from 'vitest';
import { OTHER, OWN } from '../../support/keyring.ts';
import {
  another,
  DRIVERS,
  describeMysql,
  lending,
  lineageOf,
  OWN_KEYS,
  openClient,
  revokeAt,
  usageOf,
  withClient,
  withoutSight,
} from '../../support/mysql-place.ts';
import { RECORD } from '../../support/records.ts';

/** A record that every look-up finds. */
const FOUND: KeyRecord = { ...RECORD, accessibleEntities: [OWN, OTHER], expiresAt: 9 };

/** Every look-up. */
function lookUps(store: Required<KeyStore>): readonly (() => Promise<unknown>)[] {
  return [
    async () => store.findByDigest([RECORD.digest]),
    async () => store.findById(RECORD.keyId),
    async () => store.list(OWN_KEYS),
    async () => store.list({ ...OWN_KEYS, entityId: OTHER, addressing: true }),
    async () => store.listLineage(lineageOf(RECORD.rootKeyId)),
    async () => store.summarize(1),
    async () => store.listAll({ after: null, limit: 9 }),
    async () => store.listExpiring({ before: 10, after: null, limit: 9 }),
    // A lagging replica, or a transaction from before, does not know a new key.
    async () => store.findByDigest([another(7).digest]),
    async () => store.findById(another(7).keyId),
    // Only the primary may report that no key was marked since then.
    async () => store.listChanged({ since: 1, limit: 9 }),
  ];
}

async function expectRefusals(store: Required<KeyStore>, why: string): Promise<void> {
  for (const lookUp of lookUps(store)) await expect(lookUp).rejects.toThrow(why);
}

/** A client whose server is read-only while its session variable `moved` is 1. */
function moving(client: MysqlClient): MysqlClient {
  function changed({ sql, ...options }: MysqlStatement): MysqlStatement {
    return Object.assign({ sql: sql.replaceAll('@@read_only', 'IFNULL(@moved, 0)') }, options);
  }
  return {
    execute: (statement, values) => client.execute(changed(statement), values),
    query: (statement) => client.query(changed(statement)),
  };
}

describeMysql.each(DRIVERS)('a look-up over a connection of %s', (driver) => {
  const kind = `${driver} connection`;

  // A cluster of pools sends each look-up to another server: on a replica, a revoked key was
  // accepted.
  test('throws if it is sent to a read-only server later', async () => {
    await withClient(kind, {}, async ({ client, query }) => {
      const store = mysqlStore(moving(client));
      await store.insert(FOUND);
      for (const lookUp of lookUps(store)) await lookUp();
      await query('SET @moved = 1');
      await expectRefusals(store, 'Connect to the primary');
    });
  });

  // The character set was asked for at the start only: names were damaged on their way, so that
  // their keys counted as tampered with, and digests were compared in UTF-16.
  test.each([
    'SET NAMES latin1',
    'SET NAMES utf8mb3',
    'SET character_set_results = latin1',
    'SET collation_connection = utf16_general_ci',
  ])('throws after %s, instead of returning damaged texts', async (statement) => {
    await withClient(kind, {}, async ({ client, query }) => {
      const store = mysqlStore(client);
      await store.insert(FOUND);
      await query(statement);
      await expectRefusals(store, 'texts would be damaged');
      // Writes do not depend on the character set.
      await store.insert({ ...another(1), name: 'Füchse 🦊' });
      // On MariaDB, look-ups that were prepared before failed for another collation of utf8mb4.
      await query('SET NAMES utf8mb4');
      expect(await store.findById(another(1).keyId)).toMatchObject({ name: 'Füchse 🦊' });
    });
  });

  // Views were looked for at the start only: every key was unknown.
  test.each([
    'CREATE VIEW keyscope_keys AS SELECT * FROM kept WHERE false',
    'CREATE VIEW keyscope_keys AS SELECT * FROM kept',
    'CREATE ALGORITHM = TEMPTABLE VIEW keyscope_keys AS SELECT * FROM kept LIMIT 0',
    'CREATE TABLE keyscope_keys AS SELECT * FROM kept LIMIT 0',
  ])('throws if something else takes the place of the table: %s', async (statement) => {
    await withClient(kind, {}, async ({ client }, { console }) => {
      const store = mysqlStore(client);
      await store.insert(FOUND);
      await console.rows('RENAME TABLE keyscope_keys TO kept');
      await console.rows(statement);
      await expectRefusals(store, 'If a view has taken the place of the table');
      await expectRefusals(mysqlStore(client), 'If a view has taken the place of the table');
    });
  });

  // On MySQL, where rows do not show an open transaction, it returned the old data.
  test.each([
    ['rows show it', (client: MysqlClient) => client],
    ['rows do not show it', withoutSight],
  ])('throws in a transaction left open if %s, instead of returning old data', async (...given) => {
    const [, change] = given;
    await withClient(kind, {}, async ({ client, query }, { settings }) => {
      const store = mysqlStore(change(client));
      await store.insert(FOUND);
      await query('START TRANSACTION WITH CONSISTENT SNAPSHOT');
      const elsewhere = await openClient('mysql2 pool', settings);
      const other = mysqlStore(elsewhere.client);
      expect(await other.mark(RECORD.keyId, revokeAt(5))).toBe(true);
      await expectRefusals(store, 'look-ups would miss later revocations');
      await query('COMMIT');
      expect(await store.findById(RECORD.keyId)).toMatchObject({ revokedAt: 5 });
      await elsewhere.end();
    });
  });

  test('throws if autocommit was switched off, although writes still commit', async () => {
    await withClient(kind, {}, async ({ client, query }, { settings }) => {
      const store = mysqlStore(client);
      await store.insert(FOUND);
      await query('SET autocommit = 0');
      await store.insert(another(1));
      await store.mark(RECORD.keyId, revokeAt(5));
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

// Such a connection stayed in the pool, and each look-up on it failed.
describeMysql('a mysql2 pool whose connections were all returned inside a transaction', () => {
  const USES: readonly (readonly [string, (store: Required<KeyStore>) => Promise<unknown>])[] = [
    ['look-up', async (store) => store.findByDigest([FOUND.digest])],
    ['list', async (store) => store.list(OWN_KEYS)],
    ['write', async (store) => store.mark(FOUND.keyId, revokeAt(5))],
    ['usage', async (store) => store.touch([usageOf(FOUND, 5)])],
  ];

  const SIGHTS = [
    ['rows show it', (loan: MysqlLoan) => loan],
    ['rows do not show it', (loan: MysqlLoan) => ({ ...loan, ...withoutSight(loan) })],
  ] as const;
  const CASES = USES.flatMap(([name, use]) =>
    SIGHTS.flatMap(([sight, change]) => [
      [name, sight, use, change, false] as const,
      [`${name}, the first of a process`, sight, use, change, true] as const,
    ]),
  );

  test.each(CASES)('is used again by a %s, over a new connection, if %s', async (...given) => {
    const [, , use, change, isFirst] = given;
    await withClient('mysql2 pool', { connectionLimit: 3 }, async ({ client }) => {
      const pool = client as MysqlPool;
      const store = mysqlStore(lending(pool, change));
      await store.insert(FOUND);
      const loans = await Promise.all([1, 2, 3].map(() => pool.getConnection()));
      for (const loan of loans) {
        await loan.query({ sql: 'START TRANSACTION WITH CONSISTENT SNAPSHOT' });
        loan.release();
      }
      await use(isFirst ? mysqlStore(lending(pool, change)) : store);
      // All three were closed.
      const loaned = await Promise.all([1, 2, 3].map(() => pool.getConnection()));
      for (const loan of loaned) {
        // Throws inside a transaction.
        await loan.query({ sql: 'SET TRANSACTION READ WRITE' });
        loan.release();
      }
    });
  });
});
