import { inspect } from 'node:util';
import { migrate, type PostgresClient, postgresStore } from 'keyscope/stores/postgres';
import pg from 'pg';
import postgres from 'postgres';
import { beforeAll, describe, expect, test, vi } from 'vitest';
import { complaint } from '../../support/complaint.ts';
import { OWN } from '../../support/keyring.ts';
import { emptySchema, postgresJs, sharedPglite, url } from '../../support/postgres-clients.ts';
import { alone, another, describePostgres, RECORD, value } from '../../support/postgres-place.ts';

const NO_CLIENT =
  'postgresStore: pass a Pool or Client of pg, the result of postgres(), or a PGlite; ' +
  'not a transaction, a client lent by a pool, or the object of another library';

const REVOKE = { kind: 'revoke', at: 5, by: null, reason: null, seal: null } as const;

// PGlite takes seconds to start.
beforeAll(sharedPglite, 60_000);

/**
 * Bun's SQL, which may be of MySQL, and a connection of mysql or mysql2. They were accepted, and an
 * error that mysql emits at the first use ended the process. Then the database of pg-promise 12.7,
 * the pool of slonik 47 and a query runner of TypeORM 1.1, which failed at the first use.
 */
const LOOK_ALIKES = [
  Object.assign(() => {}, { unsafe() {}, begin() {}, listen() {}, connect() {} }),
  { connect() {}, query() {}, beginTransaction() {}, changeUser() {} },
  { connect() {}, query() {}, many() {}, oneOrNone() {}, tx() {}, $pool: {} },
  { connect() {}, query() {}, many() {}, maybeOne() {}, transaction() {}, on() {}, emit() {} },
  { connect() {}, query() {}, release() {}, startTransaction() {} },
];

describe('a client', () => {
  test('is rejected unless it is of a known kind', async () => {
    const odd = [
      undefined,
      null,
      url,
      {},
      { query() {} },
      { connect() {} },
      () => {},
      pg,
      postgres,
      postgresStore,
      ...LOOK_ALIKES,
    ];
    for (const client of odd) {
      expect(
        complaint(() => postgresStore(client as unknown as PostgresClient)),
        inspect(client),
      ).toBe(NO_CLIENT);
      await expect(migrate(client as unknown as PostgresClient)).rejects.toThrow(NO_CLIENT);
    }
  });

  // Before 8.21, pg cannot tell whether a Client is in a transaction, and the Client was taken for
  // a Pool.
  test('of an older pg has to be a Pool', () => {
    for (const own of [{ processID: null }, { native: {} }]) {
      const client = { connect() {}, query() {}, ...own } as unknown as PostgresClient;
      const told = 'postgresStore: a Client needs pg 8.21 or newer. Pass a Pool instead';
      expect(complaint(() => postgresStore(client))).toBe(told);
    }
  });

  test('is accepted only with known options', () => {
    const pool = new pg.Pool();
    expect(complaint(() => postgresStore(pool, { batches: true } as object))).toContain('batches');
    for (const odd of [{ batch: 1 }, { prepare: null }]) {
      const said = `postgresStore: ${Object.keys(odd).join()}: pass true or false`;
      expect(complaint(() => postgresStore(pool, odd as object))).toBe(said);
    }
  });

  test('is asked nothing before the store is used', async () => {
    // No server listens there.
    const pool = new pg.Pool({ host: '127.0.0.1', port: 1 });
    postgresStore(pool);
    expect(pool.totalCount).toBe(0);
    await pool.end();
  });

  // It was queried and never answered, so the error was "did not answer within 2000 ms" without the
  // cause.
  describePostgres('of pg that is not connected', () => {
    test('reports that, and works once it is connected', async () => {
      const client = new pg.Client(url);
      const store = postgresStore(client);
      const told =
        'keyscope: PostgreSQL: the Client is not connected. Await client.connect() first';
      await expect(async () => store.findById(OWN)).rejects.toThrow(told);
      await expect(migrate(client)).rejects.toThrow(told);
      const schema = await emptySchema();
      await client.connect();
      await client.query(`SET search_path = ${schema.name}`);
      expect(await store.findById(OWN)).toBe(null);
      await client.end();
      await schema.drop();
    });
  });

  test('of PGlite cannot be one of its transactions', async () => {
    const db = await sharedPglite();
    await db.transaction(async (tx) => {
      // @ts-expect-error Its writes could be rolled back.
      expect(complaint(() => postgresStore(tx))).toBe(NO_CLIENT);
    });
  });
});

describePostgres('a client in a transaction', () => {
  test('of postgres.js is rejected', async () => {
    const sql = postgresJs();
    await sql.begin((tx) => {
      // @ts-expect-error Its writes could be rolled back.
      expect(complaint(() => postgresStore(tx))).toBe(NO_CLIENT);
    });
    await sql.end();
  });

  // It worked, also after its release, when the pool may lend it to a transaction.
  test('cannot be one that a pool of pg has lent', async () => {
    const pool = new pg.Pool({ connectionString: url });
    const loan = await pool.connect();
    expect(complaint(() => postgresStore(loan))).toBe(NO_CLIENT);
    loan.release();
    expect(complaint(() => postgresStore(loan))).toBe(NO_CLIENT);
    await pool.end();
  });

  test('of pg writes nothing that could be rolled back', async () => {
    await alone('pg Client', async ({ client, sql }) => {
      const store = postgresStore(client);
      const own = client as pg.Client;
      await store.insert(RECORD);
      for (const sqls of [['BEGIN'], ['BEGIN', 'SELECT 1/0']]) {
        for (const text of sqls) await own.query(text).catch(() => {});
        const refused = 'the Client is in the middle of a transaction';
        await expect(async () => store.insert(another(1))).rejects.toThrow(refused);
        await expect(async () => store.mark(RECORD.keyId, REVOKE)).rejects.toThrow(refused);
        await own.query('COMMIT');
      }
      expect(await store.mark(RECORD.keyId, REVOKE)).toBe(true);
      expect(await value(sql, 'SELECT count(*)::int FROM keyscope_keys')).toBe(1);
    });
  });

  test('of pg is sent one query at a time, as it requires', async () => {
    await alone('pg Client', async ({ client }) => {
      const warned = vi.spyOn(process, 'emitWarning').mockImplementation(() => {});
      const store = postgresStore(client, { batch: false });
      await Promise.all(
        Array.from({ length: 20 }, async (_, i) => store.findById(another(i).keyId)),
      );
      const warnings = warned.mock.calls.flat().map(String);
      warned.mockRestore();
      expect(warnings).toEqual([]);
    });
  });
});
