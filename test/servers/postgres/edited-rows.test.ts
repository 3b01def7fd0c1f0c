import { beforeAll, describe, expect, test } from 'vitest';
import { FIXED } from '../../support/columns.ts';
import {
  ATTACKERS_DIGESTS,
  BAD_USES,
  type Damages,
  EDITED_COLUMNS,
  type Edits,
  editedBy,
  editedRows,
  quoted,
} from '../../support/edited-rows.ts';
import { OTHER, OWN, START } from '../../support/keyring.ts';
import { sharedPglite } from '../../support/postgres-clients.ts';
import { describeKind, RECORD, using } from '../../support/postgres-place.ts';

// It takes seconds to start.
beforeAll(sharedPglite, 60_000);

const HUGE = '9223372036854775807';

/** What the type of a column refuses is in the tests of the table. */
const EDITS: Edits = {
  keyId: [quoted(OTHER), 'NULL'],
  name: [...EDITED_COLUMNS.name, 'upper(name)', "name || ' '", 'NULL'],
  digest: [
    ...ATTACKERS_DIGESTS.map(quoted),
    "''",
    'upper(digest)',
    "digest || ' '",
    'left(digest, -1)',
    'left(digest, 20)',
    'NULL',
  ],
  seal: ['NULL', "''", 'upper(seal)', 'left(seal, -1)', 'reverse(seal)'],
  entityUuid: [quoted(OTHER), 'NULL'],
  accessibleEntities: [
    `'{${OWN},${OTHER}}'`,
    "'{}'",
    `'{${OTHER}}'`,
    `'{NULL,${OWN}}'`,
    `'{{${OWN}},{${OTHER}}}'`,
    'NULL',
  ],
  scopes: [
    "'{threats:read,threats:write}'",
    "'{threats:*}'",
    "'{*:*}'",
    "'{}'",
    "'{NULL}'",
    "'{nothing:known}'",
    "'{threats:read,threats:read}'",
    "'{{threats:read}}'",
    "'{Threats:read}'",
    'NULL',
  ],
  justification: EDITED_COLUMNS.justification,
  metadata: [...EDITED_COLUMNS.metadata, "'[]'", "'5'", "'null'", `'"text"'`, 'NULL'],
  createdAt: ['created_at + 1', '0', '-1', HUGE, 'NULL'],
  expiresAt: ['NULL', 'expires_at + 1', '0', HUGE],
  rotatedFrom: [quoted(OTHER)],
};

const BAD_OBJECTS = ["'[]'", "'5'", `'"text"'`, "'null'", 'NULL'];

const DAMAGES: Damages = {
  scopes: ["'{NULL}'", "'{{threats:read}}'", 'NULL'],
  accessibleEntities: [`'{NULL,${OWN}}'`, `'{{${OWN}},{${OTHER}}}'`, 'NULL'],
  metadata: [...BAD_OBJECTS, `'{"a":5}'`],
  scopesUsed: [...BAD_OBJECTS, ...BAD_USES.map(quoted)],
};

/** As a migration that went wrong may leave the table: no trigger, no constraint. */
const SAFEGUARDS_OFF = `
  ALTER TABLE keyscope_keys DISABLE TRIGGER USER, DROP CONSTRAINT keyscope_keys_pkey,
    DROP CONSTRAINT keyscope_keys_metadata_check, DROP CONSTRAINT keyscope_keys_scopes_used_check;
  ALTER TABLE keyscope_keys
    ${[...FIXED, 'scopes_used'].map((column) => `ALTER ${column} DROP NOT NULL`).join(', ')}`;

describe.each(['PGlite', 'pg Pool of 10', 'postgres.js with ten'])('with %s', (kind) => {
  describeKind(kind)('rows edited by hand', { timeout: 120_000 }, () => {
    const used = using(kind);
    beforeAll(async () => {
      await used.store.summarize(0);
      await used.sql(SAFEGUARDS_OFF);
    });

    editedRows({
      store: () => used.store,
      ...editedBy((text) => used.sql(text)),
      edits: EDITS,
      damages: DAMAGES,
      badTimes: [HUGE],
    });

    test('a summary quotes nothing of a digest without a scheme', async () => {
      for (const digest of ['no-scheme-at-all', '', '$', '$$']) {
        await used.store.insert({ ...RECORD, digest });
        const scheme = { scheme: '', live: 1, lastUsedAt: null };
        expect(await used.store.summarize(START)).toEqual([scheme]);
        expect(await used.store.findById(RECORD.keyId)).toMatchObject({ digest });
        await used.sql('DELETE FROM keyscope_keys');
      }
    });
  });
});
