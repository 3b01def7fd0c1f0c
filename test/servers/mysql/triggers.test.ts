/** The edits that the triggers reject, and for each the most similar edit that must pass. */
import type { KeyRecord } from 'keyscope';
import { expect, test } from 'vitest';
import { FIXED } from '../../support/columns.ts';
import { OTHER, OWN, THIRD } from '../../support/keyring.ts';
import { another, describeMysql, SLOW, usePlace } from '../../support/mysql-place.ts';

const NEVER_CHANGES =
  'keyscope: only the marks and the usage of a key ever change, the seal only as it is revoked';
const MARKS_STAY =
  'keyscope: revoked_at, retire_at and withdrawn are never undone, and a revoked key is not ' +
  'marked again';
const ENDINGS = 'keyscope: ended_by and end_reason change only together with a mark';
const NEVER_DELETED = 'keyscope: keys are revoked and never deleted, see purgeEnded';

/**
 * Other values of the type of each column that never changes; with a trailing space where its type
 * can hold one.
 */
const OTHERS: Readonly<Record<string, readonly string[]>> = {
  format: ['2', '0'],
  key_id: [`'${OTHER}'`, 'UPPER(key_id)', "''"],
  prefix: ["'other'", 'UPPER(CONVERT(prefix USING ascii))', "CONCAT(prefix, ' ')"],
  hint: ["'AAAA'", 'LOWER(hint)', "CONCAT(hint, ' ')", "''"],
  name: ["'other'", 'UPPER(name)', "CONCAT(name, ' ')", "''"],
  digest: ["'s1$00'", "REPLACE(digest, 's', 'S')", "CONCAT(digest, ' ')"],
  entity_id: [`'${OTHER}'`, 'UPPER(CONVERT(entity_id USING ascii))', "CONCAT(entity_id, ' ')"],
  accessible_entities: [
    `'["${OTHER}"]'`,
    'UPPER(accessible_entities)',
    "CONCAT(accessible_entities, ' ')",
  ],
  scopes: [`'["*:*"]'`, "CONCAT(scopes, ' ')", 'UPPER(scopes)'],
  justification: ["'because'", "' '", 'NULL'],
  metadata: ["'{}'", "CONCAT(metadata, ' ')", 'UPPER(metadata)'],
  created_at: ['created_at + 1', '0'],
  created_by: ["'somebody'", "CONCAT(created_by, ' ')", 'NULL'],
  expires_at: ['1', '0'],
  rotated_from: [`'${OTHER}'`],
  root_key_id: [`'${OTHER}'`, "''"],
  issued_under: ["'ab'", "''"],
  trust: ["'ab'", "''"],
};

/** Other values of the seal. */
const OTHER_SEALS = ["'00'", 'UPPER(seal)', "CONCAT(seal, ' ')", 'NULL'];

