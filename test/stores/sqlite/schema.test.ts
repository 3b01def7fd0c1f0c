import { sqliteStore } from 'keyscope/stores/sqlite';
import { describe, expect, test } from 'vitest';
import { CHANGING, columnOf, FIXED } from '../../support/columns.ts';
import { RECORD } from '../../support/records.ts';
import { another, readValue, stocked } from '../../support/sqlite-databases.ts';

const IS_FIXED = 'only revoked_at, retire_at, last_used_at and scopes_used of a key ever change';

describe('the table', () => {
  test('has a column for each field of a record, and those of the tests are all', () => {
    const { db } = stocked();
    const columns = db.prepare("SELECT name FROM pragma_table_info('keyscope_keys')").all();
    const names = columns.map(({ name }) => name);
    expect(names).toEqual(Object.keys(RECORD).map(columnOf));
    expect([...FIXED, ...CHANGING].sort()).toEqual(names.sort());
  });

  test.each(FIXED)('refuses an UPDATE of %s', (column) => {
    const { db } = stocked();
    const before = db.prepare('SELECT * FROM keyscope_keys').all();
    const other = column.endsWith('_at') ? '77' : "'[]'";
    // Another value, the same one, and beside a column that may change.
    const sets = [
      `${column} = ${other}`,
      `${column} = ${column}`,
      `revoked_at = 5, ${column} = ${other}`,
    ];
    for (const set of sets) {
      for (const verb of ['UPDATE', 'UPDATE OR REPLACE', 'UPDATE OR IGNORE']) {
        const update = () => db.exec(`${verb} keyscope_keys SET ${set}`);
        expect(update).toThrow(`keyscope: ${IS_FIXED}`);
      }
    }
    expect(db.prepare('SELECT * FROM keyscope_keys').all()).toEqual(before);
  });

  test('lets the four others change', () => {
    const { db } = stocked();
    db.exec(`UPDATE keyscope_keys
      SET revoked_at = 2, retire_at = 3, last_used_at = 4, scopes_used = '{}'`);
    const changed = 'SELECT count(*) FROM keyscope_keys WHERE revoked_at = 2 AND last_used_at = 4';
    expect(readValue(db, changed)).toBe(1);
  });

  test.each(['revoked_at', 'retire_at'])('refuses to clear or move %s', (mark) => {
    const { db } = stocked();
    db.exec(`UPDATE keyscope_keys SET ${mark} = 5`);
    for (const to of ['NULL', '4', '6']) {
      expect(() => db.exec(`UPDATE keyscope_keys SET ${mark} = ${to}`)).toThrow('are written once');
    }
    expect(readValue(db, `SELECT ${mark} FROM keyscope_keys`)).toBe(5);
  });

  test('is STRICT, and its lists are JSON', () => {
    const { db } = stocked();
    for (const edit of ["revoked_at = 'soon'", 'last_used_at = 1.5', "scopes_used = x'7b7d'"]) {
      expect(() => db.exec(`UPDATE keyscope_keys SET ${edit}`)).toThrow(/cannot store/);
    }
    for (const edit of ["scopes_used = 'none'", "scopes_used = '[]'", "scopes_used = ''"]) {
      expect(() => db.exec(`UPDATE keyscope_keys SET ${edit}`)).toThrow(/CHECK/);
    }
    db.exec('DROP TRIGGER keyscope_keys_update');
    for (const column of ['scopes', 'accessible_entities', 'metadata']) {
      for (const json of ['none', '"text"', '5', 'null', column === 'metadata' ? '[]' : '{}']) {
        expect(() => db.exec(`UPDATE keyscope_keys SET ${column} = '${json}'`)).toThrow(/CHECK/);
      }
    }
  });

  test('leaves columns and triggers of the service alone', () => {
    const { db, store } = stocked();
    db.exec("ALTER TABLE keyscope_keys ADD COLUMN team TEXT DEFAULT 'blue'");
    db.exec('CREATE TABLE log (what TEXT)');
    db.exec(`CREATE TRIGGER seen AFTER UPDATE ON keyscope_keys
      BEGIN INSERT INTO log VALUES ('a'), ('b'); END`);
    const again = sqliteStore(db);
    expect(again.findById(RECORD.keyId)).toEqual(RECORD);
    // What a trigger of theirs writes is not counted as ours.
    expect(again.markEnded(RECORD.keyId, { revokedAt: 5 })).toBe(true);
    expect(store.markEnded(RECORD.keyId, { revokedAt: 5 })).toBe(false);
    again.touch([{ keyId: RECORD.keyId, lastUsedAt: 7, scopesUsed: {} }]);
    again.insert(another(1));
    const teams = db.prepare('SELECT DISTINCT team FROM keyscope_keys').all();
    expect(teams.map(({ team }) => team)).toEqual(['blue']);
    const ended = { ...RECORD, revokedAt: 5, lastUsedAt: 7 };
    expect(again.findById(RECORD.keyId)).toEqual(ended);
    expect(store.findById(RECORD.keyId)).toEqual(ended);
  });
});

