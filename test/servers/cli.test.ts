/** The command over PostgreSQL, and over servers that are down, silent or restricted. */
import { once } from 'node:events';
import { createServer } from 'node:net';
import { MIGRATIONS } from 'keyscope/stores/schema';
import { afterEach, describe, expect, it } from 'vitest';
import { ENTITY, issueIn, openPlace, PEPPER, type Place } from '../support/command.ts';
import { emptySchema, type Schema, url } from '../support/postgres-clients.ts';
import { describePostgres } from '../support/postgres-place.ts';
import { ROOT } from '../support/source.ts';

const ON = ['--entity', ENTITY];

/** A config over a pool in a schema. */
function config(connectionString: string, schema = 'public'): string {
  return `
    import pg from '${ROOT}/node_modules/pg/esm/index.mjs';
    import { createKeyring, defineScopes } from 'keyscope';
    import { defineConfig } from 'keyscope/cli';
    import { migrate, postgresStore } from 'keyscope/stores/postgres';
    const client = new pg.Pool({
      connectionString: '${connectionString}',
      options: '-c search_path=${schema}',
      connectionTimeoutMillis: 1_000,
      query_timeout: 2_000,
    }).on('error', () => {});
    const catalog = defineScopes({ threats: { read: 'Read.' } });
    const store = postgresStore(client);
    const peppers = [{ id: 'p1', secret: '${PEPPER}' }];
    const keyring = createKeyring({ prefix: 'acme', catalog, store, peppers });
    export default defineConfig({
      keyring, store,
      peppers: ['p1'],
      migrate: () => migrate(client),
      sql: { dialect: 'postgres', query: async (sql) => (await client.query(sql)).rows },
      connections: client.options.max,
      close: () => client.end(),
    });`;
}

let place: Place;
afterEach(() => place.remove());

function states(stdout: string): Readonly<Record<string, string>> {
  const rows = stdout
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Row);
  return Object.fromEntries(rows.map(({ check, state }) => [check, state]));
}

/** The line of `doctor` about exactly these triggers and functions. */
function brokenTriggers(...names: readonly string[]): RegExp {
  return new RegExp(`triggers +to do +missing, switched off or changed: ${names.join(', ')};`);
}

/** The statement of the schema that creates a trigger. */
function triggerSql(name: string): string {
  const created = MIGRATIONS.postgres
    .flat()
    .find((text) => text.includes(`CREATE TRIGGER ${name} `));
  return created ?? name;
}

interface Row {
  readonly check: string;
  readonly state: string;
}

