import type { DatabaseSync } from 'node:sqlite';
import { sqliteStore } from 'keyscope/stores/sqlite';
import { describe, expect, test } from 'vitest';
import { MARKS_STAY, NEVER_CHANGES, NEVER_DELETED } from '../../../src/stores/schema/versions.ts';
import { CHANGING, columnOf, FIXED } from '../../support/columns.ts';
import { OTHER, THIRD } from '../../support/keyring.ts';
import { RECORD } from '../../support/records.ts';
import { another, readValue, revokeAt, stocked } from '../../support/sqlite-databases.ts';

/** Every way to update a row. The last two would replace or skip conflicting rows. */
const VERBS = ['UPDATE', 'UPDATE OR REPLACE', 'UPDATE OR IGNORE'];

function rowsOf(db: DatabaseSync): unknown {
  return db.prepare('SELECT _rowid_, * FROM keyscope_keys ORDER BY key_id').all();
}

/** Checks that an update is rejected in every form, and changes nothing. */
function expectUpdateRefused(db: DatabaseSync, set: string, why: string | RegExp): void {
  const before = rowsOf(db);
  for (const verb of VERBS) {
    const update = `${verb} keyscope_keys SET ${set}`;
    expect(() => db.exec(update), update).toThrow(why);
  }
  expect(rowsOf(db), set).toEqual(before);
}