// By its rowid a row could be replaced, which asks no trigger of the row that is deleted, and so
// lose its mark.
describe.each([
  ['OFF', 'rowid'],
  ['ON', '_rowid_'],
  ['OFF', 'oid'],
])('a row that somebody would replace (recursive_triggers %s, by %s)', (recursive, rowid) => {
  const REVOKED = `(SELECT ${rowid} FROM keyscope_keys WHERE revoked_at IS NOT NULL)`;
  const CONFLICTS = ['OR REPLACE ', '', 'OR IGNORE ', 'OR ROLLBACK ', 'OR FAIL '];
  const OTHER_COLUMNS = `name, seal, entity_uuid, accessible_entities, scopes, justification,
    metadata, created_at, expires_at, revoked_at, retire_at, rotated_from, last_used_at,
    scopes_used`;

  /** Two rows, of which the first is revoked. */
  function guarded() {
    const { db, store } = stocked();
    // A column of the service's own must not hide the rowid from the triggers.
    if (rowid === '_rowid_') db.exec('ALTER TABLE keyscope_keys ADD COLUMN rowid TEXT');
    db.exec(`PRAGMA recursive_triggers = ${recursive}`);
    store.insert(another(1));
    store.markEnded(RECORD.keyId, { revokedAt: 5 });
    const rows = () => db.prepare('SELECT _rowid_, * FROM keyscope_keys ORDER BY key_id').all();
    const before = rows();
    function expectRefusal(sql: string, why: string): void {
      expect(() => db.exec(sql), sql).toThrow(`keyscope: ${why}`);
      expect(rows(), sql).toEqual(before);
    }
    return { db, store, expectRefusal };
  }

  /** What follows INSERT for a copy of the first row that is not revoked, at a place if given. */
  function copy(keyId: string, digest: string, place?: string): string {
    const name = place === undefined ? '' : `${rowid}, `;
    const value = place === undefined ? '' : `${place}, `;
    const others = OTHER_COLUMNS.replace('revoked_at', 'NULL');
    return `INTO keyscope_keys (${name}key_id, digest, ${OTHER_COLUMNS})
      SELECT ${value}'${keyId}', '${digest}', ${others}
      FROM keyscope_keys WHERE key_id = '${RECORD.keyId}'`;
  }

  test('is not deleted', () => {
    const { expectRefusal } = guarded();
    const why = 'keys are revoked and never deleted';
    expectRefusal('DELETE FROM keyscope_keys', why);
    expectRefusal(`DELETE FROM keyscope_keys WHERE key_id = '${RECORD.keyId}'`, why);
  });

  test('is not replaced by a row that is inserted', () => {
    const { expectRefusal } = guarded();
    const inserts = [
      copy(RECORD.keyId, 's1$new'),
      copy('new', RECORD.digest),
      copy(RECORD.keyId, RECORD.digest),
    ];
    for (const place of [REVOKED, `CAST(${REVOKED} AS TEXT)`, `${REVOKED} + 0.0`]) {
      inserts.push(copy('new', 's1$new', place));
      inserts.push(copy(RECORD.keyId, RECORD.digest, place));
    }
    const actions = [
      'NOTHING',
      'UPDATE SET revoked_at = NULL',
      'UPDATE SET scopes = excluded.scopes',
    ];
    const why = 'a key with this id or digest exists already';
    for (const into of inserts) {
      for (const or of CONFLICTS) expectRefusal(`INSERT ${or}${into}`, why);
      expectRefusal(`REPLACE ${into}`, why);
      for (const action of actions) {
        expectRefusal(`INSERT ${into} ON CONFLICT DO ${action}`, why);
      }
    }
  });

  test('is not replaced by a row that is moved to its place', () => {
    const { store, expectRefusal } = guarded();
    const places = [REVOKED, `CAST(${REVOKED} AS TEXT)`, '77', '-1'];
    const sets = [
      `key_id = '${RECORD.keyId}'`,
      `digest = '${RECORD.digest}'`,
      ...places.map((place) => `${rowid} = ${place}`),
      `${rowid} = ${REVOKED}, last_used_at = 9`,
    ];
    const where = `WHERE key_id = '${another(1).keyId}'`;
    for (const set of sets) {
      for (const or of CONFLICTS) {
        expectRefusal(`UPDATE ${or}keyscope_keys SET ${set} ${where}`, IS_FIXED);
      }
    }
    expect(store.findById(RECORD.keyId)).toEqual({ ...RECORD, revokedAt: 5 });
  });

  test('is in the way of no other row that brings a rowid of its own', () => {
    const { db, store } = guarded();
    // As when a dump is read. Afterwards keys are made as ever.
    db.exec(`INSERT ${copy('dumped', 's1$dumped', '1000')}`);
    store.insert(another(2));
    expect(readValue(db, 'SELECT max(_rowid_) FROM keyscope_keys')).toBe(1001);
  });
});
