import { beforeAll, describe, expect, test } from 'vitest';
import { CHANGING, columnOf, FIXED } from '../../support/columns.ts';
import { OTHER, OWN } from '../../support/keyring.ts';
import { sharedPglite } from '../../support/postgres-clients.ts';
import { another, describeKind, RECORD, using, value } from '../../support/postgres-place.ts';

const IS_FIXED =
  'keyscope: only the marks and the usage of a key ever change; the seal only as it is revoked';

/** Other values of each column that never changes. */
const OTHERS: Readonly<Record<string, readonly string[]>> = {
  format: ['2', 'format + 1'],
  key_id: [`'${OTHER}'`],
  prefix: ["'other'", 'upper(prefix)', "prefix || ' '", "''"],
  hint: ["'AAAA'", 'lower(hint)', "''"],
  name: ["'other'", 'upper(name)', "name || ' '", "''"],
  digest: ["'s1$00'", 'upper(digest)', "digest || ' '"],
  entity_id: [`'${OTHER}'`, 'upper(entity_id)'],
  accessible_entities: [
    `ARRAY['${OWN}']`,
    "'{}'",
    `accessible_entities || '${OTHER}'::text`,
    "array_append(accessible_entities, 'ORG')",
  ],
  scopes: ["ARRAY['*:*']", "'{}'", "scopes || 'threats:write'::text", 'array_append(scopes, NULL)'],
  justification: ["'because'", "' '", 'NULL'],
  metadata: ["'{}'", `'{"a":"é🦊","some_name":"y"}'`],
  created_at: ['created_at + 1', '0'],
  created_by: ["'somebody'", "''", 'NULL'],
  expires_at: ['1', '0'],
  rotated_from: [`'${OTHER}'`],
  root_key_id: [`'${OTHER}'`],
  issued_under: ["'00000000-0000-4000-8000-00000000000f'"],
  trust: ["'ab'", "''"],
};

const OF_OTHER = `FROM keyscope_keys WHERE key_id = '${OTHER}'`;

const MAX_TIME = 8_640_000_000_000_000;
const TIMES = CHANGING.concat(FIXED).filter((column) => column.endsWith('_at'));

// PGlite takes seconds to start.
beforeAll(sharedPglite, 60_000);

