import type { D1Client } from 'keyscope/stores/d1';
import { d1Store } from 'keyscope/stores/d1';
import { beforeAll, expect, test } from 'vitest';
import { NEVER_CHANGES, NEVER_DELETED } from '../../../../src/stores/schema/versions.ts';
import { CHANGING, FIXED } from '../../../support/columns.ts';
import { another, RECORD, revokeAt } from '../../../support/d1-records.ts';
import { OTHER, OWN } from '../../../support/keyring.ts';
import { databases, describeWithWorkerd, SLOW, type Sql, sqlOf } from '../../../support/workerd.ts';

describeWithWorkerd('the table', SLOW, () => {
  const fresh = databases();
  let db: D1Client;
  let sql: Sql;
  beforeAll(async () => {
    db = await fresh();
    sql = sqlOf(db);
    await d1Store(db).insert(RECORD);
  });

  test('has the columns of the tests', async () => {
    const columns = await sql("SELECT name FROM pragma_table_info('keyscope_keys')");
    const names = columns.map(({ name }) => String(name));
    expect(names).toEqual([...FIXED, ...CHANGING]);
  });

  test.each(FIXED)('rejects an UPDATE of %s', async (column) => {
    const other = column.endsWith('_at') || column === 'format' ? '77' : "'[]'";
    const sets = [
      `${column} = ${other}`,
      `${column} = ${column}`,
      `last_used_at = 5, ${column} = ${other}`,
    ];
    for (const set of sets) {
      await expect(sql(`UPDATE keyscope_keys SET ${set}`), set).rejects.toThrow(NEVER_CHANGES);
    }
  });

  test('rejects deletes, and statements that would replace or move a row', async () => {
    const deleting = sql('DELETE FROM keyscope_keys');
    await expect(deleting).rejects.toThrow(NEVER_DELETED);
    // REPLACE deletes the row with this rowid, and fires no trigger for it.
    const others = [...FIXED, 'withdrawn', 'scopes_used'].filter(
      (name) => name !== 'key_id' && name !== 'digest',
    );
    const replacing = [
      'INSERT OR REPLACE INTO keyscope_keys SELECT * FROM keyscope_keys',
      `INSERT OR REPLACE INTO keyscope_keys (rowid, key_id, digest, ${others})
        SELECT rowid, 'another', 's1$another', ${others} FROM keyscope_keys`,
    ];
    for (const insert of replacing) {
      await expect(sql(insert), insert).rejects.toThrow('exists already');
    }
    for (const or of ['OR REPLACE', 'OR IGNORE', '']) {
      const moving = sql(`UPDATE ${or} keyscope_keys SET rowid = rowid + 1`);
      await expect(moving, or).rejects.toThrow(NEVER_CHANGES);
    }
    expect(await sql('SELECT key_id FROM keyscope_keys')).toEqual([{ key_id: RECORD.keyId }]);
    expect(await d1Store(db).findById(RECORD.keyId)).toEqual(RECORD);
  });
});

describeWithWorkerd('a table with an added column and trigger', SLOW, () => {
  const fresh = databases();

  // `test/stores/sqlite/schema.test.ts` tests every rule, edit by edit. Here are those whose SQL an
  // older SQLite may lack.
  test.each([
    ['seal', "seal = 'other'", "seal = 'other', revoked_at = 5"],
    ['revoked_at', 'revoked_at = NULL', 'revoked_at = 5'],
    ['revoked_at', "revoked_at = 6, seal = 'other'", "ended_by = 'x', seal = 'other'"],
    ['retire_at', 'retire_at = 9', 'retire_at = 6'],
    ['withdrawn', "withdrawn = '[]'", `withdrawn = '["${OTHER}","${OWN}"]'`],
    ['ended_by', "ended_by = 'x'", "ended_by = 'x', suspended_at = 5"],
    ['changed_at', 'changed_at = 77', 'changed_at = 77, suspended_at = 5'],
    ['suspended_at', 'suspended_at = 9007199254740993', 'suspended_at = 8640000000000000'],
  ])('rejects an UPDATE of %s that no mark makes', async (column, refused, passes) => {
    const db = await fresh();
    const sql = sqlOf(db);
    await d1Store(db).insert(RECORD);
    if (column === 'revoked_at') await sql('UPDATE keyscope_keys SET revoked_at = 5');
    if (column === 'retire_at') await sql('UPDATE keyscope_keys SET retire_at = 6');
    await sql(`UPDATE keyscope_keys SET withdrawn = '["${OTHER}"]'`);
    const why = /only the marks|are never undone|only together with a mark|CHECK/;
    await expect(sql(`UPDATE keyscope_keys SET ${refused}`)).rejects.toThrow(why);
    await sql(`UPDATE keyscope_keys SET ${passes}`);
  });

  test("keeps the service's columns and triggers", async () => {
    const db = await fresh();
    const sql = sqlOf(db);
    const store = d1Store(db);
    await store.insert(RECORD);
    await sql("ALTER TABLE keyscope_keys ADD COLUMN team TEXT DEFAULT 'blue'");
    await sql('ALTER TABLE keyscope_keys ADD COLUMN id INTEGER');
    await sql('CREATE TABLE log (what TEXT)');
    await sql(`CREATE TRIGGER seen AFTER UPDATE ON keyscope_keys
      BEGIN INSERT INTO log VALUES ('a'), ('b'); END`);
    const again = d1Store(db);
    expect(await again.findById(RECORD.keyId)).toEqual(RECORD);
    // Rows that the service's triggers write do not count.
    expect(await again.mark(RECORD.keyId, revokeAt(5))).toBe(true);
    expect(await store.mark(RECORD.keyId, revokeAt(5))).toBe(false);
    const use = { lastUsedAt: 7, scopesUsed: { 'a:b': 7 } };
    await again.touch([{ keyId: RECORD.keyId, ...use }]);
    await again.insert(another(1));
    const theirs = await sql('SELECT DISTINCT team, id FROM keyscope_keys');
    expect(theirs).toEqual([{ team: 'blue', id: null }]);
    expect(await store.findById(RECORD.keyId)).toEqual({
      ...RECORD,
      revokedAt: 5,
      changedAt: 5,
      seal: 'end',
      ...use,
    });
  });
});
