/** The ids of entities that are not UUIDs: which ones the tables accept, and what they equal. */
import type { KeyRecord } from 'keyscope';
import { migrate, mysqlStore, purgeEnded } from 'keyscope/stores/mysql';
import { beforeAll, expect, onTestFinished, test } from 'vitest';
import { isEntityId } from '../../../src/core/entity.js';
import { HOSTILE_IDS } from '../../support/entity-ids.ts';
import { entitySuite } from '../../support/entity-suite.ts';
import { OWN } from '../../support/keyring.ts';
import {
  another,
  closePlace,
  describeMysql,
  OWN_KEYS,
  openPlace,
  type Place,
  POOLS,
  revokeAt,
  SLOW,
  usePlace,
  withClient,
} from '../../support/mysql-place.ts';

const TABLES = ['keyscope_keys', 'keyscope_addressing'] as const;

/** Bytes as SQL. */
function bytes(text: string, encoding: BufferEncoding = 'utf8'): string {
  return `X'${Buffer.from(text, encoding).toString('hex')}'`;
}

/** Ids of which a lax comparison takes one for another. */
const ALIKE: readonly string[] = [
  'org_2abc',
  'ORG_2ABC',
  'Org_2abc',
  // Full-width and accented letters, a long s and the sign of kelvins.
  'ｏｒｇ_2abc',
  'örg_2abc',
  'o\u0308rg_2abc',
  'org\u00ad_2abc',
  's',
  'ſ',
  'k',
  '\u212a',
  'org_2abc ',
  ' org_2abc',
  'org_2abc\0',
  'org_2abc\n',
  'org_2abc\t',
  '',
  ' ',
  '7',
  '07',
  '7.0',
  '7e0',
  '７',
];

/** The least that a key has in addition to a pair and its digest, as SQL. */
const OTHERS: Readonly<Record<string, string>> = {
  format: '1',
  hint: "''",
  name: "''",
  accessible_entities: "'[]'",
  scopes: "'[]'",
  metadata: "'{}'",
  root_key_id: "''",
  withdrawn: "'[]'",
  scopes_used: "'{}'",
};
const LEAST = Object.values(OTHERS).join(', ');

describeMysql('the id of an entity', SLOW, () => {
  const place = usePlace('mysql2 connection');
  beforeAll(() => migrate(place.opened.client));

  /** Rows with these ids, for an INSERT into a table. */
  function rowsOf(table: (typeof TABLES)[number], ids: readonly string[]): string {
    const rows = ids.map((id, index) => {
      const pair = `${id}, 'acme', 1, 'id ${index}'`;
      return table === 'keyscope_keys' ? `(${pair}, ${index}, ${LEAST})` : `(${pair})`;
    });
    const columns = `entity_id, prefix, created_at, key_id`;
    const more = table === 'keyscope_keys' ? `, digest, ${Object.keys(OTHERS).join(', ')}` : '';
    return `${table} (${columns}${more}) VALUES ${rows.join(', ')}`;
  }

  test.each(TABLES)('is accepted by %s exactly if a record may have it', async (table) => {
    const all = Array.from({ length: 256 }, (_, byte) => String.fromCharCode(byte));
    const ends = all.flatMap((byte) => [byte, `a${byte}`, `${byte}a`, `a${byte}a`, `.${byte}`]);
    // One byte for each character, so that every byte is tried.
    const given = new Set([...ends, '', '...', '\n.', '..\n', '.\n.', ...HOSTILE_IDS, OWN]);
    const ids = [...given].map((id) => bytes(id, 'latin1'));
    await place.rows(`INSERT IGNORE INTO ${rowsOf(table, ids)}`);
    const rows = await place.rows(`SELECT HEX(entity_id) AS hex FROM ${table}`);
    const found = rows.map(({ hex }) => Buffer.from(String(hex), 'hex').toString('latin1'));
    expect(found.sort()).toEqual([...given].filter(isEntityId).sort());
  });

  test.each(TABLES)('is refused by %s by a CHECK with a name of its own', async (table) => {
    const unfit = ALIKE.filter((id) => !isEntityId(id));
    expect(unfit.length).toBeGreaterThan(10);
    for (const id of unfit) {
      const insert = place.rows(`INSERT INTO ${rowsOf(table, [bytes(id)])}`);
      await expect(insert, id).rejects.toThrow(`${table}_entity`);
    }
    const long = place.rows(`INSERT INTO ${rowsOf(table, [bytes('a'.repeat(65))])}`);
    await expect(long).rejects.toThrow('too long');
  });
});

/** Lets an operator write any id of an entity. */
async function dropChecks({ rows }: Pick<Place, 'rows'>): Promise<void> {
  for (const table of TABLES) await rows(`ALTER TABLE ${table} DROP CONSTRAINT ${table}_entity`);
  await rows('DROP TRIGGER keyscope_keys_update');
}

