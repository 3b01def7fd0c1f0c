import type { KeyStore } from 'keyscope';
import { d1Store } from 'keyscope/stores/d1';
import { MIGRATIONS } from 'keyscope/stores/schema';
import { beforeAll } from 'vitest';
import {
  ATTACKERS_DIGESTS,
  DAMAGED_COLUMNS,
  EDITED_COLUMNS,
  type Edits,
  editedBy,
  editedRows,
  quoted,
} from '../../../support/edited-rows.ts';
import { OTHER } from '../../../support/keyring.ts';
import { databases, describeWithWorkerd, SLOW, type Sql, sqlOf } from '../../../support/workerd.ts';

const HUGE = '9223372036854775807';

const EDITS: Edits = {
  ...EDITED_COLUMNS,
  format: [...EDITED_COLUMNS.format, HUGE, '1.5', "x'31'", 'NULL'],
  prefix: [...EDITED_COLUMNS.prefix, 'NULL', '5'],
  hint: [...EDITED_COLUMNS.hint, 'NULL'],
  keyId: [quoted(OTHER), "''", "'ABC'", 'NULL'],
  name: [...EDITED_COLUMNS.name, "name || ' '", 'NULL', '5'],
  digest: [
    ...ATTACKERS_DIGESTS.map(quoted),
    "''",
    'upper(digest)',
    "digest || ' '",
    'substr(digest, 1, length(digest) - 1)',
    'NULL',
  ],
  seal: ['NULL', "''", 'upper(seal)', 'substr(seal, 2)', "x'00'"],
  entityId: [quoted(OTHER), "''", 'upper(entity_id)', 'NULL'],
  accessibleEntities: [...EDITED_COLUMNS.accessibleEntities, "'none'", 'NULL'],
  scopes: [...EDITED_COLUMNS.scopes, `'["nothing:known"]'`, "'{'", "'null'", 'NULL'],
  metadata: [...EDITED_COLUMNS.metadata, "'[]'", "'text'", "x'7b7d'", 'NULL'],
  createdAt: ['created_at + 1', '0', '-1', HUGE, "'soon'", 'NULL'],
  expiresAt: ['NULL', 'expires_at + 1', '0', HUGE, 'expires_at + 0.5'],
  rootKeyId: [...EDITED_COLUMNS.rootKeyId, 'NULL'],
};

/** Types and constraints, which a copy of a table may have lost. */
const SAFEGUARDS =
  / (?:TEXT|INTEGER)\b| NOT NULL| CHECK \(.*\)(?=,?\n)| PRIMARY KEY(?! \()| UNIQUE/g;
const KINDS_OF_TABLE = /STRICT,?|WITHOUT ROWID/g;

const STATEMENTS = MIGRATIONS.sqlite.flat();

const BARE_TABLES = STATEMENTS.filter((sql) => sql.includes('CREATE TABLE')).map((sql) =>
  sql.replaceAll(SAFEGUARDS, '').replaceAll(KINDS_OF_TABLE, ''),
);

/** Without the constraints that reject an edit; with the triggers that file a key. */
const TRIGGERS = STATEMENTS.filter(
  (sql) => sql.includes('CREATE TRIGGER') && !sql.includes('RAISE('),
);

describeWithWorkerd('rows edited by hand', SLOW, () => {
  const fresh = databases();
  let store: KeyStore;
  let sql: Sql;
  beforeAll(async () => {
    const db = await fresh();
    sql = sqlOf(db);
    for (const statement of [...BARE_TABLES, ...TRIGGERS]) await sql(statement);
    await sql('INSERT INTO keyscope_schema (id, version, min_reader) VALUES (1, 1, 1)');
    store = d1Store(db);
  });

  editedRows({
    store: () => store,
    ...editedBy((text) => sql(text)),
    edits: EDITS,
    damages: DAMAGED_COLUMNS,
    badTimes: [HUGE, "'soon'", "''", '1.5'],
  });
});
