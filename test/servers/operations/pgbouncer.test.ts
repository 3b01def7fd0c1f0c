/** The claims of docs/operations.md about PgBouncer, with the printed configuration. */
import { migrate, postgresInvalidation, postgresStore } from 'keyscope/stores/postgres';
import { storeContract } from 'keyscope/testing';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest';
import { blocksUnder } from '../../support/pages.ts';
import { type Bouncer, missingPgBouncer, startPgBouncer } from '../../support/pgbouncer.ts';
import { emptySchema, type Schema, url } from '../../support/postgres-clients.ts';
import { describePostgres } from '../../support/postgres-place.ts';

const [CONFIG = ''] = blocksUnder('docs/operations.md', '## PgBouncer', 'ini');
const [, SETTINGS = ''] = CONFIG.split('[pgbouncer]\n');

const described = missingPgBouncer === undefined ? describePostgres : describe.skip;

described('through PgBouncer', () => {
  const role = `k_bounced_${crypto.randomUUID().slice(0, 8)}`;
  const direct = new URL(url);
  direct.username = role;
  let schema: Schema;
  let bouncer: Bouncer;
  let pool: pg.Pool;

  beforeAll(async () => {
    expect(SETTINGS).toContain('pool_mode = transaction');
    schema = await emptySchema();
    await schema.sql(`
      CREATE ROLE ${role} LOGIN;
      ALTER ROLE ${role} SET search_path = ${schema.name};
      ALTER ROLE ${role} SET statement_timeout = '4s';
      GRANT USAGE, CREATE ON SCHEMA ${schema.name} TO ${role}`);
    const { hostname: host, port, pathname } = direct;
    const database = pathname.slice(1);
    const behind = { host, port: Number(port) || 5432, user: role, database };
    bouncer = await startPgBouncer(behind, SETTINGS);
    pool = new pg.Pool({ connectionString: bouncer.url, max: 10, query_timeout: 5_000 });
    await migrate(pool);
  });
  afterAll(async () => {
    await pool.end();
    await bouncer.remove();
    await schema.sql(`DROP OWNED BY ${role}; DROP ROLE ${role}`);
    await schema.drop();
  });

  storeContract(test, () => postgresStore(pool, { prepare: false }));

  test.each([{ statement_timeout: 4_000 }, { options: '-c search_path=public' }])(
    'a client cannot set %j',
    async (setting) => {
      const client = new pg.Client({ connectionString: bouncer.url, ...setting });
      client.on('error', () => {});
      await expect(client.connect()).rejects.toThrow('unsupported startup parameter');
    },
  );

  test("statement_timeout is the role's", async () => {
    const { rows } = await pool.query('SHOW statement_timeout');
    expect(rows).toEqual([{ statement_timeout: '4s' }]);
  });

  test('a channel receives nothing from others, and one to the server itself does', async () => {
    const made: pg.Client[] = [];
    onTestFinished(async () => {
      await Promise.all(made.map((client) => client.end()));
    });
    function channelOver(connectionString: string) {
      return postgresInvalidation(() => {
        const client = new pg.Client({ connectionString });
        made.push(client);
        return client;
      });
    }
    const heard = { pooled: [] as string[], direct: [] as string[] };
    await channelOver(bouncer.url).subscribe((keyId) => heard.pooled.push(keyId));
    await channelOver(direct.href).subscribe((keyId) => heard.direct.push(keyId));
    const others = channelOver(direct.href);
    const keyId = crypto.randomUUID();
    await others.publish(keyId);
    await vi.waitFor(() => expect(heard.direct).toContain(keyId));
    expect(heard.pooled).not.toContain(keyId);
  });
});