describe.each(['PGlite', 'pg Pool of 10'])('with %s', (kind) => {
  describeKind(kind)('the table', () => {
    const used = using(kind);
    const table = () => used.sql('SELECT * FROM keyscope_keys ORDER BY key_id');
    beforeAll(() => used.store.insert(RECORD));

    /** Inserts a row of the least that a key has, with one column as typed by hand. */
    function insertWith(column: string, to: string): Promise<unknown> {
      const least = {
        format: '1',
        key_id: `'${OTHER}'`,
        prefix: "'acme'",
        hint: "'KrPP'",
        name: "'x'",
        digest: "'x'",
        entity_id: `'${OTHER}'`,
        accessible_entities: "'{}'",
        scopes: "'{}'",
        metadata: "'{}'",
        created_at: '1',
        root_key_id: `'${OTHER}'`,
        withdrawn: "'{}'",
        scopes_used: "'{}'",
      };
      const all = { ...least, [column]: to };
      const columns = Object.keys(all).join();
      const values = Object.values(all).join();
      return used.sql(`INSERT INTO keyscope_keys (${columns}) VALUES (${values})`);
    }

    test('has a column for each field of a record', async () => {
      const columns = await used.sql(`
        SELECT attname FROM pg_attribute
        WHERE attrelid = 'keyscope_keys'::regclass AND attnum > 0 AND NOT attisdropped
        ORDER BY attnum`);
      const expected = Object.keys(RECORD).map(columnOf);
      expect(columns.map(({ attname }) => attname)).toEqual(expected);
      expect(Object.keys(OTHERS)).toEqual(FIXED);
      expect([...FIXED, ...CHANGING]).toEqual(expected);
    });

    test.each([
      'keyscope_keys.digest',
      'keyscope_keys.prefix',
      'keyscope_keys.entity_id',
      'keyscope_keys.accessible_entities',
      'keyscope_keys.withdrawn',
      'keyscope_addressing.prefix',
      'keyscope_addressing.entity_id',
    ])('compares and sorts %s byte for byte', async (name) => {
      const [table, column] = name.split('.');
      const collation = `
          SELECT collname FROM pg_attribute JOIN pg_collation c ON c.oid = attcollation
          WHERE attrelid = '${table}'::regclass AND attname = '${column}'`;
      expect(await value(used.sql, collation)).toBe('C');
    });

    test.each(FIXED)('rejects every UPDATE of %s', async (column) => {
      const before = await table();
      for (const to of OTHERS[column] ?? []) {
        const others = to.replace(
          /^(?=\w+ (?:\|\||\+))|(?<=^(?:upper|lower|array_append)\()/,
          'keyscope_keys.',
        );
        const own = `WHERE key_id = '${RECORD.keyId}'`;
        for (const update of [
          `UPDATE keyscope_keys SET ${column} = ${to} ${own}`,
          `UPDATE keyscope_keys SET revoked_at = 5, ${column} = ${to} ${own}`,
          `UPDATE keyscope_keys SET suspended_at = 5, ${column} = ${to} ${own}`,
          `INSERT INTO keyscope_keys SELECT * FROM keyscope_keys ${own}
            ON CONFLICT (key_id) DO UPDATE SET ${column} = ${others}`,
        ]) {
          await expect(used.sql(update), update).rejects.toThrow(IS_FIXED);
        }
      }
      expect(await table()).toEqual(before);
    });

    test('accepts an UPDATE of marks and usage, or one that changes nothing', async () => {
      await used.store.insert(another(1));
      const where = `WHERE key_id = '${another(1).keyId}'`;
      await used.sql(`
        UPDATE keyscope_keys SET name = name, scopes = scopes, expires_at = NULL, seal = 'ef',
          revoked_at = 2, suspended_at = 3, retire_at = 4, withdrawn = '{${OTHER}}',
          ended_by = 'ada', end_reason = 'lost', changed_at = 5,
          last_used_at = 6, scopes_used = '{"a:b":7}'
        ${where}`);
      expect(await used.store.findById(another(1).keyId)).toEqual({
        ...another(1),
        seal: 'ef',
        revokedAt: 2,
        suspendedAt: 3,
        retireAt: 4,
        withdrawn: [OTHER],
        endedBy: 'ada',
        endReason: 'lost',
        changedAt: 5,
        lastUsedAt: 6,
        scopesUsed: { 'a:b': 7 },
      });
      await used.sql(`UPDATE keyscope_keys SET revoked_at = revoked_at, seal = seal ${where}`);
    });

    test('rejects what a trigger of the service makes of an UPDATE', async () => {
      const before = await table();
      await used.sql(`
        CREATE FUNCTION widen() RETURNS trigger LANGUAGE plpgsql AS
          'BEGIN NEW.scopes = ''{*:*}''; RETURN NEW; END';
        CREATE TRIGGER zz_widen BEFORE UPDATE ON keyscope_keys
          FOR EACH ROW EXECUTE FUNCTION widen()`);
      await expect(used.sql('UPDATE keyscope_keys SET last_used_at = 9')).rejects.toThrow(IS_FIXED);
      await used.sql('DROP TRIGGER zz_widen ON keyscope_keys');
      expect(await table()).toEqual(before);
    });

    test('accepts only ids that are ids, lists of their kind, and whole numbers', async () => {
      const wrong: Readonly<Record<string, readonly string[]>> = {
        format: ["'x'", '1e10', 'NULL'],
        key_id: ["'x'", "''", 'NULL'],
        prefix: ['NULL'],
        hint: ['NULL'],
        name: ['NULL'],
        digest: ['NULL', `'${RECORD.digest}'`],
        entity_id: ["''", "'.'", 'NULL'],
        accessible_entities: ["'x'", "'{..}'", 'NULL'],
        scopes: ["'x'", 'NULL'],
        metadata: ["'[]'", "'5'", "'null'", "'x'", 'NULL'],
        created_at: ["'soon'", 'NULL', '9223372036854775808'],
        root_key_id: ["'x'", 'NULL'],
        withdrawn: ["'x'", `'{${OTHER}}'`, 'NULL'],
        scopes_used: ["'[]'", `'"text"'`, 'NULL'],
      };
      for (const [column, values] of Object.entries(wrong)) {
        for (const to of values) {
          await expect(insertWith(column, to), `${column} = ${to}`).rejects.toThrow();
        }
      }
    });

    test.each(TIMES)('accepts as %s only what a Date can hold', async (column) => {
      for (const beyond of [MAX_TIME + 1, -MAX_TIME - 1]) {
        const said = `keyscope_keys_${column}_check`;
        await expect(insertWith(column, String(beyond))).rejects.toThrow(said);
      }
      for (const last of [MAX_TIME, -MAX_TIME]) {
        await insertWith(column, String(last));
        expect(await value(used.sql, `SELECT ${column}::text ${OF_OTHER}`)).toBe(String(last));
        await used.sql(`
          ALTER TABLE keyscope_keys DISABLE TRIGGER keyscope_keys_delete;
          DELETE ${OF_OTHER};
          ALTER TABLE keyscope_keys ENABLE TRIGGER keyscope_keys_delete`);
      }
    });

    test("keeps the service's columns and triggers", async () => {
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
      // Rows that the service's triggers write do not count.
      const mark = { kind: 'revoke', at: 5, by: null, reason: null, seal: null } as const;
      const ids = [record.keyId, record.keyId, OTHER];
      const ended = ids.map(async (id) => used.store.mark(id, mark));
      expect((await Promise.all(ended)).sort()).toEqual([false, false, true]);
      await used.store.touch([{ keyId: record.keyId, lastUsedAt: 7, scopesUsed: {} }]);
      expect(await used.store.findById(record.keyId)).toEqual({
        ...record,
        seal: null,
        revokedAt: 5,
        changedAt: 5,
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
