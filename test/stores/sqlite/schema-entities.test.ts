/** Ids of entities that are not UUIDs: kept and compared as they are, and checked by the table. */
import type { KeyRecord } from 'keyscope';
import { schemaSql } from 'keyscope/stores/schema';
import { purgeEnded, sqliteStore } from 'keyscope/stores/sqlite';
import { describe, expect, onTestFinished, test } from 'vitest';
import { toValues } from '../../../src/stores/rows.js';
import { STATEMENTS } from '../../../src/stores/sqlite/statements.js';
import {
  type EntityPlace,
  entitySuite,
  expectApart,
  LOOK_ALIKES,
} from '../../support/entity-suite.ts';
import { OWN } from '../../support/keyring.ts';
import { DRIVERS, type Handle, open } from '../../support/sqlite.ts';
import { stocked } from '../../support/sqlite-databases.ts';
import { unsealed } from '../../support/unsealed.ts';

/** Inserts a record without the store's own checks. */
function plantIn(db: Pick<Handle, 'prepare'>): (record: KeyRecord) => void {
  return (record) => void db.prepare(STATEMENTS.insert).run(...toValues(record));
}

describe.each(DRIVERS)('ids that are not UUIDs, with %s', (driver) => {
  function make(): EntityPlace {
    const db = open(driver, ':memory:');
    onTestFinished(() => db.close());
    const store = sqliteStore(db);
    return { store, purge: (endedBefore) => purgeEnded(db, { endedBefore }) };
  }

  entitySuite(make);

  test('are compared byte for byte, even without the CHECKs', async () => {
    const db = open(driver, ':memory:');
    onTestFinished(() => db.close());
    const schema = schemaSql('sqlite');
    const bare = schema.replaceAll(/ CHECK \(length\(entity_id\).*$/gm, ',');
    expect(bare.split('\n').filter((line) => line === '  entity_id TEXT NOT NULL,')).toHaveLength(
      2,
    );
    db.exec(bare);
    await expectApart(sqliteStore(db), plantIn(db));
  });
});

describe('the tables', () => {
  const NEITHER = ['', '.', '..', 'a'.repeat(65), 'a/b', 'a,b', 'a b', 'a"b', 'a]', 'a[', 'a^'];

  test.each([...NEITHER, ...LOOK_ALIKES.slice(2)])('refuse %j', (text) => {
    const { db } = stocked();
    const plant = plantIn(db);
    const own = unsealed({ entityId: text, accessibleEntities: [text] }).record;
    const others = unsealed({ accessibleEntities: [OWN, 'org_2abc', text] }).record;
    for (const record of [own, others]) expect(() => plant(record)).toThrow(/CHECK/);
    const place = 'INSERT INTO keyscope_addressing VALUES (?, ?, ?, ?)';
    expect(() => db.prepare(place).run(text, 'acme', 5, OWN)).toThrow(/CHECK/);
    const places = db.prepare('SELECT * FROM keyscope_addressing').all();
    expect(places).toEqual([]);
  });

  test('take every character of an id, and 1 to 64 of them', () => {
    const { store } = stocked();
    const letters = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
    const characters = [...letters, ...'0123456789_~:@|-'];
    for (const text of [...characters, ...characters.map((each) => each.repeat(64)), '...', '.a']) {
      const { record } = unsealed({ entityId: text, accessibleEntities: [text] });
      store.insert(record);
      expect(store.findById(record.keyId), text).toEqual(record);
    }
  });
});
