import type { KeyStore } from 'keyscope';
import { migrate, mysqlStore } from 'keyscope/stores/mysql';
import { MIGRATIONS } from 'keyscope/stores/schema';
import { storeContract } from 'keyscope/testing';
import { beforeAll, expect, test } from 'vitest';
import { CHANGING, columnOf, FIXED } from '../../support/columns.ts';
import { OTHER } from '../../support/keyring.ts';
import { another, describeMysql, SLOW, usePlace, withClient } from '../../support/mysql-place.ts';
import { RECORD } from '../../support/records.ts';

const IS_FIXED =
  'keyscope: only revoked_at, retire_at, last_used_at and scopes_used of a key ever change';

/**
 * Other values of the type of each column that never changes; with a trailing space where its type
 * can hold one.
 */
const OTHERS: Readonly<Record<string, readonly string[]>> = {
  key_id: [`'${OTHER}'`, 'UPPER(key_id)', "''"],
  name: ["'other'", 'UPPER(name)', "CONCAT(name, ' ')", "''"],
  digest: ["'s1$00'", "REPLACE(digest, 's', 'S')", "CONCAT(digest, ' ')"],
  seal: ["'00'", 'UPPER(seal)', "CONCAT(seal, ' ')", 'NULL'],
  entity_uuid: [`'${OTHER}'`, 'UPPER(entity_uuid)'],
  accessible_entities: [
    `'["${OTHER}"]'`,
    'UPPER(accessible_entities)',
    "CONCAT(accessible_entities, ' ')",
  ],
  scopes: [`'["*:*"]'`, "CONCAT(scopes, ' ')", 'UPPER(scopes)'],
  justification: ["'because'", "' '", 'NULL'],
  metadata: ["'{}'", "CONCAT(metadata, ' ')", 'UPPER(metadata)'],
  created_at: ['created_at + 1', '0'],
  expires_at: ['1', '0'],
  rotated_from: [`'${OTHER}'`],
};

