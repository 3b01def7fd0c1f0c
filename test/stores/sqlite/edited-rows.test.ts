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
import { dropSafeguards } from '../../support/sqlite-databases.ts';

const HUGE = '1 << 60';
const LEAST = '-9223372036854775808';

const EDITS: Edits = {
  ...EDITED_COLUMNS,
  format: [...EDITED_COLUMNS.format, HUGE],
  keyId: ["'0f0f0f0f-0000-4000-8000-00000000000f'", "''", "'ABC'"],
  digest: [...ATTACKERS_DIGESTS.map(quoted), "''", 'upper(digest)', "digest || ' '"],
  seal: ['NULL', "''", 'upper(seal)', "replace(seal, substr(seal, 1, 1), 'f') || 'f'"],
  entityId: [quoted(OTHER), "''", 'upper(entity_id)'],
  createdAt: ['created_at + 1', '0', '-1', HUGE],
  expiresAt: ['NULL', 'expires_at + 1', '0', HUGE],
};

describe.each(DRIVERS)('rows edited by hand, read with %s', (driver) => {
  const db = open(driver, ':memory:');
  afterAll(() => db.close());
  const store = sqliteStore(db);
  dropSafeguards(db);

  editedRows({
    store: () => store,
    ...editedBy((text) => db.exec(text)),
    edits: EDITS,
    damages: DAMAGED_COLUMNS,
    badTimes: [HUGE, LEAST],
  });
});