describe('the table', () => {
  test('has a column for each field of a record, and the tests cover all of them', () => {
    const { db } = stocked();
    const columns = db.prepare("SELECT name FROM pragma_table_info('keyscope_keys')").all();
    const names = columns.map(({ name }) => name);
    expect(names).toEqual(Object.keys(RECORD).map(columnOf));
    expect([...FIXED, ...CHANGING].sort()).toEqual(names.sort());
  });

  test.each(FIXED)('rejects an UPDATE of %s', (column) => {
    const { db } = stocked();
    const other = column.endsWith('_at') || column === 'format' ? '77' : "'[]'";
    expectUpdateRefused(db, `${column} = ${other}`, `keyscope: ${NEVER_CHANGES}`);
    // Also to the same value, and together with a column that may change.
    expectUpdateRefused(db, `${column} = ${column}`, `keyscope: ${NEVER_CHANGES}`);
    const both = `revoked_at = 5, ${column} = ${other}`;
    expectUpdateRefused(db, both, `keyscope: ${NEVER_CHANGES}`);
  });

  test('lets all others change in one revocation', () => {
    const { db } = stocked();
    const values: Record<string, string> = {
      withdrawn: quoted([OTHER]),
      scopes_used: `'{"a:b":1}'`,
    };
    const sets = CHANGING.map((column) => `${column} = ${values[column] ?? "'2'"}`);
    db.exec(`UPDATE keyscope_keys SET ${sets.join()}`);
    const isNew = sets.map((set) => set.replace('=', 'IS')).join(' AND ');
    expect(readValue(db, `SELECT count(*) FROM keyscope_keys WHERE ${isNew}`)).toBe(1);
  });

  test('is STRICT, and its lists are JSON', () => {
    const { db } = stocked();
    for (const edit of ["revoked_at = 'soon'", 'last_used_at = 1.5', "scopes_used = x'7b7d'"]) {
      expectUpdateRefused(db, edit, /cannot store/);
    }
    for (const edit of ["scopes_used = 'none'", "scopes_used = '[]'", "withdrawn = '{}'"]) {
      const update = `UPDATE keyscope_keys SET ${edit}`;
      expect(() => db.exec(update), update).toThrow(/CHECK/);
    }
    db.exec('DROP TRIGGER keyscope_keys_update; DROP TRIGGER keyscope_keys_withdrawn');
    for (const column of ['scopes', 'accessible_entities', 'withdrawn', 'metadata']) {
      for (const json of ['none', '"text"', '5', 'null', column === 'metadata' ? '[]' : '{}']) {
        const update = `UPDATE keyscope_keys SET ${column} = '${json}'`;
        expect(() => db.exec(update), update).toThrow(/CHECK/);
      }
    }
  });

  // A time beyond 2^53 made a driver throw, and with it every listing that had the row.
  test.each(CHANGING.filter((column) => column.endsWith('_at')))(
    'accepts as %s only what a Date can hold',
    (column) => {
      for (const time of [8_640_000_000_000_001n, 2n ** 60n]) {
        for (const sign of ['', '-']) {
          const { db } = stocked();
          const update = `UPDATE keyscope_keys SET ${column} = ${sign}${time}`;
          // Another trigger would reject `changed_at` alone first: it needs a mark.
          const set = column === 'changed_at' ? `${update}, suspended_at = 5` : update;
          expect(() => db.exec(set), set).toThrow(/CHECK/);
        }
      }
      const { db } = stocked();
      const latest = column === 'changed_at' ? ', suspended_at = 5' : '';
      db.exec(`UPDATE keyscope_keys SET ${column} = 8640000000000000${latest}`);
      expect(readValue(db, `SELECT ${column} FROM keyscope_keys`)).toBe(8.64e15);
    },
  );

  test('rejects a record with an invalid time or without a required field', () => {
    const { store } = stocked();
    for (const field of ['createdAt', 'expiresAt'] as const) {
      for (const time of [8.64e15 + 1, -8.64e15 - 1]) {
        expect(() => store.insert({ ...another(1), [field]: time }), field).toThrow(/CHECK/);
      }
      store.insert({ ...another(field === 'createdAt' ? 2 : 3), [field]: -8.64e15 });
    }
    const nullable = Object.entries(RECORD).filter(([, value]) => value === null);
    const optional = [...nullable.map(([field]) => field), 'justification', 'createdBy', 'seal'];
    for (const field of Object.keys(RECORD)) {
      const record = { ...another(4), [field]: null };
      if (optional.includes(field)) continue;
      expect(() => store.insert(record), field).toThrow(/NOT NULL|CHECK/);
    }
  });

  test("does not touch the service's columns and triggers", () => {
    const { db, store } = stocked();
    db.exec("ALTER TABLE keyscope_keys ADD COLUMN team TEXT DEFAULT 'blue'");
    db.exec('CREATE TABLE log (what TEXT)');
    db.exec(`CREATE TRIGGER seen AFTER UPDATE ON keyscope_keys
      BEGIN INSERT INTO log VALUES ('a'), ('b'); END`);
    const again = sqliteStore(db);
    expect(again.findById(RECORD.keyId)).toEqual(RECORD);
    // Rows that the service's triggers write do not count.
    expect(again.mark(RECORD.keyId, revokeAt(5))).toBe(true);
    expect(store.mark(RECORD.keyId, revokeAt(5))).toBe(false);
    again.touch([{ keyId: RECORD.keyId, lastUsedAt: 7, scopesUsed: {} }]);
    again.insert(another(1));
    const teams = db.prepare('SELECT DISTINCT team FROM keyscope_keys').all();
    expect(teams.map(({ team }) => team)).toEqual(['blue']);
    const ended = { ...RECORD, revokedAt: 5, changedAt: 5, seal: 'end', lastUsedAt: 7 };
    expect(again.findById(RECORD.keyId)).toEqual(ended);
    expect(store.findById(RECORD.keyId)).toEqual(ended);
  });
});

// ── The rules of the triggers ────────────────────────────────────────────────────────────────────

/** A rule of the triggers: the edits that it rejects, and similar ones that pass. */
interface Rule {
  readonly name: string;
  /** The edit before. */
  readonly before?: string;
  readonly refused: readonly string[];
  readonly passes: readonly string[];
  readonly why: string;
}

/** A list in a column, as SQL. */
function quoted(list: readonly unknown[]): string {
  return `'${JSON.stringify(list)}'`;
}

