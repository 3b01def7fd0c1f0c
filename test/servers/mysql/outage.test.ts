import { mysqlStore } from 'keyscope/stores/mysql';
import { expect, test } from 'vitest';
import { openDoor } from '../../support/door.ts';
import { AUTHORITY, PLAIN } from '../../support/keyring.ts';
import { emptyDatabase, openConsole, SERVER } from '../../support/mysql-clients.ts';
import {
  describeMysql,
  lineageOf,
  openClient,
  POOLS,
  revokeAt,
  SLOW,
  until,
  withClient,
} from '../../support/mysql-place.ts';
import { outcome } from '../../support/outcome.ts';
import { keyringOver } from '../../support/patient-keyring.ts';
import { RECORD } from '../../support/records.ts';
import { openTcpProxy } from '../../support/tcp-proxy.ts';

// Short, because the test waits for each attempt while the server is away. On a busy machine an
// attempt may be too short, and is then repeated.
const POOL_OPTIONS = [
  ['mysql2 pool', { connectTimeout: 500 }],
  ['mariadb pool', { connectTimeout: 500, acquireTimeout: 800, initializationTimeout: 800 }],
] as const;

describeMysql.each(POOL_OPTIONS)('a server that is away, over a %s', SLOW, (kind, options) => {
  test('is a broken store, never a bad key, and is used again once it is back', async () => {
    const door = await openDoor(SERVER);
    const database = await emptyDatabase();
    const settings = { ...database.settings, ...options, host: '127.0.0.1', port: door.port };
    await door.set('shut');
    const { client, end } = await openClient(kind, settings);
    const keyring = keyringOver(mysqlStore(client));
    const issue = () => keyring.issue(PLAIN, AUTHORITY);
    // Down from the start: creating the store asked the server nothing.
    expect(await outcome(issue)).toBe('StoreError');
    await door.set('open');
    await until(async () => (await outcome(issue)) === 'passed', 'a key is issued');
    const { key, info } = await issue();
    const verify = () => keyring.verify(key);
    const revoke = () => keyring.revoke(info.keyId, AUTHORITY);
    expect(await outcome(verify)).toBe('passed');
    // While in use.
    await door.set('shut');
    for (const act of [issue, verify, revoke]) expect(await outcome(act)).toBe('StoreError');
    await door.set('open');
    await until(async () => (await outcome(verify)) === 'passed', 'a key is verified');
    await until(async () => (await outcome(revoke)) === 'passed', 'a key is revoked');
    expect(await outcome(verify)).toBe('invalid_token revoked');
    await end();
    await door.set('gone');
    await database.drop();
  });

  test('costs a pool the connection of an interrupted write: it is not lent again', async () => {
    const single = { ...options, connectionLimit: 1 };
    await withClient(kind, single, async ({ client }, { settings, console }) => {
      const store = mysqlStore(client);
      await store.insert(RECORD);
      const rival = await openConsole(settings);
      await rival.rows('START TRANSACTION');
      await rival.rows(
        `UPDATE keyscope_keys SET last_used_at = 9 WHERE key_id = '${RECORD.keyId}'`,
      );
      const revoking = outcome(async () => store.mark(RECORD.keyId, revokeAt(5)));
      const waiting = `SELECT id FROM information_schema.processlist
        WHERE db = DATABASE() AND info LIKE '%SET revoked_at%' AND id <> CONNECTION_ID()`;
      await until(async () => (await console.rows(waiting)).length === 1, 'the write waits');
      await console.rows(`KILL ${await console.value(waiting)}`);
      expect(await revoking).toMatch(/^Error: keyscope: /);
      await rival.rows('ROLLBACK');
      await rival.end();
      // The pool may have only one connection, which is new.
      const find = async () => store.findById(RECORD.keyId);
      await until(async () => (await outcome(find)) === 'passed', 'a key is found');
      expect(await find()).toEqual(RECORD);
      expect(await store.mark(RECORD.keyId, revokeAt(6))).toBe(true);
    });
  });
});

// A firewall forgets a connection, and its end never arrives: mysql2 waited for ever, until all
// connections of the pool did.
describeMysql.each(POOLS)('a connection of a %s that never answers again', SLOW, (kind) => {
  test('is closed, and another one used', async () => {
    const database = await emptyDatabase();
    const proxy = await openTcpProxy(SERVER);
    const settings = { ...database.settings, host: '127.0.0.1', port: proxy.port };
    const { client, end } = await openClient(kind, { ...settings, connectionLimit: 2 });
    const store = mysqlStore(client);
    await store.insert(RECORD);
    await Promise.all([1, 2].map(async () => store.listLineage(lineageOf(RECORD.keyId))));
    proxy.lose('answers');
    const uses = [
      outcome(async () => store.findById(RECORD.keyId)),
      outcome(async () => store.mark(RECORD.keyId, revokeAt(5))),
    ];
    expect(await Promise.all(uses)).toEqual([
      'Error: keyscope: the server has not answered for 5 s',
      'Error: keyscope: the server has not answered for 10 s',
    ]);
    proxy.lose(null);
    expect(await store.findById(RECORD.keyId)).toMatchObject({ keyId: RECORD.keyId });
    await end();
    await proxy.close();
    await database.drop();
  });
});
