import { beforeAll, describe, expect, test } from 'vitest';
import { CHANGING, FIXED } from '../../support/columns.ts';
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

// PGlite takes seconds to start.
beforeAll(sharedPglite, 60_000);

const HUGE = '9223372036854775807';
const LEAST = '-9223372036854775808';

/** The tests of the table have the values that a column's type rejects. */
const EDITS: Edits = {
  format: [...EDITED_COLUMNS.format, '-2147483648', 'NULL'],
  keyId: [quoted(OTHER), 'NULL'],
  prefix: [...EDITED_COLUMNS.prefix, "prefix || ' '", 'NULL'],
  hint: [...EDITED_COLUMNS.hint, "reverse(hint) || '0'", 'NULL'],
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
  entityId: [quoted(OTHER), 'upper(entity_id)', "entity_id || ' '", "''", 'NULL'],
  accessibleEntities: [
    `'{${OWN},${OTHER}}'`,
    "'{}'",
    `'{${OTHER}}'`,
    `'{NULL,${OWN}}'`,
    `'{{${OWN}},{${OTHER}}}'`,
    `ARRAY['${OWN} ']`,
    'ARRAY[upper(entity_id)]',
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
  createdBy: EDITED_COLUMNS.createdBy,
  expiresAt: ['NULL', 'expires_at + 1', '0', HUGE],
  rotatedFrom: [quoted(OTHER)],
  rootKeyId: [quoted(OTHER), 'NULL'],
  issuedUnder: [quoted(OTHER)],
  trust: EDITED_COLUMNS.trust,
};

const BAD_OBJECTS = ["'[]'", "'5'", `'"text"'`, "'null'", 'NULL'];

const BAD_ENTITIES = [`'{NULL,${OWN}}'`, `'{{${OWN}},{${OTHER}}}'`, `'{"a b",${OWN}}'`, 'NULL'];

const DAMAGES: Damages = {
  scopes: ["'{NULL}'", "'{{threats:read}}'", 'NULL'],
  accessibleEntities: BAD_ENTITIES,
  withdrawn: [...BAD_ENTITIES, `'{${OWN}}'`],
  metadata: [...BAD_OBJECTS, `'{"a":5}'`],
  scopesUsed: [...BAD_OBJECTS, ...BAD_USES.map(quoted)],
};

const TIMES = [...FIXED, ...CHANGING].filter((column) => column.endsWith('_at'));

const CHECKED = ['entity_id', 'accessible_entities', 'withdrawn', 'metadata', 'scopes_used'];

/** The checks of columns, as parts of an ALTER TABLE that drops them. */
function unchecked(columns: readonly string[]): string {
  return columns.map((column) => `DROP CONSTRAINT keyscope_keys_${column}_check`).join();
}

/** Columns that may be null afterwards, as parts of an ALTER TABLE. */
function nullable(columns: readonly string[]): string {
  return columns.map((column) => `ALTER ${column} DROP NOT NULL`).join();
}

/** The table as a failed migration may leave it, so that nothing rejects an edit. */
const SAFEGUARDS_OFF = `
  ALTER TABLE keyscope_keys
    DISABLE TRIGGER keyscope_keys_update, DISABLE TRIGGER keyscope_keys_marks,
    DISABLE TRIGGER keyscope_keys_with_mark, DISABLE TRIGGER keyscope_keys_delete,
    DROP CONSTRAINT keyscope_keys_pkey,
    ${unchecked([...CHECKED, ...TIMES])}, DROP CONSTRAINT keyscope_keys_own_entity;
  ALTER TABLE keyscope_keys ${nullable([...FIXED, 'withdrawn', 'scopes_used'])}`;

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
      badTimes: [HUGE, LEAST],
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