const WITH_A_MARK = 'change only together with a mark';
const REVOKED = "revoked_at = 5, suspended_at = 4, ended_by = 'a', end_reason = 'b', seal = 'end'";

const RULES: readonly Rule[] = [
  {
    name: 'the seal changes only with a revocation',
    refused: ["seal = 'other'", 'seal = NULL', "seal = 'other', suspended_at = 5"],
    passes: ["seal = 'other', revoked_at = 5", 'seal = NULL, revoked_at = 5', 'seal = seal'],
    why: NEVER_CHANGES,
  },
  {
    name: 'no seal appears where there was none',
    before: 'revoked_at = 5, seal = NULL',
    refused: [
      "seal = 'other'",
      "seal = ''",
      "seal = 'other', ended_by = 'a', changed_at = 6",
      `seal = 'other', withdrawn = ${quoted([OTHER])}`,
    ],
    passes: ['seal = NULL', `withdrawn = ${quoted([OTHER])}, changed_at = 6`],
    why: NEVER_CHANGES,
  },
  {
    name: 'the time of a revocation stays, whatever its seal does',
    before: REVOKED,
    refused: [
      'revoked_at = NULL',
      'revoked_at = 4',
      'revoked_at = 6',
      'revoked_at = 6, changed_at = 6',
      "seal = 'other', revoked_at = NULL",
      'seal = NULL, revoked_at = NULL',
      "revoked_at = 6, ended_by = 'c', end_reason = NULL, changed_at = 6, seal = 'other'",
      'revoked_at = 4, seal = NULL',
    ],
    passes: [
      'revoked_at = 5',
      "seal = 'end'",
      'seal = NULL',
      "ended_by = 'c', end_reason = NULL, changed_at = 6, seal = 'other'",
      "revoked_at = 5, ended_by = 'c', seal = NULL",
    ],
    why: MARKS_STAY,
  },
  {
    name: 'a retirement stays',
    before: 'retire_at = 5',
    refused: [
      'retire_at = NULL',
      'retire_at = 4',
      'retire_at = 6',
      'retire_at = 6, revoked_at = 7',
    ],
    passes: ['retire_at = 5', 'revoked_at = 7', 'suspended_at = 6'],
    why: MARKS_STAY,
  },
  {
    name: 'a suspension may end and begin again',
    before: "suspended_at = 5, ended_by = 'a'",
    refused: ["seal = 'other', suspended_at = NULL"],
    passes: ['suspended_at = NULL', 'suspended_at = NULL, ended_by = NULL', 'revoked_at = 6'],
    why: NEVER_CHANGES,
  },
  {
    name: 'a revoked key is not marked again',
    before: REVOKED,
    refused: [
      'suspended_at = NULL',
      'suspended_at = 6',
      'retire_at = 6',
      'retire_at = 6, changed_at = 6',
      "suspended_at = NULL, ended_by = 'c'",
    ],
    passes: [
      `withdrawn = ${quoted([OTHER])}, changed_at = 6`,
      `last_used_at = 6, scopes_used = '{"a:b":6}'`,
      "suspended_at = 4, ended_by = 'a'",
    ],
    why: MARKS_STAY,
  },
  {
    name: 'a withdrawal stays',
    before: `withdrawn = ${quoted([OTHER, THIRD])}`,
    refused: [[], [OTHER], [THIRD], [THIRD, null], [null], [[OTHER, THIRD]]].map(
      (list) => `withdrawn = ${quoted(list)}`,
    ),
    passes: [
      [OTHER, THIRD, 'fourth'],
      [OTHER, THIRD],
      [THIRD, OTHER],
    ].map((list) => `withdrawn = ${quoted(list)}`),
    why: MARKS_STAY,
  },
  {
    name: 'the author and the reason change only with a mark that has them',
    refused: [
      "ended_by = 'a'",
      "end_reason = 'b'",
      `ended_by = 'a', withdrawn = ${quoted([OTHER])}`,
      "ended_by = 'a', changed_at = 6",
      "end_reason = 'b', last_used_at = 6",
    ],
    passes: [
      "ended_by = 'a', suspended_at = 5",
      "end_reason = 'b', retire_at = 5",
      "ended_by = 'a', end_reason = 'b', revoked_at = 5",
      'ended_by = NULL, end_reason = NULL',
    ],
    why: WITH_A_MARK,
  },
  {
    name: 'the author and the reason of a revocation stay',
    before: REVOKED,
    refused: [
      'ended_by = NULL',
      "end_reason = 'c'",
      "ended_by = 'c', changed_at = 6",
      `ended_by = 'c', changed_at = 6, withdrawn = ${quoted([OTHER])}`,
      "end_reason = 'c', revoked_at = 5, seal = 'end'",
      'changed_at = 6',
      'changed_at = 6, last_used_at = 6',
    ],
    passes: [
      "ended_by = 'a'",
      'end_reason = end_reason',
      "ended_by = 'c', changed_at = 6, seal = 'other'",
      `changed_at = 6, withdrawn = ${quoted([OTHER])}`,
    ],
    why: WITH_A_MARK,
  },
  {
    name: 'the time of the newest mark changes only with a mark',
    refused: ['changed_at = 5', 'changed_at = 5, last_used_at = 5'],
    passes: [
      'changed_at = 5, suspended_at = 5',
      `changed_at = 5, withdrawn = ${quoted([OTHER])}`,
      'changed_at = NULL',
    ],
    why: WITH_A_MARK,
  },
];

