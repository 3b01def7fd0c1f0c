import { beforeAll, describe, expect, test } from 'vitest';
import { CHANGING, columnOf, FIXED } from '../../support/columns.ts';
import { OTHER, OWN } from '../../support/keyring.ts';
import { sharedPglite } from '../../support/postgres-clients.ts';
import { another, describeKind, RECORD, using, value } from '../../support/postgres-place.ts';

const IS_FIXED =
  'keyscope: only revoked_at, retire_at, last_used_at and scopes_used of a key ever change';
const NEVER = 'keyscope: keys are revoked and never deleted';

/** Other values of each column that never changes. */
const OTHERS: Readonly<Record<string, readonly string[]>> = {
  key_id: [`'${OTHER}'`],
  name: ["'other'", 'upper(name)', "name || ' '", "''"],
  digest: ["'s1$00'", 'upper(digest)', "digest || ' '"],
  seal: ["'00'", 'upper(seal)', 'NULL'],
  entity_uuid: [`'${OTHER}'`],
  accessible_entities: [
    `ARRAY['${OWN}']::uuid[]`,
    "'{}'",
    `accessible_entities || '${OTHER}'::uuid`,
  ],
  scopes: ["ARRAY['*:*']", "'{}'", "scopes || 'threats:write'::text", 'array_append(scopes, NULL)'],
  justification: ["'because'", "' '", 'NULL'],
  metadata: ["'{}'", `'{"a":"é🦊","some_name":"y"}'`],
  created_at: ['created_at + 1', '0'],
  expires_at: ['1', '0'],
  rotated_from: [`'${OTHER}'`],
};

// It takes seconds to start.
beforeAll(sharedPglite, 60_000);

