import { spawnSync } from 'node:child_process';
import { migrate, mysqlStore } from 'keyscope/stores/mysql';
import { schemaSql } from 'keyscope/stores/schema';
import { expect, test } from 'vitest';
import { type Database, openConsole, SERVER } from '../../support/mysql-clients.ts';
import { describeMysql, SLOW, schemaOf, withClient } from '../../support/mysql-place.ts';
import { RECORD } from '../../support/records.ts';

const SQL = schemaSql('mysql');

async function inOneQuery({ settings }: Database): Promise<void> {
  const console = await openConsole({ ...settings, multipleStatements: true });
  await console.rows(SQL);
  await console.end();
}

/** A migration tool that does not parse SQL: it splits at every semicolon at the end of a line. */
async function inPieces({ console }: Database): Promise<void> {
  const pieces = SQL.split(';\n').filter((piece) => piece.trim() !== '');
  for (const piece of pieces) await console.rows(piece);
}

async function byCommandLine({ name }: Database): Promise<void> {
  const { host, port, user, password } = SERVER;
  const login = [`--host=${host}`, `--port=${port}`, `--user=${user}`, `--password=${password}`];
  // Otherwise MySQL's CHECKs name another character set.
  login.push('--default-character-set=utf8mb4');
  const options = { input: SQL, encoding: 'utf8' } as const;
  const { status, stderr } = spawnSync('mariadb', [...login, name], options);
  expect(stderr).toBe('');
  expect(status).toBe(0);
}

/** The schema that `migrate` creates. */
function migratedSchema(): Promise<unknown> {
  return withClient('mysql2 connection', {}, async ({ client }, database) => {
    await migrate(client);
    return schemaOf(database);
  });
}

async function expectSameSchema(apply: (database: Database) => Promise<void>): Promise<void> {
  const expected = await migratedSchema();
  await withClient('mysql2 pool', {}, async ({ client }, database) => {
    await apply(database);
    expect(await schemaOf(database)).toEqual(expected);
    await migrate(client);
    expect(await schemaOf(database)).toEqual(expected);
    await mysqlStore(client).insert(RECORD);
  });
}

const hasCommandLine = spawnSync('mariadb', ['--version']).status === 0;

describeMysql('schemaSql', SLOW, () => {
  test('can be split at the ends of lines', () => {
    expect(SQL).not.toMatch(/DELIMITER|;[^\n]/);
  });

  test('creates the same schema as migrate, as several statements in one query', async () => {
    await expectSameSchema(inOneQuery);
  });

  test('creates the same schema as migrate, piece by piece', async () => {
    await expectSameSchema(inPieces);
  });

  test.skipIf(!hasCommandLine)(
    'creates the same schema as migrate, with the command-line client (skipped if missing)',
    async () => {
      await expectSameSchema(byCommandLine);
    },
  );
});
