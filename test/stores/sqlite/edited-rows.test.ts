import { sqliteStore } from 'keyscope/stores/sqlite';
import { afterAll, describe } from 'vitest';
import { ATTACKERS_DIGESTS, BOTH_ENTITIES, editedRows } from '../../support/edited-rows.ts';
import { DRIVERS, OTHER, open } from '../../support/sqlite.ts';

const HUGE = '1 << 60';

const EDITS: Readonly<Record<string, readonly string[]>> = {
  key_id: ["'0f0f0f0f-0000-4000-8000-00000000000f'", "''", "'ABC'"],
  name: ["'other'", "''", "'CI'"],
  digest: [...ATTACKERS_DIGESTS, "''", 'upper(digest)', "digest || ' '"],
  seal: ['NULL', "''", 'upper(seal)', "replace(seal, substr(seal, 1, 1), 'f') || 'f'"],
  entity_uuid: [`'${OTHER}'`, "''", 'upper(entity_uuid)'],
  accessible_entities: [BOTH_ENTITIES, "'[]'", `'["${OTHER}"]'`, "'[5]'", "'[[]]'"],
  scopes: [
    `'["threats:read","threats:write"]'`,
    `'["threats:*"]'`,
    `'["*:*"]'`,
    "'[]'",
    `'["threats:read","threats:read"]'`,
    "'[null]'",
    `'["Threats:read"]'`,
  ],
  justification: ["'because'", "''"],
  metadata: [`'{"team":"blue"}'`, `'{"a":5}'`, `'{"__proto__":"x"}'`],
  created_at: ['created_at + 1', '0', '-1', HUGE],
  expires_at: ['NULL', 'expires_at + 1', '0', HUGE],
  rotated_from: [`'${OTHER}'`, "''"],
};

/** What would stop an edit by hand. */
const SAFEGUARDS_OFF = `
  DROP TRIGGER keyscope_keys_update;
  DROP TRIGGER keyscope_keys_delete;
  PRAGMA ignore_check_constraints = ON`;

describe.each(DRIVERS)('rows edited by hand, read with %s', (driver) => {
  const db = open(driver, ':memory:');
  afterAll(() => db.close());
  const store = sqliteStore(db);
  db.exec(SAFEGUARDS_OFF);

  editedRows({
    store: () => store,
    sql: (text) => db.exec(text),
    edits: EDITS,
    huge: HUGE,
    throwsOverHuge: driver === 'node:sqlite',
  });
});
