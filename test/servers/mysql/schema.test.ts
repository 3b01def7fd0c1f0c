import type { KeyStore } from 'keyscope';
import { migrate, mysqlStore } from 'keyscope/stores/mysql';
import { MIGRATIONS } from 'keyscope/stores/schema';
import { storeContract } from 'keyscope/testing';
import { beforeAll, expect, test } from 'vitest';
import { CHANGING, columnOf, FIXED } from '../../support/columns.ts';
import { OTHER } from '../../support/keyring.ts';
import { describeMysql, revokeAt, SLOW, usePlace, withClient } from '../../support/mysql-place.ts';
import { RECORD } from '../../support/records.ts';

/** The least that a row has, as SQL. */
const LEAST: Readonly<Record<string, string>> = {
  format: '1',
  key_id: "'x'",
  prefix: "'other'",
  hint: "'x'",
  name: "'x'",
  digest: "'x'",
  entity_id: "'x'",
  accessible_entities: "'[]'",
  scopes: "'[]'",
  metadata: "'{}'",
  created_at: '1',
  root_key_id: "'x'",
  withdrawn: "'[]'",
  scopes_used: "'{}'",
};

describeMysql('the table', SLOW, () => {
  const place = usePlace('mysql2 connection');
  beforeAll(() => place.store.insert(RECORD));

  test('has a column for each field of a record, and the tests cover all of them', async () => {
    const columns = await place.rows('SHOW COLUMNS FROM keyscope_keys');
    const expected = Object.keys(RECORD).map(columnOf);
    // The last column is computed, and cannot be written.
    expect(columns.map(({ Field }) => Field)).toEqual([...expected, 'ended_at']);
    expect([...FIXED, ...CHANGING].sort()).toEqual(expected.sort());
  });

  test('is InnoDB, in utf8mb4, and compares bytes', async () => {
    const [row] = await place.rows("SHOW TABLE STATUS LIKE 'keyscope_keys'");
    expect(row).toMatchObject({ Engine: 'InnoDB', Collation: 'utf8mb4_bin' });
    const columns = await place.rows('SHOW FULL COLUMNS FROM keyscope_keys');
    const collations = new Set(columns.map(({ Collation }) => Collation));
    expect(collations).toEqual(new Set(['ascii_bin', 'utf8mb4_bin', null]));
    // Neither character set nor collation: bytes.
    const types = new Map(columns.map(({ Field, Type }) => [Field, Type]));
    expect(types.get('digest')).toBe('varbinary(255)');
    expect(types.get('prefix')).toBe('varbinary(20)');
    expect(types.get('entity_id')).toBe('varbinary(64)');
  });

  /** An INSERT of a new row with these columns. */
  function insertRow(given: Readonly<Record<string, string>>): Promise<unknown> {
    const columns = { ...LEAST, ...given };
    const names = Object.keys(columns).join(', ');
    const values = Object.values(columns).join(', ');
    return place.rows(`INSERT INTO keyscope_keys (${names}) VALUES (${values})`);
  }

  test.each([
    ['scopes', "'{}'"],
    ['accessible_entities', "'{}'"],
    ['withdrawn', "'{}'"],
    ['metadata', "'[]'"],
    ['scopes_used', "'[]'"],
  ])('rejects a new row whose %s are not JSON of their kind', async (column, otherKind) => {
    for (const json of ["'none'", `'"text"'`, "'5'", "'null'", "''", otherKind]) {
      const insert = insertRow({ [column]: json });
      await expect(insert, `${column} = ${json}`).rejects.toThrow(/constraint/i);
    }
  });

  test.each([
    'created_at',
    'expires_at',
    'revoked_at',
    'suspended_at',
    'retire_at',
    'changed_at',
    'last_used_at',
  ])(
    'rejects a new row whose %s is not a time of a Date, and accepts the first and the last',
    async (at) => {
      for (const time of ['8640000000000001', '-8640000000000001', '1 << 60']) {
        await expect(insertRow({ [at]: time }), time).rejects.toThrow(/constraint/i);
      }
      for (const time of ['8640000000000000', '-8640000000000000']) {
        const keyId = `'${globalThis.crypto.randomUUID()}'`;
        await insertRow({ [at]: time, key_id: keyId, digest: keyId });
      }
    },
  );

  test('rejects a new row without a required field', async () => {
    const nullable = Object.entries(RECORD)
      .filter(([field, value]) => value === null || field === 'justification')
      .map(([field]) => columnOf(field));
    const nullableToo = ['seal', 'created_by', 'ended_at'];
    const columns = await place.rows('SHOW COLUMNS FROM keyscope_keys');
    const takeNull = columns.filter(({ Null }) => Null === 'YES').map(({ Field }) => Field);
    expect(takeNull.sort()).toEqual([...nullable, ...nullableToo].sort());
  });

  test('finds no prefix by another one', async () => {
    const find = (prefix: string) =>
      place.rows(`SELECT key_id FROM keyscope_keys WHERE prefix = '${prefix}'`);
    expect(await find('ACME')).toEqual([]);
    expect(await find('acme ')).toEqual([]);
    expect(await find('acme')).toHaveLength(1);
  });

  test('finds no digest by another one', async () => {
    const find = (digest: string) =>
      place.rows(`SELECT key_id FROM keyscope_keys WHERE digest = '${digest}'`);
    expect(await find(RECORD.digest.toUpperCase())).toEqual([]);
    expect(await find(`${RECORD.digest} `)).toEqual([]);
    expect(await find(RECORD.digest)).toHaveLength(1);
  });
});