describe('the triggers', () => {
  test.each(RULES)('ensure that $name', ({ before, refused, passes, why }) => {
    function marked(): DatabaseSync {
      const { db } = stocked();
      if (before !== undefined) db.exec(`UPDATE keyscope_keys SET ${before}`);
      return db;
    }
    for (const set of refused) expectUpdateRefused(marked(), set, why);
    for (const set of passes) {
      const update = `UPDATE keyscope_keys SET ${set}`;
      expect(() => marked().exec(update), update).not.toThrow();
    }
  });

  test('let only a row go that ended before the time of a purge', () => {
    const { db } = stocked();
    const deleting = 'DELETE FROM keyscope_keys';
    const allow = (time: string) => db.exec(`UPDATE keyscope_schema SET purge_before = ${time}`);
    expect(() => db.exec(deleting)).toThrow(`keyscope: ${NEVER_DELETED}`);
    // A row without an end has not ended at any time.
    allow('9223372036854775807');
    expect(() => db.exec(deleting)).toThrow(`keyscope: ${NEVER_DELETED}`);
    db.exec('UPDATE keyscope_keys SET retire_at = 7; UPDATE keyscope_keys SET revoked_at = 5');
    for (const time of ['5', '-1', 'NULL']) {
      allow(time);
      expect(() => db.exec(deleting), time).toThrow(`keyscope: ${NEVER_DELETED}`);
    }
    allow('6');
    db.exec(deleting);
    expect(rowsOf(db)).toEqual([]);
  });

  test('keep a row that was created or changed since', () => {
    const { db, store } = stocked();
    db.exec('UPDATE keyscope_keys SET revoked_at = 5, changed_at = 6');
    store.insert({ ...another(1), createdAt: 6, retireAt: 1 });
    const deleting = 'DELETE FROM keyscope_keys';
    db.exec('UPDATE keyscope_schema SET purge_before = 6');
    for (const { keyId } of [RECORD, another(1)]) {
      expect(() => db.exec(`${deleting} WHERE key_id = '${keyId}'`)).toThrow(NEVER_DELETED);
    }
    db.exec('UPDATE keyscope_schema SET purge_before = 7');
    db.exec(deleting);
    expect(rowsOf(db)).toEqual([]);
  });

  test('keep a suspended row', () => {
    const { db } = stocked();
    db.exec('UPDATE keyscope_keys SET suspended_at = 5, changed_at = 5, last_used_at = 5');
    db.exec('UPDATE keyscope_schema SET purge_before = 1000');
    expect(() => db.exec('DELETE FROM keyscope_keys')).toThrow(NEVER_DELETED);
  });
});

