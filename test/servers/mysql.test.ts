import { mysqlStore } from 'keyscope/stores/mysql';
import { storeContract } from 'keyscope/testing';
import { afterAll, beforeAll, test } from 'vitest';
import { CLIENTS, type Database, emptyDatabase, type Opened } from '../support/mysql.ts';
import { describeOn } from '../support/servers.ts';

const describeMysql = await describeOn('mysql');

describeMysql.each(Object.entries(CLIENTS))('%s', (_name, open) => {
  let database: Database;
  let opened: Opened;
  beforeAll(async () => {
    database = await emptyDatabase();
    opened = await open(database.settings);
  });
  afterAll(async () => {
    await opened.end();
    await database.drop();
  });
  storeContract(test, () => mysqlStore(opened.client));
});
