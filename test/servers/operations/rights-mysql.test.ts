/** The rights in MariaDB that docs/operations.md prints: enough for a store, and no more. */
import { migrate, mysqlStore, purgeEnded } from 'keyscope/stores/mysql';
import { storeContract } from 'keyscope/testing';
import { afterAll, beforeAll, expect, test } from 'vitest';
import {
  type Console,
  type Opened,
  openConsole,
  trustCreators,
} from '../../support/mysql-clients.ts';
import { another, describeMysql, openClient } from '../../support/mysql-place.ts';
import { blocksUnder } from '../../support/pages.ts';
import { rightsIn, useEverything } from '../../support/rights.ts';

const [BEFORE = '', AFTER = '', PURGE = ''] = blocksUnder(
  'docs/operations.md',
  '### MySQL and MariaDB',
  'sql',
);
const RUN = crypto.randomUUID().slice(0, 8);

/** With names of this run, so that they do not collide with others. */
function own(sql: string): string {
  const users = sql.replaceAll(/\bkeyscope_(owner|service|purge)\b/g, `k_$1_${RUN}`);
  return users.replaceAll(/\bkeyscope\b/g, `k_keyscope_${RUN}`);
}

/** The statements of a block. */
function statementsOf(sql: string): readonly string[] {
  const parts = own(sql)
    .replaceAll(/^--.*$/gm, '')
    .split(';');
  return parts.map((part) => part.trim()).filter((part) => part !== '');
}

function openAs(user: string): Promise<Opened> {
  const as = { user: own(user), password: 'change me', database: own('keyscope') };
  return openClient('mariadb pool', as);
}

describeMysql('the rights in MariaDB', () => {
  let admin: Console;
  let owner: Opened;
  let service: Opened;
  let purge: Opened;

  async function run(sql: string): Promise<void> {
    for (const statement of statementsOf(sql)) await admin.rows(statement);
  }

  beforeAll(async () => {
    admin = await openConsole();
    await trustCreators(admin);
    await run(BEFORE);
    owner = await openAs('keyscope_owner');
    await migrate(owner.client);
    await run(AFTER);
    await run(PURGE);
    service = await openAs('keyscope_service');
    purge = await openAs('keyscope_purge');
  });
  afterAll(async () => {
    await Promise.all([owner.end(), service.end(), purge.end()]);
    await run('DROP DATABASE keyscope; DROP USER keyscope_owner, keyscope_service, keyscope_purge');
    await admin.end();
  });

  storeContract(test, () => mysqlStore(service.client));

  test('are all needed by the service', async () => {
    const rights = rightsIn(own(AFTER));
    expect(rights.length).toBe(7);
    for (const { right, table } of rights) {
      await run(`REVOKE ${right} ON ${table} FROM keyscope_service`);
      const use = () => useEverything(mysqlStore(service.client));
      await expect(use(), `${right} ON ${table}`).rejects.toThrow('command denied');
      await run(`GRANT ${right} ON ${table} TO keyscope_service`);
    }
    await useEverything(mysqlStore(service.client));
  });

  test.each([
    'DELETE FROM keyscope_keys',
    'DELETE FROM keyscope_addressing',
    'TRUNCATE keyscope_keys',
    'UPDATE keyscope_schema SET purge_before = 5',
    'DROP TRIGGER keyscope_keys_update',
    'DROP TABLE keyscope_keys',
    'CREATE TABLE mine (id INT)',
  ])('do not let the service do this: %s', async (sql) => {
    await expect(service.query(sql)).rejects.toThrow(/command denied/);
  });

  test('to purge are all needed, and the service has none of them', async () => {
    const record = { ...another(7), expiresAt: 1 };
    await mysqlStore(service.client).insert(record);
    const options = { endedBefore: new Date(2) };
    await expect(purgeEnded(service.client, options)).rejects.toThrow('command denied');
    for (const { right, table } of rightsIn(own(PURGE))) {
      await run(`REVOKE ${right} ON ${table} FROM keyscope_purge`);
      const named = `${right} ON ${table}`;
      await expect(purgeEnded(purge.client, options), named).rejects.toThrow('command denied');
      await run(`GRANT ${right} ON ${table} TO keyscope_purge`);
    }
    expect(await purgeEnded(purge.client, options)).toContain(record.keyId);
  });
});