describeMysql('an UPDATE', SLOW, () => {
  const place = usePlace('mysql2 connection');
  let count = 0;

  /** The condition of a new key, with these columns set beforehand. */
  async function newKey(
    columns = 'last_used_at = 1',
    given: Partial<KeyRecord> = {},
  ): Promise<string> {
    count += 1;
    // Ids with letters, so that upper case is another id.
    const record = { ...another(0xabc000 + count), ...given };
    await place.store.insert(record);
    const where = `WHERE key_id = '${record.keyId}'`;
    await place.rows(`UPDATE keyscope_keys SET ${columns} ${where}`);
    return where;
  }

  async function expectRefusal(where: string, columns: string, why: string): Promise<void> {
    const before = await place.rows(`SELECT * FROM keyscope_keys ${where}`);
    const updates = [
      `UPDATE keyscope_keys SET ${columns} ${where}`,
      `UPDATE IGNORE keyscope_keys SET ${columns} ${where}`,
      `UPDATE keyscope_keys SET last_used_at = 5, ${columns} ${where}`,
      `UPDATE keyscope_keys JOIN (SELECT 1) AS one SET ${columns} ${where}`,
    ];
    for (const sql of updates) await expect(place.rows(sql), sql).rejects.toThrow(why);
    expect(await place.rows(`SELECT * FROM keyscope_keys ${where}`)).toEqual(before);
  }

  async function expectWritten(where: string, columns: string): Promise<void> {
    await place.rows(`UPDATE keyscope_keys SET ${columns} ${where}`);
    const conditions = columns.replaceAll(', ', ' AND ').replaceAll(' = ', ' <=> ');
    const count = await place.value(
      `SELECT COUNT(*) FROM keyscope_keys ${where} AND ${conditions}`,
    );
    expect(count, columns).toBe(1);
  }

  test('is tried for each column that never changes', () => {
    expect(Object.keys(OTHERS)).toEqual(FIXED);
  });

  test.each(FIXED)('of %s is rejected', async (column) => {
    const where = await newKey();
    for (const to of OTHERS[column] ?? []) {
      await expectRefusal(where, `${column} = ${to}`, NEVER_CHANGES);
    }
    // Setting the same value is allowed.
    await expectWritten(where, `${column} = ${column}`);
  });

  test('of the seal is rejected, except the one that revokes the key', async () => {
    for (const to of OTHER_SEALS) {
      const where = await newKey();
      const marks = `suspended_at = 5, retire_at = 5, changed_at = 5, ended_by = 'x'`;
      await expectRefusal(where, `seal = ${to}`, NEVER_CHANGES);
      await expectRefusal(where, `${marks}, seal = ${to}`, NEVER_CHANGES);
      await place.rows(`UPDATE keyscope_keys SET seal = ${to}, revoked_at = 5 ${where}`);
      await expectRefusal(where, "seal = 'ab', revoked_at = NULL", NEVER_CHANGES);
    }
  });

  test('that seals a key without a seal is rejected', async () => {
    const where = await newKey('last_used_at = 1', { seal: null });
    for (const to of ["'ab'", "''"]) {
      await expectRefusal(where, `seal = ${to}`, NEVER_CHANGES);
      await expectRefusal(where, `revoked_at = 5, seal = ${to}`, NEVER_CHANGES);
    }
    await expectWritten(where, "revoked_at = 5, seal = NULL, ended_by = 'ada', changed_at = 5");
    const again = "seal = 'ab', ended_by = 'bob', changed_at = 6";
    await expectRefusal(where, again, NEVER_CHANGES);
  });

  test('that moves revoked_at is rejected, whatever happens to the seal', async () => {
    const where = await newKey("revoked_at = 5, ended_by = 'ada'");
    for (const to of ['NULL', '4', '6']) {
      const why = to === 'NULL' ? NEVER_CHANGES : MARKS_STAY;
      await expectRefusal(where, `revoked_at = ${to}`, MARKS_STAY);
      for (const seal of OTHER_SEALS) {
        await expectRefusal(where, `revoked_at = ${to}, seal = ${seal}`, why);
      }
      await expectRefusal(where, `revoked_at = ${to}, withdrawn = '["${OTHER}"]'`, MARKS_STAY);
    }
  });

  test('that revokes a key again passes only with another seal', async () => {
    for (const seal of ["'ab'", 'NULL']) {
      const where = await newKey("revoked_at = 5, ended_by = 'ada', changed_at = 5");
      const again = "ended_by = 'bob', end_reason = 'leaked', changed_at = 7";
      await expectRefusal(where, again, MARKS_STAY);
      await expectRefusal(where, `${again}, seal = seal`, MARKS_STAY);
      await expectRefusal(where, "ended_by = 'bob'", ENDINGS);
      await expectRefusal(where, "end_reason = 'leaked'", ENDINGS);
      await expectRefusal(where, `${again}, withdrawn = '["${OTHER}"]'`, ENDINGS);
      await expectWritten(where, `${again}, seal = ${seal}`);
    }
  });

  test.each([
    ['revoked_at', 'retire_at = 7'],
    ['retire_at', 'suspended_at = 7'],
  ])('that clears or moves %s is rejected', async (mark, neighbour) => {
    const where = await newKey('last_used_at = 1');
    await expectWritten(where, neighbour);
    await expectWritten(where, `${mark} = 5`);
    for (const to of ['NULL', '4', '6']) {
      await expectRefusal(where, `${mark} = ${to}`, MARKS_STAY);
    }
    await expectWritten(where, `${mark} = 5`);
  });

  test('sets and clears suspended_at while the key is not revoked', async () => {
    const where = await newKey();
    for (const to of ['5', 'NULL', '6', '7']) await expectWritten(where, `suspended_at = ${to}`);
    await expectWritten(where, 'revoked_at = 8');
    for (const to of ['NULL', '9']) {
      await expectRefusal(where, `suspended_at = ${to}`, MARKS_STAY);
    }
    await expectWritten(where, 'suspended_at = 7');
  });

  test.each([
    ['suspended_at', '5'],
    ['retire_at', '5'],
    ['changed_at', '5'],
  ])('of %s is rejected after a revocation', async (mark, to) => {
    const where = await newKey('revoked_at = 4');
    await expectRefusal(where, `${mark} = ${to}`, MARKS_STAY);
    await expectRefusal(where, 'revoked_at = NULL', MARKS_STAY);
    await expectWritten(where, `withdrawn = '["${OTHER}"]', changed_at = 6`);
    await expectWritten(where, `last_used_at = 7, scopes_used = '{"a:b":5}'`);
  });

  test.each(['ended_by', 'end_reason'])(
    'of %s is rejected unless it suspends, resumes, retires or revokes',
    async (column) => {
      const where = await newKey();
      const guests = `withdrawn = '["${OTHER}"]', changed_at = 5`;
      await expectRefusal(where, `${column} = 'x'`, ENDINGS);
      await expectRefusal(where, `${guests}, ${column} = 'x'`, ENDINGS);
      await expectRefusal(where, `changed_at = 5, ${column} = ''`, ENDINGS);
      await expectWritten(where, `suspended_at = 5, ${column} = 'one'`);
      await expectRefusal(where, `${column} = 'one '`, ENDINGS);
      await expectRefusal(where, `${column} = NULL`, ENDINGS);
      await expectWritten(where, `suspended_at = NULL, ${column} = NULL`);
      await expectWritten(where, `retire_at = 6, ${column} = 'two'`);
      await expectWritten(where, `revoked_at = 7, ${column} = 'three'`);
      await expectRefusal(where, `${column} = 'four'`, ENDINGS);
      await expectRefusal(where, `${guests}, ${column} = 'four'`, ENDINGS);
    },
  );

  test('of withdrawn is rejected unless the list grows', async () => {
    const list = (...entities: string[]) => `withdrawn = '${JSON.stringify(entities)}'`;
    for (const before of ['last_used_at = 1', 'revoked_at = 1']) {
      const where = await newKey(before);
      await expectWritten(where, list(OTHER));
      for (const less of [list(), list(THIRD), list(OTHER.toUpperCase()), list(OTHER.slice(1))]) {
        await expectRefusal(where, less, MARKS_STAY);
      }
      await expectWritten(where, list(OTHER, THIRD));
      await expectRefusal(where, list(OTHER), MARKS_STAY);
      await expectRefusal(where, list(THIRD), MARKS_STAY);
      await expectWritten(where, list(OTHER, THIRD, OWN));
    }
  });

  test('of the usage passes in every state', async () => {
    const states = ['suspended_at = 2', 'revoked_at = 2', 'retire_at = 2'];
    for (const state of states) {
      const where = await newKey(state);
      await expectWritten(where, `last_used_at = 5, scopes_used = '{"a:b":5}'`);
      await expectWritten(where, `last_used_at = NULL, scopes_used = '{}'`);
    }
  });

  test('that an INSERT turns into is rejected like any other', async () => {
    const where = await newKey();
    const updating = `INSERT INTO keyscope_keys SELECT * FROM keyscope_keys AS own ${where}
      ON DUPLICATE KEY UPDATE`;
    await expect(place.rows(`${updating} name = 'other'`)).rejects.toThrow(NEVER_CHANGES);
    await place.rows(`${updating} last_used_at = 5`);
    expect(await place.value(`SELECT last_used_at FROM keyscope_keys ${where}`)).toBe(5);
  });
});

