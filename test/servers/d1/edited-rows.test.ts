import type { KeyStore } from 'keyscope';
import { d1Store } from 'keyscope/stores/d1';
import { MIGRATIONS } from 'keyscope/stores/schema';
import { beforeAll } from 'vitest';
import { ATTACKERS_DIGESTS, BOTH_ENTITIES, editedRows } from '../../support/edited-rows.ts';
import { OTHER } from '../../support/keyring.ts';
import { databases, describeWithWorkerd, SLOW, type Sql, sqlOf } from '../../support/workerd.ts';

const HUGE = '9223372036854775807';

const EDITS: Readonly<Record<string, readonly string[]>> = {
  key_id: [`'${OTHER}'`, "''", "'ABC'", 'NULL'],
  name: ["'other'", "''", "'CI'", "name || ' '", 'NULL', '5'],
  digest: [
    ...ATTACKERS_DIGESTS,
    "''",
    'upper(digest)',
    "digest || ' '",
    'substr(digest, 1, length(digest) - 1)',
    'NULL',
  ],
  seal: ['NULL', "''", 'upper(seal)', 'substr(seal, 2)', "x'00'"],
  entity_uuid: [`'${OTHER}'`, "''", 'upper(entity_uuid)', 'NULL'],
  accessible_entities: [
    BOTH_ENTITIES,
    "'[]'",
    `'["${OTHER}"]'`,
    "'[5]'",
    "'[[]]'",
    "'none'",
    'NULL',
  ],
  scopes: [
    `'["threats:read","threats:write"]'`,
    `'["threats:*"]'`,
    `'["*:*"]'`,
    "'[]'",
    `'["threats:read","threats:read"]'`,
    "'[null]'",
    `'["Threats:read"]'`,
    `'["nothing:known"]'`,
    "'{'",
    "'null'",
    'NULL',
  ],
  justification: ["'because'", "''"],
  metadata: [
    `'{"team":"blue"}'`,
    `'{"a":5}'`,
    `'{"__proto__":"x"}'`,
    "'[]'",
    "'text'",
    "x'7b7d'",
    'NULL',
  ],
  created_at: ['created_at + 1', '0', '-1', HUGE, "'soon'", 'NULL'],
  expires_at: ['NULL', 'expires_at + 1', '0', HUGE, 'expires_at + 0.5'],
  rotated_from: [`'${OTHER}'`, "''"],
};

/** Types and constraints, which a copy of a table may have lost. */
const SAFEGUARDS =
  / (?:TEXT|INTEGER)\b| NOT NULL| CHECK \(.*\)(?=,?\n)| PRIMARY KEY| UNIQUE|STRICT/g;

const BARE_TABLES = MIGRATIONS.sqlite
  .flat()
  .filter((sql) => sql.includes('CREATE TABLE'))
  .map((sql) => sql.replaceAll(SAFEGUARDS, ''));

describeWithWorkerd('rows edited by hand', SLOW, () => {
  const fresh = databases();
  let store: KeyStore;
  let sql: Sql;
  beforeAll(async () => {
    const db = await fresh();
    sql = sqlOf(db);
    for (const table of BARE_TABLES) await sql(table);
    await sql('INSERT INTO keyscope_schema (id, version) VALUES (1, 1)');
    store = d1Store(db);
  });

  editedRows({
    store: () => store,
    sql: (text) => sql(text),
    edits: EDITS,
    huge: HUGE,
    badTimes: ["'soon'", "''", '1.5'],
  });
});
