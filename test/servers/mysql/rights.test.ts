import type { MysqlClient } from 'keyscope/stores/mysql';
import { migrate, mysqlStore, purgeEnded } from 'keyscope/stores/mysql';
import { expect, test } from 'vitest';
import { OTHER, OWN } from '../../support/keyring.ts';
import { type Database, type Opened, trustCreators } from '../../support/mysql-clients.ts';
import {
  another,
  describeMysql,
  OWN_KEYS,
  openClient,
  retireAt,
  revokeAt,
  SLOW,
  schemaOf,
  withClient,
} from '../../support/mysql-place.ts';
import { RECORD } from '../../support/records.ts';

/** The name of the user that {@link asUser} creates. */
function userOf({ name }: Database): string {
  return `k${name.slice(-20)}`;
}

/** Creates a user with some rights on the database, for as long as `act` runs. */
async function asUser(
  database: Database,
  rights: string,
  act: (opened: Opened) => Promise<void>,
): Promise<void> {
  const { console, settings, name } = database;
  const user = userOf(database);
  const password = 'x';
  await console.rows(`CREATE USER ${user} IDENTIFIED BY '${password}'`);
  await console.rows(`GRANT ${rights} ON ${name}.* TO ${user}`);
  const opened = await openClient('mariadb pool', { ...settings, user, password });
  try {
    await act(opened);
  } finally {
    await opened.end();
    await console.rows(`DROP USER ${user}`);
  }
}

describeMysql('the rights of a user', SLOW, () => {
  test('may be the documented minimum once the schema is there', async () => {
    await withClient('mysql2 connection', {}, async ({ client }, database) => {
      await asUser(database, 'SELECT', async (least) => {
        const store = mysqlStore(least.client);
        const insert = async () => store.insert(RECORD);
        // Before that, the store waits for the schema.
        await expect(insert).rejects.toThrow(/keyscope: CREATE command denied/);
        await migrate(client);
        for (const table of ['keyscope_keys', 'keyscope_addressing']) {
          await database.console.rows(`GRANT INSERT, UPDATE ON ${table} TO ${userOf(database)}`);
        }
        await insert();
        expect(await store.findById(RECORD.keyId)).toEqual(RECORD);
        await store.insert({ ...another(1), accessibleEntities: [OWN, OTHER] });
        expect(await store.mark(RECORD.keyId, revokeAt(5))).toBe(true);
        await store.touch([{ keyId: RECORD.keyId, lastUsedAt: 5, scopesUsed: { 'a:b': 5 } }]);
        expect(await store.summarize(1)).toMatchObject([{ live: 1 }]);
        expect(await store.list({ ...OWN_KEYS, addressing: true })).toEqual([]);
        const purge = async () => purgeEnded(least.client, { endedBefore: new Date(9) });
        await expect(purge).rejects.toThrow(/keyscope: UPDATE command denied/);
        const rights = [
          'DELETE ON keyscope_keys',
          'DELETE ON keyscope_addressing',
          'UPDATE ON keyscope_schema',
        ];
        for (const right of rights) {
          await database.console.rows(`GRANT ${right} TO ${userOf(database)}`);
        }
        expect(await purge()).toEqual([RECORD.keyId]);
      });
    });
  });

  test('to migrate are the documented ones, and must last', async () => {
    await withClient('mysql2 connection', {}, async ({ client }, database) => {
      await trustCreators(database.console);
      const store = mysqlStore(client);
      const rights = 'CREATE, TRIGGER, SELECT, INSERT, UPDATE, DELETE';
      await asUser(database, rights, async (opened) => {
        await migrate(opened.client);
        const entities = { accessibleEntities: [OWN, OTHER] };
        await store.insert({ ...another(1), ...entities, expiresAt: 5 });
        expect(await purgeEnded(client, { endedBefore: new Date(9) })).toEqual([another(1).keyId]);
        await store.insert(RECORD);
        expect(await store.mark(RECORD.keyId, retireAt(5))).toBe(true);
      });
      const schema = await schemaOf(database);
      const revoke = async () => store.mark(RECORD.keyId, revokeAt(5));
      const advice = 'DELETE FROM keyscope_schema, then migrate as a user that you keep';
      await expect(revoke).rejects.toThrow(advice);
      await database.console.rows('DELETE FROM keyscope_schema');
      await migrate(client);
      expect(await schemaOf(database)).toEqual(schema);
      expect(await revoke()).toBe(true);
    });
  });

  // A binary log cannot be switched on while the server runs.
  test('come with advice if the server lets nobody create triggers', async () => {
    await withClient('mysql2 connection', {}, async ({ client }) => {
      const sqlMessage = 'You do not have the SUPER privilege';
      const refusing: MysqlClient = {
        execute: (statement, values) => client.execute(statement, values),
        query(statement) {
          if (!statement.sql.includes('CREATE TRIGGER')) return client.query(statement);
          return Promise.reject(Object.assign(new Error('x'), { errno: 1419, sqlMessage }));
        },
      };
      const why = `keyscope: ${sqlMessage}. Migrate as a user with SUPER, or set log_bin`;
      await expect(migrate(refusing)).rejects.toThrow(why);
      await migrate(client);
    });
  });
});
