/** The findings of `doctor` about the columns of a SQLite file. */
import { DatabaseSync } from 'node:sqlite';
import { createKeyring, defineScopes } from 'keyscope';
import { type CommandSql, defineConfig } from 'keyscope/cli';
import { schemaSql } from 'keyscope/stores/schema';
import { sqliteStore } from 'keyscope/stores/sqlite';
import { expect, test } from 'vitest';
import { CHECKS, type Finding } from '../../../../src/tools/cli/commands/doctor.js';

const KEYS = 'keyscope_keys.entity_id';
const ADDRESSING = 'keyscope_addressing.entity_id';

/** The finding about the schema of a database that was made by this SQL. */
async function schemaOf(ddl: string): Promise<Finding | undefined> {
  const db = new DatabaseSync(':memory:');
  db.exec(ddl);
  const store = sqliteStore(db);
  const sql: CommandSql = { dialect: 'sqlite', query: async (text) => db.prepare(text).all() };
  const catalog = defineScopes({ threats: { read: 'Read.' } });
  const keyring = createKeyring({ prefix: 'acme', catalog, store, peppers: 'none' });
  const config = { ...defineConfig({ keyring, store, sql }), keyring };
  const findings: Finding[] = [];
  for (const check of CHECKS) findings.push(await check({ config, timeoutMs: 60_000, findings }));
  db.close();
  return findings.find(({ check }) => check === 'schema');
}

/** The schema, with another column of entities in each of its tables in turn. */
function withColumn(column: string): readonly [name: string, ddl: string][] {
  const [before = '', keys = '', addressing = ''] =
    schemaSql('sqlite').split(/^ {2}entity_id .*\n/m);
  const own = '  entity_id TEXT NOT NULL,\n';
  const other = `  entity_id ${column},\n`;
  return [
    [KEYS, [before, other, keys, own, addressing].join('')],
    [ADDRESSING, [before, own, keys, other, addressing].join('')],
  ];
}

test.each([
  'TEXT COLLATE NOCASE NOT NULL',
  'TEXT NOT NULL COLLATE RTRIM',
  'INTEGER NOT NULL',
  'ANY NOT NULL',
  'BLOB NOT NULL',
])('names a column that was made as %s', async (column) => {
  for (const [name, ddl] of withColumn(column)) {
    const finding = await schemaOf(ddl);
    expect(finding).toMatchObject({ state: 'to do' });
    expect(finding?.what).toContain(`version 1, but ${name} may take one text for another`);
  }
});

test('names both, and a column whose index is gone', async () => {
  const folding = schemaSql('sqlite').replaceAll('entity_id TEXT', 'entity_id TEXT COLLATE NOCASE');
  expect((await schemaOf(folding))?.what).toContain(`but ${ADDRESSING}, ${KEYS} may take`);
  const bare = `${schemaSql('sqlite')}; DROP INDEX keyscope_keys_listing`;
  expect((await schemaOf(bare))?.what).toContain(`but ${KEYS} may take`);
});

test('is content with the schema, in other words or with columns of the service', async () => {
  const schema = schemaSql('sqlite');
  const added = 'ALTER TABLE keyscope_keys ADD COLUMN team TEXT COLLATE NOCASE';
  const search = 'CREATE INDEX search ON keyscope_keys (entity_id COLLATE NOCASE)';
  const spelled = schema.replaceAll(/ entity_id TEXT/g, ' "entity_id" text');
  for (const ddl of [schema, spelled, `${schema}; ${added}; ${search}`]) {
    expect(await schemaOf(ddl)).toEqual({ check: 'schema', state: 'ok', what: 'version 1' });
  }
});
