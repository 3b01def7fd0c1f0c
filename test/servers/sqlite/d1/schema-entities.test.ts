/** Ids of entities that are not UUIDs, on D1. */
import { d1Store, purgeEnded } from 'keyscope/stores/d1';
import { MIGRATIONS } from 'keyscope/stores/schema';
import { expect, test } from 'vitest';
import { STATEMENTS } from '../../../../src/stores/sqlite/statements.ts';
import {
  type EntityPlace,
  entitySuite,
  expectApart,
  LOOK_ALIKES,
} from '../../../support/entity-suite.ts';
import { OWN } from '../../../support/keyring.ts';
import { unsealed } from '../../../support/unsealed.ts';
import { databases, describeWithWorkerd, SLOW, sqlOf } from '../../../support/workerd.ts';

describeWithWorkerd('ids that are not UUIDs', SLOW, () => {
  const fresh = databases();

  async function make(): Promise<EntityPlace> {
    const db = await fresh();
    return { store: d1Store(db), purge: (endedBefore) => purgeEnded(db, { endedBefore }) };
  }

  entitySuite(make);

  test('are compared byte for byte, even without the CHECKs', async () => {
    const db = await fresh();
    const sql = sqlOf(db);
    for (const statement of MIGRATIONS.sqlite.flat()) {
      await sql(statement.replace(/ CHECK \(length\(entity_id\).*$/m, ','));
    }
    await db.batch([db.prepare(STATEMENTS.writeVersion).bind(MIGRATIONS.sqlite.length, 1)]);
    const store = d1Store(db);
    await expectApart(store, store.insert);
  });

  test('are checked by the tables', async () => {
    const { store } = await make();
    for (const text of ['', '..', 'a'.repeat(65), 'a/b', ...LOOK_ALIKES.slice(2)]) {
      const own = unsealed({ entityId: text, accessibleEntities: [text] }).record;
      const others = unsealed({ accessibleEntities: [OWN, text] }).record;
      for (const record of [own, others]) {
        await expect(async () => store.insert(record), text).rejects.toThrow(/CHECK/);
      }
    }
    expect((await store.listAll({ after: null, limit: 9 })).items).toEqual([]);
  });
});
