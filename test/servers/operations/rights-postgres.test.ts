/** The rights in PostgreSQL that docs/operations.md prints: enough for a store, and no more. */
import { migrate, postgresInvalidation, postgresStore, purgeEnded } from 'keyscope/stores/postgres';
import { storeContract } from 'keyscope/testing';
import pg from 'pg';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { blocksUnder } from '../../support/pages.ts';
import { url } from '../../support/postgres-clients.ts';
import { another, describePostgres } from '../../support/postgres-place.ts';
import { rightsIn, useEverything } from '../../support/rights.ts';

const [BEFORE = '', AFTER = '', PURGE = ''] = blocksUnder(
  'docs/operations.md',
  '### PostgreSQL',
  'sql',
);
const RUN = crypto.randomUUID().slice(0, 8);

/** With names of this run, so that they do not collide with others. */
function own(sql: string): string {
  const roles = sql.replaceAll(/\bkeyscope_(owner|service|purge)\b/g, `k_$1_${RUN}`);
  return roles.replaceAll(/\bkeyscope\b/g, `k_keyscope_${RUN}`);
}

const SERVICE = own('keyscope_service');

function addressOf(role: string): string {
  const address = new URL(url);
  address.username = own(role);
  address.password = '';
  return address.href;
}

function poolOf(role: string): pg.Pool {
  return new pg.Pool({ connectionString: addressOf(role), max: 10 }).on('error', () => {});
}

describePostgres('the rights in PostgreSQL', () => {
  const admin = new pg.Client(url);
  const owner = poolOf('keyscope_owner');
  const service = poolOf('keyscope_service');
  const purge = poolOf('keyscope_purge');

  beforeAll(async () => {
    await admin.connect();
    await admin.query(own(BEFORE));
    await migrate(owner);
    await owner.query(own(AFTER));
    await admin.query(own(PURGE));
  });
  afterAll(async () => {
    await Promise.all([owner.end(), service.end(), purge.end()]);
    await admin.query(own('DROP SCHEMA keyscope CASCADE'));
    for (const role of ['keyscope_purge', 'keyscope_service', 'keyscope_owner']) {
      await admin.query(own(`DROP OWNED BY ${role}; DROP ROLE ${role}`));
    }
    await admin.end();
  });

  storeContract(test, () => postgresStore(service));

  test('are all needed by the service', async () => {
    const rights = rightsIn(own(AFTER));
    expect(rights.length).toBe(15);
    for (const { right, table } of rights) {
      await owner.query(`REVOKE ${right} ON ${table} FROM ${SERVICE}`);
      const use = () => useEverything(postgresStore(service));
      await expect(use(), `${right} ON ${table}`).rejects.toThrow('permission denied');
      await owner.query(`GRANT ${right} ON ${table} TO ${SERVICE}`);
    }
    await useEverything(postgresStore(service));
  });

  test.each([
    "UPDATE keyscope_keys SET scopes = '{*:*}'",
    'UPDATE keyscope_keys SET expires_at = NULL',
    'DELETE FROM keyscope_keys',
    'DELETE FROM keyscope_addressing',
    'TRUNCATE keyscope_keys',
    'UPDATE keyscope_schema SET purge_before = 5',
    'ALTER TABLE keyscope_keys DISABLE TRIGGER ALL',
    'DROP TABLE keyscope_keys',
    'CREATE TABLE mine (id int)',
  ])('do not let the service do this: %s', async (sql) => {
    await expect(service.query(sql)).rejects.toThrow(/permission denied|must be owner/);
  });

  test('are enough for the channel', async () => {
    const made: pg.Client[] = [];
    const channel = postgresInvalidation(() => {
      const client = new pg.Client(addressOf('keyscope_service'));
      made.push(client);
      return client;
    });
    const heard: string[] = [];
    const keyId = crypto.randomUUID();
    await channel.subscribe((each) => heard.push(each));
    await channel.publish(keyId);
    await vi.waitFor(() => expect(heard).toContain(keyId));
    await Promise.all(made.map((client) => client.end()));
  });

  test('to purge are all needed, and the service has none of them', async () => {
    const record = { ...another(7), expiresAt: 1 };
    await postgresStore(service).insert(record);
    const options = { endedBefore: new Date(2) };
    await expect(purgeEnded(service, options)).rejects.toThrow('permission denied');
    for (const { right, table } of rightsIn(own(PURGE))) {
      await owner.query(`REVOKE ${right} ON ${table} FROM ${own('keyscope_purge')}`);
      await expect(purgeEnded(purge, options)).rejects.toThrow('permission denied');
      await owner.query(`GRANT ${right} ON ${table} TO ${own('keyscope_purge')}`);
    }
    expect(await purgeEnded(purge, options)).toContain(record.keyId);
  });
});