describeMysql('a table that the service has changed', SLOW, () => {
  test('keeps its columns and triggers', async () => {
    await withClient('mysql2 pool', {}, async ({ client }, { console }) => {
      await migrate(client);
      await console.rows(
        "ALTER TABLE keyscope_keys ADD COLUMN team VARCHAR(9) DEFAULT 'blue' FIRST",
      );
      await console.rows('CREATE TABLE log (what TEXT)');
      await console.rows(`CREATE TRIGGER seen AFTER UPDATE ON keyscope_keys
        FOR EACH ROW INSERT INTO log VALUES ('a'), ('b')`);
      const store = mysqlStore(client);
      await store.insert(RECORD);
      expect(await store.findById(RECORD.keyId)).toEqual(RECORD);
      // Rows that the service's triggers write do not count.
      expect(await store.mark(RECORD.keyId, revokeAt(5))).toBe(true);
      expect(await store.mark(OTHER, revokeAt(5))).toBe(false);
      await store.touch([{ keyId: RECORD.keyId, lastUsedAt: 7, scopesUsed: {} }]);
      const rows = await console.rows('SELECT team, last_used_at FROM keyscope_keys');
      expect(rows).toEqual([{ team: 'blue', last_used_at: 7 }]);
    });
  });

  /** The names of the contract's tests of look-ups by digest that fail. */
  async function brokenPromises(store: KeyStore): Promise<string[]> {
    const tests: (readonly [string, () => Promise<void>])[] = [];
    storeContract(
      (name, run) => tests.push([name, run]),
      () => store,
    );
    const failed: string[] = [];
    const ofDigests = tests.filter(([name]) => name.startsWith('findByDigest'));
    expect(ofDigests.length).toBeGreaterThan(3);
    for (const [name, run] of ofDigests) await run().catch(() => failed.push(name));
    return failed;
  }

  // The reason for the schema's own collations.
  test.each([
    ['case', 'ascii_general_ci', (digest: string) => digest.toUpperCase()],
    ['spaces', 'ascii_bin', (digest: string) => `${digest} `],
  ])(
    'breaks the contract if its collation no longer tells digests apart by %s',
    async (...given) => {
      const [, collation, alike] = given;
      const column = `VARCHAR(255) CHARACTER SET ascii COLLATE ${collation}`;
      await withClient('mysql2 pool', {}, async ({ client }, { console }) => {
        for (const sql of MIGRATIONS.mysql.flat()) {
          await console.rows(sql.replace('VARBINARY(255)', column));
        }
        await console.rows('INSERT INTO keyscope_schema VALUES (1, 1, 1, NULL)');
        const store = mysqlStore(client);
        const failed = await brokenPromises(store);
        expect(failed).toEqual(['findByDigest distinguishes digests by case and spaces']);
        // So does the database, for a digest that no key has.
        await store.insert(RECORD);
        const digest = alike(RECORD.digest);
        const find = `SELECT key_id FROM keyscope_keys WHERE digest = '${digest}'`;
        expect(await console.rows(find)).toHaveLength(1);
      });
    },
  );
});