describePostgres('the command over PostgreSQL', () => {
  let schema: Schema;
  afterEach(() => schema.drop());

  it('migrates, creates, finds and ends keys, and reports', async () => {
    schema = await emptySchema();
    place = openPlace(config(url, schema.name));
    const before = await place.run(['doctor', '--json']);
    expect(before.exit).toBe(1);
    expect(states(before.stdout)).toMatchObject({ schema: 'to do', store: 'not known' });
    // `doctor` has created nothing.
    const tables = await schema.sql('SELECT * FROM pg_tables WHERE schemaname = current_schema');
    expect(tables).toEqual([]);

    const migrated = await place.run(['migrate', '--json']);
    expect(JSON.parse(migrated.stdout)).toEqual({ version: 1 });
    const { key, keyId } = await issueIn(place);
    const whois = await place.run(['whois', '--json'], key);
    expect(JSON.parse(whois.stdout)).toMatchObject({ keyId, state: 'live' });
    const rotate = ['rotate', keyId, ...ON, '--overlap', '1d', '--yes', '--json'];
    const rotated = await place.run(rotate);
    expect(JSON.parse(rotated.stdout)).toMatchObject({ info: { rotatedFrom: keyId } });
    const revoked = await place.run(['revoke', keyId, ...ON, '--lineage', '--yes', '--json']);
    expect(JSON.parse(revoked.stdout)).toMatchObject({ state: 'revoked' });
    const listed = await place.run(['list', ...ON, '--json']);
    expect(listed.stdout.match(/"state":"revoked"/g)).toHaveLength(2);
    await issueIn(place);
    const peppers = await place.run(['peppers', '--json']);
    expect(JSON.parse(peppers.stdout)).toMatchObject({ pepper: 'p1', live: 1 });
    const expiring = await place.run(['expiring', '--within', '100d', '--json']);
    expect(JSON.parse(expiring.stdout)).toMatchObject({ entityId: ENTITY });
  });

  it('checks clock, primary, triggers, pool and seals', async () => {
    schema = await emptySchema();
    place = openPlace(config(url, schema.name));
    await issueIn(place);
    const sound = await place.run(['doctor', '--json']);
    expect(states(sound.stdout)).toEqual({
      config: 'ok',
      schema: 'ok',
      store: 'ok',
      clock: 'ok',
      primary: 'ok',
      triggers: 'ok',
      pool: 'ok',
      channel: 'ok',
      peppers: 'ok',
      deployment: 'ok',
      records: 'ok',
      rights: 'ok',
      orm: 'ok',
    });
    await schema.sql('DROP TRIGGER keyscope_keys_delete ON keyscope_keys');
    const { exit, stdout } = await place.run(['doctor']);
    expect(exit).toBe(1);
    expect(stdout).toMatch(
      /triggers +to do +missing, switched off or changed: keyscope_keys_delete;/,
    );
  });

  it.each([
    [
      'that folds case',
      `CREATE COLLATION folding (provider = icu, locale = 'und-u-ks-level2', deterministic = false);
        ALTER TABLE keyscope_addressing DROP CONSTRAINT keyscope_addressing_entity_id_check,
          ALTER entity_id TYPE text COLLATE folding`,
      'keyscope_addressing.entity_id',
    ],
    [
      'whose order depends on the system',
      'ALTER TABLE keyscope_addressing ALTER prefix TYPE text COLLATE "default"',
      'keyscope_addressing.prefix',
    ],
  ])('names a column %s', async (_kind, change, column) => {
    schema = await emptySchema();
    await openAndMigrate(schema.name);
    await schema.sql(change);
    const { exit, stdout } = await place.run(['doctor']);
    expect(exit).toBe(1);
    expect(stdout).toMatch(/^schema +to do +version 1, but /m);
    expect(stdout).toContain(`, but ${column} may take one text for another`);
  });

  // It counted the names: triggers that never fire, or call an emptied function, were in order.
  it.each([
    [
      'switched off',
      'ALTER TABLE keyscope_keys DISABLE TRIGGER keyscope_keys_delete',
      ['keyscope_keys_delete'],
    ],
    [
      'for replicas',
      'ALTER TABLE keyscope_keys ENABLE REPLICA TRIGGER keyscope_keys_marks',
      ['keyscope_keys_marks'],
    ],
    [
      'with a changed function',
      `CREATE OR REPLACE FUNCTION keyscope_keep() RETURNS trigger LANGUAGE plpgsql
        AS 'BEGIN RETURN OLD; END'`,
      ['keyscope_keep'],
    ],
    [
      'with a function that has other rights',
      'ALTER FUNCTION keyscope_refuse() SECURITY DEFINER',
      ['keyscope_refuse'],
    ],
    [
      'with another function',
      `CREATE FUNCTION other() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN OLD; END';
        DROP TRIGGER keyscope_keys_delete ON keyscope_keys;
        CREATE TRIGGER keyscope_keys_delete BEFORE DELETE ON keyscope_keys
        FOR EACH ROW EXECUTE FUNCTION other()`,
      ['keyscope_keys_delete'],
    ],
    [
      'with another condition',
      `DROP TRIGGER keyscope_keys_delete ON keyscope_keys;
        CREATE TRIGGER keyscope_keys_delete BEFORE DELETE ON keyscope_keys
        FOR EACH ROW WHEN (old.revoked_at IS NULL) EXECUTE FUNCTION keyscope_keep()`,
      ['keyscope_keys_delete'],
    ],
    [
      'for some columns',
      `DROP TRIGGER keyscope_keys_marks ON keyscope_keys;
        ${triggerSql('keyscope_keys_marks').replace('UPDATE', 'UPDATE OF suspended_at')}`,
      ['keyscope_keys_marks'],
    ],
    [
      'at another time',
      `DROP TRIGGER keyscope_keys_update ON keyscope_keys;
        ${triggerSql('keyscope_keys_update').replace('AFTER', 'BEFORE')}`,
      ['keyscope_keys_update'],
    ],
    [
      'whose condition has other parentheses',
      `DROP TRIGGER keyscope_keys_update ON keyscope_keys;
        ${triggerSql('keyscope_keys_update').replace('NULL OR old', 'NULL) OR (old')}`,
      ['keyscope_keys_update'],
    ],
  ])('notices triggers %s', async (_case, change, missing) => {
    schema = await emptySchema();
    place = openPlace(config(url, schema.name));
    await issueIn(place);
    await schema.sql(change);
    const { exit, stdout } = await place.run(['doctor']);
    expect(exit).toBe(1);
    expect(stdout).toMatch(brokenTriggers(...missing));
  });

  it('notices triggers with a function of the same name in another schema', async () => {
    schema = await emptySchema();
    const { name } = schema;
    await openAndMigrate(name);
    place.remove();
    await schema.sql(`CREATE SCHEMA ${name}_first;
      CREATE FUNCTION ${name}_first.keyscope_keep() RETURNS trigger LANGUAGE plpgsql
        AS 'BEGIN RETURN OLD; END';
      DROP TRIGGER keyscope_keys_delete ON keyscope_keys;
      CREATE TRIGGER keyscope_keys_delete BEFORE DELETE ON keyscope_keys
        FOR EACH ROW EXECUTE FUNCTION ${name}_first.keyscope_keep()`);
    try {
      // The connection finds that function first, so its name needs no schema.
      place = openPlace(config(url, `${name}_first,${name}`));
      const { stdout } = await place.run(['doctor']);
      expect(stdout).toMatch(brokenTriggers('keyscope_keys_delete'));
    } finally {
      await schema.sql(`DROP SCHEMA ${name}_first CASCADE`);
    }
  });

  it('recognises columns and triggers over a connection that quotes all names', async () => {
    schema = await emptySchema();
    place = openPlace(config(url, `${schema.name} -c quote_all_identifiers=on`));
    await issueIn(place);
    const { stdout } = await place.run(['doctor']);
    expect(stdout).toMatch(/schema +ok/);
    expect(stdout).toMatch(/triggers +ok/);
  });

  it('notices a session that fires no triggers', async () => {
    schema = await emptySchema();
    place = openPlace(config(url, `${schema.name} -c session_replication_role=replica`));
    await issueIn(place);
    const { stdout } = await place.run(['doctor']);
    const all = ['update', 'marks', 'with_mark', 'delete', 'truncate'];
    expect(stdout).toMatch(brokenTriggers(...all.map((each) => `keyscope_keys_${each}`)));
  });

  it('lists other roles with rights by grant, column, default or membership', async () => {
    schema = await emptySchema();
    const { name } = schema;
    place = openPlace(config(url, name));
    const role = (which: string) => `${name}_${which}`;
    const roles = ['reads', 'column', 'default', 'member', 'outside'].map(role);
    for (const each of roles) await schema.sql(`CREATE ROLE ${each}`);
    try {
      await schema.sql(`GRANT USAGE ON SCHEMA ${name} TO ${roles.slice(0, 3).join(', ')};
        ALTER DEFAULT PRIVILEGES IN SCHEMA ${name} GRANT SELECT ON TABLES TO ${role('default')}`);
      await place.run(['migrate']);
      await schema.sql(`GRANT SELECT ON keyscope_keys TO ${role('reads')}, ${role('outside')};
        GRANT UPDATE (suspended_at) ON keyscope_keys TO ${role('column')};
        GRANT ${role('reads')} TO ${role('member')}`);
      const { stdout } = await place.run(['doctor']);
      const [line = ''] = stdout.match(/^rights .*$/m) ?? [];
      expect(line).toMatch(/^rights +not known/);
      for (const each of roles.slice(0, 4)) expect(line).toContain(each);
      // A right on the table is useless without one on the schema.
      expect(line).not.toContain(role('outside'));
      await schema.sql(`GRANT USAGE ON SCHEMA ${name} TO PUBLIC;
        GRANT UPDATE (suspended_at) ON keyscope_keys TO PUBLIC`);
      const open = await place.run(['doctor']);
      expect(open).toMatchObject({ exit: 1 });
      expect(open.stdout).toMatch(/rights +to do .*public, which is everybody/);
    } finally {
      for (const each of roles) await schema.sql(`DROP OWNED BY ${each}; DROP ROLE ${each}`);
    }
  });

  // It once reported missing tables, because it saw no rows.
  it('reports that row-level security hides keys, not that they are missing', async () => {
    schema = await emptySchema();
    const { name } = schema;
    await openAndMigrate(name);
    await schema.sql(`CREATE ROLE ${name}_s LOGIN; GRANT USAGE ON SCHEMA ${name} TO ${name}_s;
      GRANT ALL ON ALL TABLES IN SCHEMA ${name} TO ${name}_s`);
    try {
      const { keyId } = await issueIn(place);
      for (const table of ['keyscope_keys', 'keyscope_schema']) {
        await schema.sql(`ALTER TABLE ${table} ENABLE ROW LEVEL SECURITY`);
      }
      const address = new URL(url);
      address.username = `${name}_s`;
      place.remove();
      place = openPlace(config(address.href, name));
      const revoked = await place.run(['revoke', keyId, ...ON, '--yes']);
      expect(revoked.exit).toBe(4);
      expect(revoked.stderr).toContain('may not see all keys');
      const { exit, stdout } = await place.run(['doctor']);
      expect(exit).toBe(4);
      expect(stdout).toMatch(/store +to do .*may not see all keys/);
      expect(stdout).not.toContain('the tables are missing');
    } finally {
      await schema.sql(`DROP OWNED BY ${name}_s; DROP ROLE ${name}_s`);
    }
  });

  async function openAndMigrate(name: string): Promise<void> {
    place = openPlace(config(url, name));
    await place.run(['migrate']);
  }

  it('rejects the schema of a later release', async () => {
    schema = await emptySchema();
    place = openPlace(config(url, schema.name));
    await place.run(['migrate']);
    await schema.sql('UPDATE keyscope_schema SET version = 9, min_reader = 9');
    const { exit, stderr } = await place.run(['list', ...ON]);
    expect(exit).toBe(4);
    expect(stderr).toContain('Upgrade keyscope');
    const doctor = await place.run(['doctor']);
    expect(doctor.stdout).toMatch(/schema +to do +version 9 is newer/);
  });
});

