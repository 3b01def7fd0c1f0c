import { mysqlStore } from 'keyscope/stores/mysql';
import { beforeAll, expect, test } from 'vitest';
import {
  ATTACKERS_DIGESTS,
  DAMAGED_COLUMNS,
  EDITED_COLUMNS,
  type Edits,
  editedBy,
  editedRows,
  quoted,
} from '../../support/edited-rows.ts';
import { OTHER } from '../../support/keyring.ts';
import { ignoreChecks } from '../../support/mysql-clients.ts';
import {
  another,
  DRIVERS,
  describeMysql,
  type Place,
  SLOW,
  usageOf,
  usePlace,
} from '../../support/mysql-place.ts';
import { RECORD } from '../../support/records.ts';

const HUGE = '1 << 60';

const EDITS: Edits = {
  format: EDITED_COLUMNS.format,
  keyId: ["'0f0f0f0f-0000-4000-8000-00000000000f'", "''", "'ABC'", 'UPPER(key_id)'],
  prefix: [...EDITED_COLUMNS.prefix, "CONCAT(prefix, ' ')"],
  hint: [...EDITED_COLUMNS.hint, "CONCAT(hint, ' ')"],
  name: [...EDITED_COLUMNS.name, "CONCAT(name, ' ')", 'NULL'],
  digest: [
    ...ATTACKERS_DIGESTS.map(quoted),
    "''",
    'LEFT(digest, 40)',
    "CONCAT(digest, ' ')",
    'UPPER(CONVERT(digest USING ascii))',
    "X'FF00'",
  ],
  createdBy: EDITED_COLUMNS.createdBy,
  rootKeyId: EDITED_COLUMNS.rootKeyId,
  issuedUnder: EDITED_COLUMNS.issuedUnder,
  trust: EDITED_COLUMNS.trust,
  seal: ['NULL', "''", 'UPPER(seal)', 'LEFT(seal, 63)', "CONCAT(seal, ' ')"],
  entityId: [
    quoted(OTHER),
    "''",
    'UPPER(CONVERT(entity_id USING ascii))',
    "CONCAT(entity_id, ' ')",
    "X'FF'",
    'NULL',
  ],
  accessibleEntities: [...EDITED_COLUMNS.accessibleEntities, 'NULL'],
  scopes: [...EDITED_COLUMNS.scopes, `'["unknown:scope"]'`, 'NULL'],
  justification: EDITED_COLUMNS.justification,
  metadata: [...EDITED_COLUMNS.metadata, 'NULL'],
  createdAt: ['created_at + 1', '0', '-1', HUGE, 'NULL'],
  expiresAt: ['NULL', 'expires_at + 1', '0', HUGE],
  rotatedFrom: EDITED_COLUMNS.rotatedFrom,
};

/** A column of JSON: its CHECK makes MariaDB report it as JSON to drivers. */
function jsonColumn(name: string, kind: 'ARRAY' | 'OBJECT'): string {
  return `${name} LONGTEXT CHECK (JSON_VALID(${name}) AND JSON_TYPE(${name}) = '${kind}')`;
}

/** The columns that accept NULL, and other values that all of them reject. */
const LOOSE_COLUMNS = [
  jsonColumn('accessible_entities', 'ARRAY'),
  jsonColumn('scopes', 'ARRAY'),
  jsonColumn('metadata', 'OBJECT'),
  jsonColumn('withdrawn', 'ARRAY'),
  jsonColumn('scopes_used', 'OBJECT'),
  'name LONGTEXT',
  'created_at BIGINT',
  'entity_id VARBINARY(64)',
];

/** The operator's connection, which edits the rows despite the CHECKs and the strict mode. */
async function switchSafeguardsOff({ store, rows }: Place): Promise<void> {
  // Creates the tables.
  await store.summarize(0);
  for (const trigger of ['update', 'marks', 'endings', 'delete']) {
    await rows(`DROP TRIGGER keyscope_keys_${trigger}`);
  }
  await rows("SET sql_mode = ''");
  for (const column of LOOSE_COLUMNS) await rows(`ALTER TABLE keyscope_keys MODIFY ${column}`);
  await ignoreChecks({ rows });
}

describeMysql.each(DRIVERS)('rows edited by hand, read with %s', SLOW, (driver) => {
  const place = usePlace(`${driver} pool`);
  beforeAll(() => switchSafeguardsOff(place));

  editedRows({
    store: () => place.store,
    ...editedBy((text) => place.rows(text)),
    edits: EDITS,
    damages: DAMAGED_COLUMNS,
    badTimes: [HUGE],
  });

  test('an empty digest is never found', async () => {
    await place.store.insert(RECORD);
    await place.rows("UPDATE keyscope_keys SET digest = ''");
    const store = mysqlStore(place.opened.client, { batch: false });
    for (const digests of [[''], [RECORD.digest], [RECORD.digest, 'a', 'b'], ['a', '', 'b', 'c']]) {
      expect(await store.findByDigest(digests)).toEqual([]);
    }
    await place.rows('DELETE FROM keyscope_keys');
  });

  test.each([
    '{"threats:read":"soon"}',
    '{"threats:read":null}',
    '{"threats:read":[1]}',
    '{"threats:read":1e300}',
  ])('used scopes with invalid times advance to a valid time: %s', async (json) => {
    const { store, rows } = place;
    await store.insert(RECORD);
    await store.insert(another(1));
    await rows(`UPDATE keyscope_keys SET scopes_used = '${json}' WHERE key_id = '${RECORD.keyId}'`);
    const scopesUsed = { 'threats:read': 5 };
    await store.touch([usageOf(RECORD, 6, scopesUsed), usageOf(another(1), 6, scopesUsed)]);
    expect(await store.findById(RECORD.keyId)).toMatchObject({ lastUsedAt: 6, scopesUsed });
    expect(await store.findById(another(1).keyId)).toMatchObject({ lastUsedAt: 6, scopesUsed });
    await rows('DELETE FROM keyscope_keys');
  });
});