describeMysql('a DELETE', SLOW, () => {
  const place = usePlace('mysql2 connection');
  let number = 0;

  /** The condition of a new key. */
  async function newKey(given: Partial<KeyRecord> = {}): Promise<string> {
    number += 1;
    const record = { ...another(number), ...given };
    await place.store.insert(record);
    return `WHERE key_id = '${record.keyId}'`;
  }

  const countOf = (where: string) => place.value(`SELECT COUNT(*) FROM keyscope_keys ${where}`);

  /** Deletes as `purgeEnded` does, and rolls back; returns how many rows were left meanwhile. */
  async function leftAfter(time: string, where: string): Promise<unknown> {
    await place.rows('START TRANSACTION');
    try {
      await place.rows(`UPDATE keyscope_schema SET purge_before = ${time}`);
      await place.rows(`DELETE FROM keyscope_keys ${where}`);
      return await countOf(where);
    } finally {
      await place.rows('ROLLBACK');
    }
  }

  test.each([{}, { revokedAt: 1 }, { retireAt: 1 }, { expiresAt: 1 }])(
    'is rejected, and so is REPLACE, which deletes: %j',
    async (end) => {
      const where = await newKey(end);
      const deleting = [
        `DELETE FROM keyscope_keys ${where}`,
        `DELETE IGNORE FROM keyscope_keys ${where}`,
        `DELETE own FROM keyscope_keys AS own JOIN (SELECT 1) AS one ${where}`,
        `REPLACE INTO keyscope_keys SELECT * FROM keyscope_keys AS own ${where}`,
      ];
      for (const sql of deleting) await expect(place.rows(sql), sql).rejects.toThrow(NEVER_DELETED);
      expect(await countOf(where)).toBe(1);
    },
  );

  test.each([
    { revokedAt: 10 },
    { retireAt: 10 },
    { expiresAt: 10 },
    { revokedAt: 10, expiresAt: 100 },
    { retireAt: 10, expiresAt: 100 },
    { expiresAt: 10, revokedAt: 100 },
  ])('in a purge removes only a key that ended before its time: %j', async (end) => {
    const where = await newKey(end);
    for (const time of ['NULL', '9', '10']) {
      await expect(leftAfter(time, where), time).rejects.toThrow(NEVER_DELETED);
    }
    expect(await leftAfter('11', where)).toBe(0);
  });

  test('in a purge removes no key that is only suspended, or has not ended at all', async () => {
    const last = 8_640_000_000_000_000;
    for (const given of [{}, { suspendedAt: 1 }, { suspendedAt: 1, expiresAt: last }]) {
      const where = await newKey(given);
      await expect(leftAfter(String(last), where)).rejects.toThrow(NEVER_DELETED);
    }
  });

  test('that begins during a purge waits, and is rejected', async () => {
    const where = await newKey({ revokedAt: 1 });
    await place.opened.query('START TRANSACTION');
    await place.opened.query('UPDATE keyscope_schema SET purge_before = 100');
    const deleting = place.rows(`DELETE FROM keyscope_keys ${where}`);
    const refused = expect(deleting).rejects.toThrow(NEVER_DELETED);
    await place.opened.query('UPDATE keyscope_schema SET purge_before = NULL');
    await place.opened.query('COMMIT');
    await refused;
  });
});