describe.each(['PGlite', 'pg Pool of 10'])('the table in %s', (kind) => {
  describeKind(kind)('holds', () => {
    const used = using(kind);
    const table = () => used.sql('SELECT * FROM keyscope_keys ORDER BY key_id');
    beforeAll(() => used.store.insert(RECORD));

    test('a column for each field of a record', async () => {
      const columns = await used.sql(`
        SELECT attname FROM pg_attribute
        WHERE attrelid = 'keyscope_keys'::regclass AND attnum > 0 AND NOT attisdropped
        ORDER BY attnum`);
      const expected = Object.keys(RECORD).map(columnOf);
      expect(columns.map(({ attname }) => attname)).toEqual(expected);
      expect(Object.keys(OTHERS)).toEqual(FIXED);
      expect([...FIXED, ...CHANGING].sort()).toEqual(expected.toSorted());
    });

    test('digests that are compared and sorted byte for byte', async () => {
      const collation = `
        SELECT collname FROM pg_attribute JOIN pg_collation c ON c.oid = attcollation
        WHERE attrelid = 'keyscope_keys'::regclass AND attname = 'digest'`;
      expect(await value(used.sql, collation)).toBe('C');
    });

    test.each(FIXED)('%s against every UPDATE', async (column) => {
      const before = await table();
      for (const to of OTHERS[column] ?? []) {
        const others = to.replace(
          /^(?=\w+ (?:\|\||\+))|(?<=^(?:upper|array_append)\()/,
          'keyscope_keys.',
        );
        const own = `WHERE key_id = '${RECORD.keyId}'`;
        for (const update of [
          `UPDATE keyscope_keys SET ${column} = ${to} ${own}`,
          `UPDATE keyscope_keys SET revoked_at = 5, ${column} = ${to} ${own}`,
          `INSERT INTO keyscope_keys SELECT * FROM keyscope_keys ${own}
            ON CONFLICT (key_id) DO UPDATE SET ${column} = ${others}`,
        ]) {
          await expect(used.sql(update), update).rejects.toThrow(IS_FIXED);
        }
      }
      expect(await table()).toEqual(before);
    });

    test('nothing against an UPDATE of the other four, nor one that changes nothing', async () => {
      await used.store.insert(another(1));
      const where = `WHERE key_id = '${another(1).keyId}'`;
      await used.sql(`
        UPDATE keyscope_keys SET name = name, scopes = scopes, expires_at = NULL,
          revoked_at = 2, retire_at = 3, last_used_at = 4, scopes_used = '{"a:b":5}'
        ${where}`);
      const changed = { revokedAt: 2, retireAt: 3, lastUsedAt: 4, scopesUsed: { 'a:b': 5 } };
      expect(await used.store.findById(another(1).keyId)).toEqual({ ...another(1), ...changed });
    });

    test.each(['revoked_at', 'retire_at'])('%s, which is written once', async (mark) => {
      const record = another(mark === 'retire_at' ? 2 : 3);
      await used.store.insert(record);
      const where = `WHERE key_id = '${record.keyId}'`;
      await used.sql(`UPDATE keyscope_keys SET ${mark} = 5 ${where}`);
      for (const to of ['NULL', '4', '6']) {
        const update = used.sql(`UPDATE keyscope_keys SET ${mark} = ${to} ${where}`);
        await expect(update).rejects.toThrow('keyscope: revoked_at and retire_at are written once');
      }
      await used.sql(`UPDATE keyscope_keys SET ${mark} = 5 ${where}`);
      expect(await value(used.sql, `SELECT ${mark}::int FROM keyscope_keys ${where}`)).toBe(5);
    });

    test('its rows against DELETE, TRUNCATE and a row that another trigger changes', async () => {
      const before = await table();
      await expect(used.sql('DELETE FROM keyscope_keys')).rejects.toThrow(NEVER);
      await expect(used.sql('TRUNCATE keyscope_keys')).rejects.toThrow(NEVER);
      await used.sql(`
        CREATE FUNCTION widen() RETURNS trigger LANGUAGE plpgsql AS
          'BEGIN NEW.scopes = ''{*:*}''; RETURN NEW; END';
        CREATE TRIGGER zz_widen BEFORE UPDATE ON keyscope_keys
          FOR EACH ROW EXECUTE FUNCTION widen()`);
      await expect(used.sql('UPDATE keyscope_keys SET last_used_at = 9')).rejects.toThrow(IS_FIXED);
      await used.sql('DROP TRIGGER zz_widen ON keyscope_keys');
      expect(await table()).toEqual(before);
    });

    test('ids that are ids, lists of their kind, and whole numbers', async () => {
      const insert = (column: string, to: string) => {
        const row = {
          key_id: `'${OTHER}'`,
          name: "'x'",
          digest: "'x'",
          entity_uuid: `'${OTHER}'`,
          created_at: '1',
        };
        const lists = {
          accessible_entities: "'{}'",
          scopes: "'{}'",
          metadata: "'{}'",
          scopes_used: "'{}'",
        };
        const all = { ...row, ...lists, [column]: to };
        const columns = Object.keys(all).join();
        const values = Object.values(all).join();
        return used.sql(`INSERT INTO keyscope_keys (${columns}) VALUES (${values})`);
      };
      const wrong: Readonly<Record<string, readonly string[]>> = {
        key_id: ["'x'", "''", 'NULL'],
        entity_uuid: ["'x'", 'NULL'],
        accessible_entities: ["'{x}'", 'NULL'],
        scopes: ["'x'", 'NULL'],
        metadata: ["'[]'", "'5'", "'null'", "'x'", 'NULL'],
        scopes_used: ["'[]'", `'"text"'`, 'NULL'],
        created_at: ["'soon'", 'NULL', '9223372036854775808'],
        digest: ['NULL', `'${RECORD.digest}'`],
      };
      for (const [column, values] of Object.entries(wrong)) {
        for (const to of values)
          await expect(insert(column, to), `${column} = ${to}`).rejects.toThrow();
      }
    });

    test('the columns and triggers of the service as they are', async () => {
      await used.sql(`
        CREATE DOMAIN team AS text NOT NULL DEFAULT 'blue';
        ALTER TABLE keyscope_keys ADD COLUMN team team, ADD COLUMN "Note" text;
        CREATE TABLE log (what text);
        CREATE FUNCTION seen() RETURNS trigger LANGUAGE plpgsql AS
          'BEGIN INSERT INTO log VALUES (''a''), (''b''); RETURN NEW; END';
        CREATE TRIGGER seen BEFORE INSERT OR UPDATE ON keyscope_keys
          FOR EACH ROW EXECUTE FUNCTION seen()`);
      const record = another(4);
      await used.store.insert(record);
      // What a trigger of theirs writes is not counted as ours.
      const ids = [record.keyId, record.keyId, OTHER];
      const ended = ids.map(async (id) => used.store.markEnded(id, { revokedAt: 5 }));
      expect((await Promise.all(ended)).sort()).toEqual([false, false, true]);
      await used.store.touch([{ keyId: record.keyId, lastUsedAt: 7, scopesUsed: {} }]);
      expect(await used.store.findById(record.keyId)).toEqual({
        ...record,
        revokedAt: 5,
        lastUsedAt: 7,
      });
      expect(await used.sql('SELECT DISTINCT team::text, "Note" FROM keyscope_keys')).toEqual([
        { team: 'blue', Note: null },
      ]);
      await used.sql(
        'DROP TRIGGER seen ON keyscope_keys; ALTER TABLE keyscope_keys DROP team, DROP "Note"',
      );
    });
  });
});
