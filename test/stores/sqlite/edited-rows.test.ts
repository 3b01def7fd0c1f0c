import { sqliteStore } from 'keyscope/stores/sqlite';
import { afterAll, describe } from 'vitest';
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
import { DRIVERS, open } from '../../support/sqlite.ts';

const HUGE = '1 << 60';

const EDITS: Edits = {
  keyId: ["'0f0f0f0f-0000-4000-8000-00000000000f'", "''", "'ABC'"],
  name: EDITED_COLUMNS.name,
  digest: [...ATTACKERS_DIGESTS.map(quoted), "''", 'upper(digest)', "digest || ' '"],
  seal: ['NULL', "''", 'upper(seal)', "replace(seal, substr(seal, 1, 1), 'f') || 'f'"],
  entityUuid: [quoted(OTHER), "''", 'upper(entity_uuid)'],
  accessibleEntities: EDITED_COLUMNS.accessibleEntities,
  scopes: EDITED_COLUMNS.scopes,
  justification: EDITED_COLUMNS.justification,
  metadata: EDITED_COLUMNS.metadata,
  createdAt: ['created_at + 1', '0', '-1', HUGE],
  expiresAt: ['NULL', 'expires_at + 1', '0', HUGE],
  rotatedFrom: EDITED_COLUMNS.rotatedFrom,
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
    ...editedBy((text) => db.exec(text)),
    edits: EDITS,
    damages: DAMAGED_COLUMNS,
    badTimes: [HUGE],
    unreadable: driver === 'node:sqlite' ? [HUGE] : [],
  });
});