// A row could be replaced by its rowid, which fires no trigger for the deleted row, and so lost its
// mark.
describe.each([
  ['OFF', 'rowid'],
  ['ON', '_rowid_'],
  ['OFF', 'oid'],
])('a row in conflict (recursive_triggers %s, by %s)', (recursive, rowid) => {
  const PLACE = `(SELECT ${rowid} FROM keyscope_keys WHERE revoked_at IS NOT NULL)`;
  const CONFLICTS = ['OR REPLACE ', '', 'OR IGNORE ', 'OR ROLLBACK ', 'OR FAIL '];
  const OTHER_COLUMNS = [...FIXED, ...CHANGING]
    .filter((column) => column !== 'key_id' && column !== 'digest')
    .join(', ');

  /** Two rows, the first of which is revoked. */
  function guarded() {
    const { db, store } = stocked();
    // A column of the service must not hide the rowid from the triggers.
    if (rowid === '_rowid_') db.exec('ALTER TABLE keyscope_keys ADD COLUMN rowid TEXT');
    db.exec(`PRAGMA recursive_triggers = ${recursive}`);
    store.insert(another(1));
    store.mark(RECORD.keyId, revokeAt(5));
    const rows = () => db.prepare('SELECT _rowid_, * FROM keyscope_keys ORDER BY key_id').all();
    const before = rows();
    function expectRefusal(sql: string, why: string): void {
      expect(() => db.exec(sql), sql).toThrow(`keyscope: ${why}`);
      expect(rows(), sql).toEqual(before);
    }
    return { db, store, expectRefusal };
  }

  /** The part after INSERT, for an unrevoked copy of the first row, at a place if given. */
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
    expectRefusal('DELETE FROM keyscope_keys', NEVER_DELETED);
    expectRefusal(`DELETE FROM keyscope_keys WHERE key_id = '${RECORD.keyId}'`, NEVER_DELETED);
  });

  test('is not replaced by an inserted row', () => {
    const { expectRefusal } = guarded();
    const inserts = [
      copy(RECORD.keyId, 's1$new'),
      copy('new', RECORD.digest),
      copy(RECORD.keyId, RECORD.digest),
    ];
    for (const place of [PLACE, `CAST(${PLACE} AS TEXT)`, `${PLACE} + 0.0`]) {
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
    const places = [PLACE, `CAST(${PLACE} AS TEXT)`, '77', '-1'];
    const sets = [
      `key_id = '${RECORD.keyId}'`,
      `digest = '${RECORD.digest}'`,
      ...places.map((place) => `${rowid} = ${place}`),
      `${rowid} = ${PLACE}, last_used_at = 9`,
    ];
    const where = `WHERE key_id = '${another(1).keyId}'`;
    for (const set of sets) {
      for (const or of CONFLICTS) {
        expectRefusal(`UPDATE ${or}keyscope_keys SET ${set} ${where}`, NEVER_CHANGES);
      }
    }
    expect(store.findById(RECORD.keyId)).toMatchObject({ revokedAt: 5, changedAt: 5 });
  });

  test('does not block other rows that bring their own rowid', () => {
    const { db, store } = guarded();
    // As when a dump is restored. Afterwards, keys are created as usual.
    db.exec(`INSERT ${copy('dumped', 's1$dumped', '1000')}`);
    store.insert(another(2));
    expect(readValue(db, 'SELECT max(_rowid_) FROM keyscope_keys')).toBe(1001);
  });
});
