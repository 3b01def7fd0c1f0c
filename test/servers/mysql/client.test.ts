import type { MysqlClient } from 'keyscope/stores/mysql';
import { migrate, mysqlStore } from 'keyscope/stores/mysql';
import mariadb from 'mariadb';
import callbacks from 'mariadb/callback';
import core from 'mysql2';
import mysql from 'mysql2/promise';
import { expect, test } from 'vitest';
import { complaint } from '../../support/complaint.ts';
import { SERVER } from '../../support/mysql-clients.ts';
import { another, describeMysql, withClient } from '../../support/mysql-place.ts';
import { RECORD } from '../../support/records.ts';

const NO_CLIENT = 'mysqlStore: pass a pool or a connection of mysql2/promise or mariadb';

function complaintAbout(client: unknown): string {
  return complaint(() => mysqlStore(client as MysqlClient));
}

describeMysql('a client', () => {
  test('is rejected if it is not a client', () => {
    const odd = [undefined, null, 'mysql://', {}, { execute() {} }, { query() {} }, mysqlStore];
    for (const client of odd) expect(complaintAbout(client)).toBe(NO_CLIENT);
  });

  // The cluster of mysql2 failed at its first use, with the advice to connect without a typeCast.
  test('is rejected if it is a cluster of pools', async () => {
    for (const cluster of [mysql.createPoolCluster(), mariadb.createPoolCluster()]) {
      expect(complaintAbout(cluster)).toBe(NO_CLIENT);
      await cluster.end();
    }
  });

  test("may be the primary's pool in a cluster of pools", async () => {
    await withClient('mysql2 connection', {}, async (_opened, { settings }) => {
      const clusters = [mysql.createPoolCluster(), mariadb.createPoolCluster()] as const;
      for (const [index, cluster] of clusters.entries()) {
        cluster.add('primary', settings);
        const store = mysqlStore(cluster.of('primary') as unknown as MysqlClient);
        await store.insert(another(index));
        expect(await store.findById(another(index).keyId)).toEqual(another(index));
        await cluster.end();
      }
    });
  });

  test('may be a connection that a pool lent, outside a transaction', async () => {
    await withClient('mysql2 connection', {}, async (_opened, { settings }) => {
      const pools = [mysql.createPool(settings), mariadb.createPool(settings)] as const;
      for (const [index, pool] of pools.entries()) {
        const loan = await pool.getConnection();
        const store = mysqlStore(loan);
        await loan.beginTransaction();
        const find = async () => store.findById(another(index).keyId);
        await expect(find).rejects.toThrow('in the middle of a transaction');
        await loan.rollback();
        await store.insert(another(index));
        expect(await find()).toEqual(another(index));
        await loan.release();
        await pool.end();
      }
    });
  });

  test('is rejected with advice if it has the callback API', async () => {
    const clients = [
      core.createPool({ ...SERVER }),
      callbacks.createPool({ ...SERVER }),
      core.createConnection({ ...SERVER }),
      callbacks.createConnection({ ...SERVER }),
    ];
    for (const client of clients) {
      expect(complaintAbout(client)).toContain('this client has the callback API');
      await expect(migrate(client as unknown as MysqlClient)).rejects.toThrow(TypeError);
    }
    const ends = clients.map((client) => new Promise<unknown>((resolve) => client.end(resolve)));
    await Promise.all(ends);
  });

  test('of mysql2 may be the result of .promise()', async () => {
    await withClient('mysql2 connection', {}, async (_opened, { settings }) => {
      const pool = core.createPool(settings);
      const store = mysqlStore(pool.promise());
      await store.insert(RECORD);
      expect(await store.findById(RECORD.keyId)).toEqual(RECORD);
      await pool.promise().end();
    });
  });
});