describe('a server that does not answer', () => {
  it('makes every command exit with 4, without the password, if it refuses', async () => {
    place = openPlace(config('postgres://ada:hunter2@127.0.0.1:1/keys'));
    const calls = [
      ['migrate'],
      ['list', ...ON],
      ['list'],
      ['revoke', '--created-by', 'ada', '--yes'],
      ['revoke', ENTITY, ...ON, '--yes'],
      ['expiring'],
      ['peppers'],
      ['doctor'],
    ];
    for (const args of calls) {
      const { exit, stdout, stderr } = await place.run(args);
      expect({ args, exit, stderr }).toMatchObject({ exit: 4 });
      expect(stdout + stderr).toContain('ECONNREFUSED');
      expect(stdout + stderr).not.toContain('hunter2');
    }
  });

  it('makes every command exit with 4 in bounded time if it stays silent', async () => {
    const server = createServer(() => {}).listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as { readonly port: number };
    place = openPlace(config(`postgres://ada@127.0.0.1:${port}/keys`));
    try {
      const begun = performance.now();
      for (const args of [['list', ...ON], ['migrate'], ['doctor']]) {
        const { exit, stderr } = await place.run([...args, '--timeout', '2']);
        expect({ args, exit, stderr }).toMatchObject({ exit: 4 });
      }
      expect(performance.now() - begun).toBeLessThan(45_000);
    } finally {
      server.close();
    }
  });
});