describeMysql('the table', SLOW, () => {
  const place = usePlace('mysql2 connection');
  beforeAll(() => place.store.insert(RECORD));
  const table = () => place.rows('SELECT * FROM keyscope_keys');

  test('has a column for each field of a record, and those of the tests are all', async () => {
    const columns = await place.rows('SHOW COLUMNS FROM keyscope_keys');
    const expected = Object.keys(RECORD).map(columnOf);
    expect(columns.map(({ Field }) => Field)).toEqual(expected);
    expect([...FIXED, ...CHANGING].sort()).toEqual(expected.sort());
    expect(Object.keys(OTHERS)).toEqual(FIXED);
  });

  test('is InnoDB, in utf8mb4, and compares bytes', async () => {
    const [row] = await place.rows("SHOW TABLE STATUS LIKE 'keyscope_keys'");
    expect(row).toMatchObject({ Engine: 'InnoDB', Collation: 'utf8mb4_bin' });
    const columns = await place.rows('SHOW FULL COLUMNS FROM keyscope_keys');
    const collations = new Set(columns.map(({ Collation }) => Collation));
    expect(collations).toEqual(new Set(['ascii_bin', 'utf8mb4_bin', null]));
    // Neither character set nor collation: bytes.
    const digest = columns.find(({ Field }) => Field === 'digest');
    expect(digest).toMatchObject({ Type: 'varbinary(255)', Collation: null });
  });

  test.each(FIXED)('refuses an UPDATE of %s', async (column) => {
    const before = await table();
    for (const to of OTHERS[column] ?? []) {
      const updates = [
        `UPDATE keyscope_keys SET ${column} = ${to}`,
        `UPDATE IGNORE keyscope_keys SET ${column} = ${to}`,
        `UPDATE keyscope_keys SET last_used_at = 5, ${column} = ${to}`,
        `UPDATE keyscope_keys JOIN (SELECT 1) AS one SET ${column} = ${to}`,
      ];
      for (const sql of updates) await expect(place.rows(sql), sql).rejects.toThrow(IS_FIXED);
    }
    expect(await table()).toEqual(before);
  });

  test('lets the four others change', async () => {
    await place.store.insert(another(1));
    const where = `WHERE key_id = '${another(1).keyId}'`;
    await place.rows(`UPDATE keyscope_keys
      SET revoked_at = 2, retire_at = 3, last_used_at = 4, scopes_used = '{"a:b":5}' ${where}`);
    const changed = { revokedAt: 2, retireAt: 3, lastUsedAt: 4, scopesUsed: { 'a:b': 5 } };
    expect(await place.store.findById(another(1).keyId)).toEqual({ ...another(1), ...changed });
    // And what never changes may be said again.
    await place.rows(
      `UPDATE keyscope_keys SET name = name, digest = digest, expires_at = NULL ${where}`,
    );
  });

  test.each(['revoked_at', 'retire_at'])('refuses to clear or move %s', async (mark) => {
    const record = another(mark === 'retire_at' ? 2 : 3);
    await place.store.insert(record);
    const where = `WHERE key_id = '${record.keyId}'`;
    await place.rows(`UPDATE keyscope_keys SET ${mark} = 5 ${where}`);
    for (const to of ['NULL', '4', '6']) {
      for (const verb of ['UPDATE', 'UPDATE IGNORE']) {
        const update = place.rows(`${verb} keyscope_keys SET ${mark} = ${to} ${where}`);
        await expect(update).rejects.toThrow('keyscope: revoked_at and retire_at are written once');
      }
    }
    expect(await place.value(`SELECT ${mark} FROM keyscope_keys ${where}`)).toBe(5);
  });

  test('refuses DELETE, REPLACE, which deletes, and an INSERT that updates', async () => {
    const before = await table();
    const deleting = [
      'DELETE FROM keyscope_keys',
      'DELETE IGNORE FROM keyscope_keys',
      'REPLACE INTO keyscope_keys SELECT * FROM keyscope_keys',
    ];
    for (const sql of deleting) {
      const why = 'keyscope: keys are revoked and never deleted';
      await expect(place.rows(sql), sql).rejects.toThrow(why);
    }
    const updating = `INSERT INTO keyscope_keys SELECT * FROM keyscope_keys AS own
      ON DUPLICATE KEY UPDATE name = 'other'`;
    await expect(place.rows(updating)).rejects.toThrow(IS_FIXED);
    expect(await table()).toEqual(before);
  });

  test('refuses used scopes that are no JSON object', async () => {
    for (const to of ["'none'", "'[]'", "''", "'5'", "'null'"]) {
      const update = place.rows(`UPDATE keyscope_keys SET scopes_used = ${to}`);
      await expect(update, to).rejects.toThrow(/CONSTRAINT/);
    }
  });

  test.each([
    ['scopes', '{}'],
    ['accessible_entities', '{}'],
    ['metadata', '[]'],
  ])('refuses a new row whose %s are not JSON of their kind', async (column, otherKind) => {
    const lists = { scopes: '[]', accessible_entities: '[]', metadata: '{}' };
    for (const json of ['none', '"text"', '5', 'null', otherKind]) {
      const given = { ...lists, [column]: json };
      const names = Object.keys(given).join(', ');
      const values = Object.values(given).map((value) => `'${value}'`);
      const insert = place.rows(`INSERT INTO keyscope_keys
        (key_id, name, digest, entity_uuid, created_at, scopes_used, ${names})
        VALUES ('x', 'x', 'x', 'x', 1, '{}', ${values.join(', ')})`);
      await expect(insert, `${column} = ${json}`).rejects.toThrow(/CONSTRAINT/);
    }
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
      // What a trigger of theirs writes is not counted as ours.
      expect(await store.markEnded(RECORD.keyId, { revokedAt: 5 })).toBe(true);
      expect(await store.markEnded(OTHER, { revokedAt: 5 })).toBe(false);
      await store.touch([{ keyId: RECORD.keyId, lastUsedAt: 7, scopesUsed: {} }]);
      const rows = await console.rows('SELECT team, last_used_at FROM keyscope_keys');
      expect(rows).toEqual([{ team: 'blue', last_used_at: 7 }]);
    });
  });

  /** The names of the contract's tests that fail. */
  async function brokenPromises(store: KeyStore): Promise<string[]> {
    const tests: (readonly [string, () => Promise<void>])[] = [];
    storeContract(
      (name, run) => tests.push([name, run]),
      () => store,
    );
    const failed: string[] = [];
    for (const [name, run] of tests) await run().catch(() => failed.push(name));
    return failed;
  }

  // What the schema's own collations are for.
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
        await console.rows('INSERT INTO keyscope_schema VALUES (1, 1)');
        const store = mysqlStore(client);
        const failed = await brokenPromises(store);
        expect(failed).toEqual(['findByDigest tells digests apart by case and by spaces']);
        // And so does the database, asked for a digest that nobody has.
        await store.insert(RECORD);
        const digest = alike(RECORD.digest);
        const find = `SELECT key_id FROM keyscope_keys WHERE digest = '${digest}'`;
        expect(await console.rows(find)).toHaveLength(1);
      });
    },
  );
});
