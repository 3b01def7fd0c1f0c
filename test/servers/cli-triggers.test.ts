/** What `doctor` says about the triggers and the columns of MySQL and MariaDB. */
import { createKeyring, defineScopes } from 'keyscope';
import { type CommandSql, defineConfig } from 'keyscope/cli';
import { migrate, mysqlStore } from 'keyscope/stores/mysql';
import { schemaSql } from 'keyscope/stores/schema';
import { expect, onTestFinished, test } from 'vitest';
import { CHECKS, type Finding } from '../../src/tools/cli/commands/doctor.js';
import { type Database, emptyDatabase, trustCreators } from '../support/mysql-clients.ts';
import { describeMysql, openClient, SLOW, withClient } from '../support/mysql-place.ts';

/** The findings, asked as an operator, or as a user of the server. */
async function findingsIn(database: Database, user: string = database.settings.user) {
  const { client, query, end } = await openClient('mysql2 connection', {
    ...database.settings,
    user,
  });
  const sql: CommandSql = {
    dialect: 'mysql',
    async query(text) {
      const [rows] = (await query(text)) as [object[]];
      return rows;
    },
  };
  const catalog = defineScopes({ threats: { read: 'Read.' } });
  const store = mysqlStore(client);
  const keyring = createKeyring({ prefix: 'acme', catalog, store, peppers: 'none' });
  const config = { ...defineConfig({ keyring, store, sql }), keyring };
  const findings: Finding[] = [];
  for (const check of CHECKS) findings.push(await check({ config, timeoutMs: 60_000, findings }));
  await end();
  return findings;
}

/** The finding about the triggers. */
async function triggersIn(database: Database, user?: string) {
  const findings = await findingsIn(database, user);
  return findings.find(({ check }) => check === 'triggers');
}

/** Creates a user with all rights on a database, and returns its name. */
async function userOf(database: Database): Promise<string> {
  const user = `k_${crypto.randomUUID().slice(0, 8)}`;
  const { rows } = database.console;
  await trustCreators(database.console);
  await rows(`CREATE USER ${user}`);
  await rows(`GRANT ALL ON ${database.name}.* TO ${user}`);
  onTestFinished(async () => {
    const admin = await emptyDatabase();
    await admin.console.rows(`DROP USER IF EXISTS ${user}`);
    await admin.drop();
  });
  return user;
}

const CHANGED = 'CREATE TRIGGER keyscope_keys_marks BEFORE UPDATE ON keyscope_keys FOR EACH ROW';

describeMysql('doctor on the triggers of MySQL', SLOW, () => {
  test('is ok after migrate', async () => {
    await withClient('mysql2 pool', {}, async ({ client }, database) => {
      await migrate(client);
      expect(await triggersIn(database)).toMatchObject({ state: 'ok' });
    });
  });

  // MySQL keeps the semicolon of a script in the text of a trigger.
  test('is ok after a script with other white space', async () => {
    await withClient('mysql2 pool', { multipleStatements: true }, async ({ query }, database) => {
      await query(schemaSql('mysql').replaceAll('\n  ', '\r\n\t'));
      expect(await triggersIn(database)).toMatchObject({ state: 'ok' });
    });
  });

  // It counted the names.
  test.each([
    ['with another body', `${CHANGED} SET NEW.key_id = NEW.key_id`],
    ['that fires on something else', `${CHANGED.replace('UPDATE', 'INSERT')} SET @a = 1`],
    ['that is missing', 'DO 0'],
  ])('names a trigger %s', async (_case, change) => {
    await withClient('mysql2 pool', {}, async ({ client }, database) => {
      await migrate(client);
      await database.console.rows('DROP TRIGGER keyscope_keys_marks');
      await database.console.rows(change);
      const finding = await triggersIn(database);
      expect(finding).toMatchObject({ state: 'to do' });
      expect(finding?.what).toContain('missing, switched off or changed: keyscope_keys_marks;');
    });
  });

  test('says that every write fails if the user of the triggers does not exist', async () => {
    await withClient('mysql2 pool', {}, async (_opened, database) => {
      const user = await userOf(database);
      const owner = await openClient('mysql2 pool', { ...database.settings, user });
      await migrate(owner.client);
      await owner.end();
      expect(await triggersIn(database)).toMatchObject({ state: 'ok' });
      // May read no users.
      const reader = await userOf(database);
      expect(await triggersIn(database, reader)).toMatchObject({ state: 'ok' });
      await database.console.rows(`DROP USER ${user}`);
      const finding = await triggersIn(database);
      expect(finding).toMatchObject({ state: 'to do' });
      expect(finding?.what).toContain(`${user}@% does not exist, but triggers run as this user`);
      expect(await triggersIn(database, reader)).toMatchObject({ state: 'ok' });
      // As it says.
      await database.console.rows('DELETE FROM keyscope_schema');
      const keeper = await openClient('mysql2 pool', { ...database.settings, user: reader });
      await migrate(keeper.client);
      await keeper.end();
      expect(await triggersIn(database)).toMatchObject({ state: 'ok' });
    });
  });
});

describeMysql('doctor on the columns of MySQL', SLOW, () => {
  const ascii = 'CHARACTER SET ascii COLLATE';

  test.each([
    ['keyscope_keys', `entity_id VARCHAR(64) ${ascii} ascii_general_ci`],
    ['keyscope_keys', `entity_id VARCHAR(64) ${ascii} ascii_bin`],
    ['keyscope_keys', 'digest VARCHAR(255) COLLATE utf8mb4_bin'],
    ['keyscope_keys', `key_id VARCHAR(36) ${ascii} ascii_general_ci`],
    ['keyscope_addressing', `entity_id VARCHAR(64) ${ascii} ascii_general_ci`],
  ])('names the column of %s that equals more than before: %s', async (table, column) => {
    await withClient('mysql2 pool', {}, async ({ client }, database) => {
      await migrate(client);
      const { rows } = database.console;
      // A column of the service may have any type.
      await rows(`ALTER TABLE ${table} ADD COLUMN team VARCHAR(9) ${ascii} ascii_general_ci`);
      const [before] = (await findingsIn(database)).filter(({ check }) => check === 'schema');
      expect(before).toMatchObject({ state: 'ok' });
      await rows(`ALTER TABLE ${table} MODIFY ${column} NOT NULL`);
      const [after] = (await findingsIn(database)).filter(({ check }) => check === 'schema');
      const [name] = column.split(' ');
      expect(after).toMatchObject({ state: 'to do' });
      expect(after?.what).toContain(`${table}.${name} may take one text for another`);
    });
  });
});
