import { postgresStore } from 'keyscope/stores/postgres';
import { storeContract } from 'keyscope/testing';
import { afterAll, beforeAll, describe, test } from 'vitest';
import { CLIENTS, emptySchema, type Opened, openPglite } from '../support/postgres.ts';
import { describeOn } from '../support/servers.ts';

const describePostgres = await describeOn('postgres');
describePostgres.each(Object.entries(CLIENTS))('%s', (_name, open) => {
  let schema: Awaited<ReturnType<typeof emptySchema>>;
  let opened: Opened;
  beforeAll(async () => {
    schema = await emptySchema();
    opened = await open(schema.settings);
  });
  afterAll(async () => {
    await opened.end();
    await schema.drop();
  });
  storeContract(test, () => postgresStore(opened.client));
});
describe('PGlite', () => {
  let opened: Opened;
  beforeAll(async () => {
    opened = await openPglite();
  });
  afterAll(() => opened.end());
  storeContract(test, () => postgresStore(opened.client));
});