describeMysql('without the CHECK, the id of an entity', SLOW, () => {
  const place = usePlace('mysql2 pool');
  const keyIds = ALIKE.map((_, index) => another(index).keyId);
  beforeAll(async () => {
    await migrate(place.opened.client);
    await dropChecks(place);
    for (const [index, id] of ALIKE.entries()) {
      const { keyId } = another(index);
      await place.store.insert(another(index));
      const where = `WHERE key_id = '${keyId}'`;
      await place.rows(`UPDATE keyscope_keys SET entity_id = ${bytes(id)} ${where}`);
      // The next key addresses it.
      const guest = keyIds[(index + 1) % keyIds.length];
      await place.rows(
        `INSERT INTO keyscope_addressing VALUES (${bytes(id)}, 'acme', 1, '${guest}')`,
      );
    }
  }, SLOW.timeout);

  test.each(ALIKE)('%j equals no other', async (id) => {
    for (const table of TABLES) {
      // As the store writes it: a text, with the folding collation of the server.
      const same = `entity_id = _utf8mb4 ${bytes(id)}`;
      expect(await place.value(`SELECT COUNT(*) FROM ${table} WHERE ${same}`)).toBe(1);
    }
  });

  test.each(ALIKE)('%j lists the keys of no other', async (entityId) => {
    const index = ALIKE.indexOf(entityId);
    const idsIn = async (addressing: boolean) => {
      const listed = await place.store.list({ ...OWN_KEYS, entityId, addressing });
      return listed.map(({ keyId }) => keyId);
    };
    const isListed = isEntityId(entityId);
    expect(await idsIn(false)).toEqual(isListed ? [keyIds[index]] : []);
    expect(await idsIn(true)).toEqual(isListed ? [keyIds[(index + 1) % keyIds.length]] : []);
  });
});

// The reason for the type of the column.
describeMysql('a column of another type lists keys of other ids', SLOW, () => {
  test.each([
    ['ascii_general_ci', 'ORG_2ABC'],
    ['ascii_bin', 'org_2abc '],
  ])('with the collation %s', async (collation, alike) => {
    await withClient('mysql2 pool', {}, async ({ client }, { console }) => {
      await migrate(client);
      await dropChecks(console);
      const type = `VARCHAR(64) CHARACTER SET ascii COLLATE ${collation} NOT NULL`;
      await console.rows(`ALTER TABLE keyscope_keys MODIFY entity_id ${type}`);
      const store = mysqlStore(client);
      await store.insert({ ...another(1), entityId: 'org_2abc' });
      await store.insert(another(2));
      const where = `WHERE key_id = '${another(2).keyId}'`;
      await console.rows(`UPDATE keyscope_keys SET entity_id = '${alike}' ${where}`);
      expect(await store.list({ ...OWN_KEYS, entityId: 'org_2abc' })).toHaveLength(2);
    });
  });
});

describeMysql.each(POOLS)('over a %s, ids that are not UUIDs', SLOW, (kind) => {
  entitySuite(async () => {
    const place = await openPlace(kind);
    onTestFinished(() => closePlace(place));
    const { client } = place.opened;
    return { store: place.store, purge: (endedBefore) => purgeEnded(client, { endedBefore }) };
  });
});

/** A key of each entity, which addresses the next one. */
const RECORDS: readonly KeyRecord[] = HOSTILE_IDS.map((entityId, index) => ({
  ...another(index),
  entityId,
  accessibleEntities: [entityId, HOSTILE_IDS[index + 1] ?? 'z'],
}));

describeMysql.each(POOLS)('over a %s, a purge with ids that are not UUIDs', SLOW, (kind) => {
  const place = usePlace(kind);

  test('deletes all pairs of the ended keys, and none of another', async () => {
    const { opened, store } = place;
    const living = { ...another(600), entityId: 'a', accessibleEntities: ['a', ...HOSTILE_IDS] };
    for (const record of [...RECORDS, living]) await store.insert(record);
    for (const { keyId } of RECORDS) await store.mark(keyId, revokeAt(7));
    const purged = await purgeEnded(opened.client, { endedBefore: new Date(10_000) });
    expect([...purged].sort()).toEqual(RECORDS.map(({ keyId }) => keyId));
    const pairs = await place.rows('SELECT HEX(entity_id) AS hex, key_id FROM keyscope_addressing');
    const left = pairs.map(({ hex }) => Buffer.from(String(hex), 'hex').toString());
    expect(left.sort()).toEqual(HOSTILE_IDS.filter((id) => id !== 'a').sort());
    expect(new Set(pairs.map(({ key_id }) => key_id))).toEqual(new Set([living.keyId]));
  });
});
