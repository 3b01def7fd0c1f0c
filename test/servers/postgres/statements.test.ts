import { causeOf, type KeyStore, type Mark } from 'keyscope';
import {
  migrate,
  type PostgresJsClient,
  type PostgresStoreOptions,
  postgresStore,
  purgeEnded,
} from 'keyscope/stores/postgres';
import type pg from 'pg';
import { expect, test } from 'vitest';
import { NOTIFY } from '../../../src/stores/postgres/listening-connection.ts';
import { STATEMENTS } from '../../../src/stores/postgres/statements.ts';
import { AUTHORITY, issue, OTHER, OWN, setUp, storeError } from '../../support/keyring.ts';
import { emptySchema, pgPool, postgresJs, type Schema } from '../../support/postgres-clients.ts';
import { alone, another, describePostgres, RECORD, value } from '../../support/postgres-place.ts';

/** The first page of a listing. */
const FIRST = { prefix: 'acme', after: null, limit: 5 } as const;

/** One mark of each kind, in an order in which all of them are written. */
const MARKS: readonly Mark[] = [
  { kind: 'suspend', at: 1, by: null, reason: null },
  { kind: 'resume', at: 2 },
  { kind: 'withdraw', at: 3, entityId: OTHER },
  { kind: 'retire', at: 4, retireAt: 4, by: null, reason: null, withdrawn: [OTHER] },
  { kind: 'revoke', at: 5, by: null, reason: null, seal: null },
];

/** A statement that the server was sent. */
interface Asked {
  readonly text: string;
  readonly values: readonly unknown[];
}

/** postgres.js reports each statement that it sends. */
async function observed(
  act: (
    store: Required<KeyStore>,
    asked: Asked[],
    own: Schema,
    client: PostgresJsClient,
  ) => Promise<void>,
  options?: PostgresStoreOptions,
): Promise<void> {
  const schema = await emptySchema();
  const asked: Asked[] = [];
  const sql = postgresJs(schema.settings, {
    debug: (_connection, text, values: readonly unknown[]) => asked.push({ text, values }),
    fetch_types: false,
  });
  const store = postgresStore(sql, options);
  await store.summarize(0);
  asked.length = 0;
  await act(store, asked, schema, sql);
  await sql.end();
  await schema.drop();
}

/** Rows with these numbers: 50 entities, all of which address one other. */
function manyKeys(first: number, last: number): string {
  return `
    INSERT INTO keyscope_keys (
      format, key_id, prefix, hint, name, digest, entity_id, accessible_entities, scopes,
      metadata, created_at, expires_at, root_key_id, withdrawn, changed_at, scopes_used)
    SELECT 1, id, 'acme', 'KrPP', 'n', 's1$' || i, entity, ARRAY[entity, '${OTHER}'],
      '{}', '{}', i, i, id, '{}', i, '{}'
    FROM (
      SELECT i, md5(i || 'k')::uuid AS id, md5((i % 50)::text) AS entity
      FROM generate_series(${first}, ${last}) AS i
    ) AS made;
    INSERT INTO keyscope_addressing (entity_id, prefix, created_at, key_id)
    SELECT '${OTHER}', prefix, created_at, key_id FROM keyscope_keys ON CONFLICT DO NOTHING;
    ANALYZE keyscope_keys, keyscope_addressing`;
}

/** 20,000 keys of the root `OWN`: half of its chain, and half issued under it. Not analyzed. */
const LONG_LINEAGE = `
    INSERT INTO keyscope_keys (
      format, key_id, prefix, hint, name, digest, entity_id, accessible_entities, scopes,
      metadata, created_at, root_key_id, issued_under, withdrawn, scopes_used)
    SELECT 1, id, 'acme', 'KrPP', 'n', 's1$' || i, id::text, ARRAY[id::text], '{}', '{}', i,
      CASE WHEN i % 2 = 0 THEN '${OWN}'::uuid ELSE id END,
      CASE WHEN i % 2 = 1 THEN '${OWN}'::uuid END, '{}', '{}'
    FROM (SELECT i, md5(i || 'k')::uuid AS id FROM generate_series(1, 20000) AS i) AS made`;

/** Every method, and a purge that finds nothing. */
async function useEach(store: Required<KeyStore>, client: PostgresJsClient): Promise<void> {
  const after = { createdAt: 1_500, keyId: OTHER };
  await store.findByDigest(['s1$7']);
  await store.findByDigest(['s1$7', 's1$8']);
  await store.findById(OWN);
  await store.list({ ...FIRST, entityId: OWN, after });
  await store.list({ ...FIRST, entityId: OTHER, addressing: true, after });
  await store.listLineage({ rootKeyId: OWN, after: null, limit: 5 });
  for (const mark of MARKS) await store.mark(OWN, mark);
  await store.touch([{ keyId: OWN, lastUsedAt: 5, scopesUsed: { 'a:b': 5 } }]);
  await store.listExpiring({ before: 1_500, after: null, limit: 10 });
  await store.listAll({ after: null, limit: 10 });
  await store.listChanged({ since: 5, limit: 10 });
  await store.summarize(5);
  await purgeEnded(client, { endedBefore: new Date(0) });
}

/** How many blocks of 8 kB the server reads for a statement, from memory or from disk. */
async function buffersOf(sql: Schema['sql'], { text, values }: Asked): Promise<number> {
  const filled = text.replace(/\$(\d)/g, (_, n: string) => `'${String(values[Number(n) - 1])}'`);
  const plan = await value(sql, `EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) ${filled}`);
  const [{ Plan }] = plan as [{ Plan: Readonly<Record<string, number>> }];
  return Number(Plan['Shared Hit Blocks']) + Number(Plan['Shared Read Blocks']);
}

/** The volatile functions that a statement calls, after its texts are left out. */
async function volatileIn(sql: Schema['sql'], statement: string): Promise<readonly unknown[]> {
  const code = statement.replace(/'[^']*'|\$keyscope\$\w+\$keyscope\$|--.*/g, "''");
  const names = [...code.matchAll(/\b(\w+)\s*\(/g)].map(([, name]) => `'${name}'`);
  const rows = await sql(`
    SELECT proname FROM pg_proc
    WHERE provolatile = 'v'
      AND pronamespace IN ('pg_catalog'::regnamespace, current_schema::regnamespace)
      AND proname IN ('', ${names.join()})`);
  return rows.map(({ proname }) => proname);
}

// Hyperdrive, for example, answers a repeated SELECT itself for a minute, unless a function in it
// is volatile. A stale look-up would accept a revoked key, and a stale version stop a migration.
describePostgres('each statement', () => {
  test.each(Object.entries({ ...STATEMENTS, NOTIFY }))(
    'calls a volatile function, so that no cache in between may answer it: %s',
    async (_name, statement) => {
      await alone('pg Client', async ({ client, sql }) => {
        await migrate(client);
        expect(await volatileIn(sql, statement)).not.toEqual([]);
      });
    },
  );
});

describePostgres('the server', () => {
  test('gets one statement for 128 look-ups at once, and answers each of them', async () => {
    await observed(async (store, asked) => {
      const records = Array.from({ length: 100 }, (_, i) => another(i));
      for (const record of records) await store.insert(record);
      asked.length = 0;
      const answers = Array.from({ length: 128 }, async (_, i) =>
        store.findByDigest([another(i).digest]),
      );
      const found = await Promise.all(answers);
      expect(asked).toHaveLength(1);
      expect(found.map((rows) => rows.length)).toEqual(
        Array.from({ length: 128 }, (_, i) => (i < 100 ? 1 : 0)),
      );
      expect(found.flat()).toEqual(records);
    });
  });

  test('gets one statement a look-up if batches are off', async () => {
    const one = async (store: KeyStore, asked: Asked[]) => {
      await Promise.all(
        Array.from({ length: 5 }, async (_, i) => store.findByDigest([another(i).digest])),
      );
      expect(asked).toHaveLength(5);
    };
    await observed(one, { batch: false });
  });

  test.each([true, false])(
    'prepares the statements of postgres.js once, if allowed: %s',
    async (prepare) => {
      await alone('postgres.js with one connection', async ({ client }) => {
        const store = postgresStore(client, { prepare });
        for (let i = 0; i < 2; i++) await store.findByDigest(['a']);
        const kept =
          "SELECT statement FROM pg_prepared_statements WHERE statement LIKE '%digest = $1%'";
        expect(await (client as PostgresJsClient).unsafe(kept)).toHaveLength(prepare ? 1 : 0);
      });
    },
  );

  test.each([true, false])(
    'prepares the statements of pg once, also by default: %s',
    async (prepare) => {
      await alone('pg Client', async ({ client }) => {
        const store = postgresStore(client, prepare ? {} : { prepare });
        for (let i = 0; i < 2; i++) {
          await store.touch([{ keyId: OWN, lastUsedAt: 5, scopesUsed: {} }]);
          for (const digests of [['a'], ['a', 'b']]) await store.findByDigest(digests);
        }
        const { rows } = await (client as pg.Client).query<{ readonly name: string }>(
          'SELECT name FROM pg_prepared_statements ORDER BY name',
        );
        const names = ['keyscope_findDigest', 'keyscope_findDigests', 'keyscope_touch'];
        expect(rows.map(({ name }) => name)).toEqual(prepare ? names : []);
      });
    },
  );

  test('gets one statement a method, and none for ids that cannot exist', async () => {
    await observed(async (store, asked) => {
      await store.insert(RECORD);
      await store.findById(RECORD.keyId);
      await store.list({ ...FIRST, entityId: OWN });
      await store.list({ ...FIRST, entityId: OTHER, addressing: true });
      await store.listLineage({ rootKeyId: RECORD.rootKeyId, after: null, limit: 5 });
      for (const mark of MARKS) await store.mark(RECORD.keyId, mark);
      await store.touch(
        [RECORD, another(1), RECORD].map(({ keyId }) => ({ keyId, lastUsedAt: 5, scopesUsed: {} })),
      );
      await store.summarize(0);
      await store.listExpiring({ before: 9, after: null, limit: 5 });
      await store.listAll({ after: null, limit: 5 });
      await store.listChanged({ since: 0, limit: 5 });
      expect(asked).toHaveLength(10 + MARKS.length);
      asked.length = 0;
      const many = Array.from({ length: 1_001 }, (_, i) => ({
        ...another(i),
        lastUsedAt: 5 + i,
        scopesUsed: {},
      }));
      await store.touch([...many, { ...RECORD, lastUsedAt: 7, scopesUsed: {} }]);
      expect(asked).toHaveLength(2);
      expect(await store.findById(RECORD.keyId)).toMatchObject({ lastUsedAt: 7 });
      asked.length = 0;
      const odd = [
        RECORD.keyId.toUpperCase(),
        'x',
        '',
        `${RECORD.keyId}\0`,
        5 as unknown as string,
      ];
      for (const id of odd) {
        expect(await store.findById(id)).toBe(null);
        for (const mark of MARKS) expect(await store.mark(id, mark)).toBe(false);
        expect(await store.listLineage({ rootKeyId: id, after: null, limit: 5 })).toEqual([]);
        await store.touch([{ keyId: id, lastUsedAt: 9, scopesUsed: {} }]);
      }
      for (const id of ['', '.', 'a b', `${OTHER}\0`, 'é', '\ud800', 5 as unknown as string]) {
        const withdrawal = { kind: 'withdraw', at: 1, entityId: id } as const;
        expect(await store.mark(RECORD.keyId, withdrawal)).toBe(false);
        for (const addressing of [false, true]) {
          expect(await store.list({ ...FIRST, entityId: id, addressing })).toEqual([]);
        }
      }
      for (const digests of [[], ['\0'], ['\ud800'], [5 as unknown as string]]) {
        expect(await store.findByDigest(digests)).toEqual([]);
      }
      for (const prefix of ['acme\0', 5 as unknown as string]) {
        expect(await store.list({ ...FIRST, prefix, entityId: OWN })).toEqual([]);
      }
      await store.touch([]);
      expect(asked).toEqual([]);
    });
  });

  test('scans no whole table, and sorts no listing', async () => {
    await observed(async (store, asked, { sql }, client) => {
      await sql(manyKeys(1, 20_000));
      await useEach(store, client);
      expect(asked.length).toBeGreaterThan(16);
      await sql('SET plan_cache_mode = force_generic_plan');
      const plans: string[] = [];
      for (const [i, { text, values }] of asked.entries()) {
        // A part of a summary is a quarter of this small table.
        if (text.includes('is_live')) continue;
        await sql(`PREPARE s${i} AS ${text}`);
        const given = values.length > 0 ? `(${values.map(() => "'1'").join()})` : '';
        const plan = await sql(`EXPLAIN EXECUTE s${i} ${given}`);
        plans.push(plan.map((line) => line['QUERY PLAN']).join('\n'));
      }
      expect(plans.filter((plan) => /Seq Scan on keyscope_(?!schema)/.test(plan))).toEqual([]);
      // A page of the keys that address an entity is sorted, but only after it is read, and so are
      // the two pages that make one of a lineage.
      const sort = /Limit.*\n *-> {2}(?:Incremental )?Sort.*\n *Sort Key: (?!page\.)/;
      const sorting = plans.filter((plan) => sort.test(plan));
      expect(sorting).toEqual([]);
      expect(plans.join()).toContain('Index Scan using keyscope_keys_ended');
    });
  });

  test('reads two pages of ids and one of rows for a page of a lineage', async () => {
    await observed(async (store, asked, { sql }) => {
      await sql(LONG_LINEAGE);
      const whole = await sql('SELECT key_id::text AS id FROM keyscope_keys ORDER BY key_id');
      const ids = whole.map(({ id }) => String(id));
      for (const place of [-1, 0, 1, 4_711, 10_000, 19_400, 19_499]) {
        asked.length = 0;
        const after = ids[place] ?? null;
        const page = await store.listLineage({ rootKeyId: OWN, after, limit: 500 });
        expect(page.map(({ keyId }) => keyId)).toEqual(ids.slice(place + 1, place + 501));
        const { text = '', values = [] } = asked[0] ?? {};
        await sql(`PREPARE page AS ${text}`);
        for (const mode of ['force_custom_plan', 'force_generic_plan']) {
          await sql(`SET plan_cache_mode = ${mode}`);
          const run = `EXECUTE page (${values.map((each) => `'${String(each)}'`).join()})`;
          const lines = await sql(`EXPLAIN (ANALYZE, TIMING OFF) ${run}`);
          const plan = lines.map((line) => line['QUERY PLAN']).join('\n');
          for (const index of ['lineage', 'issued']) {
            expect(plan).toContain(`Index Only Scan using keyscope_keys_${index}`);
          }
          const read = Array.from(plan.matchAll(/actual rows=(\d+)/g), ([, rows]) => Number(rows));
          // Both pages, before the second half of them is dropped.
          expect(Math.max(...read), plan).toBeLessThanOrEqual(1_000);
        }
        await sql('DEALLOCATE page');
      }
    });
  });

  // A purge with nothing to delete read the whole table: 5.4 s for a million keys.
  test('reads as little of 40,000 keys as of 2,000', async () => {
    await observed(async (store, asked, { sql }, client) => {
      async function buffersOfEach(): Promise<Map<string, number>> {
        asked.length = 0;
        await useEach(store, client);
        const all = new Map<string, number>();
        for (const each of asked) all.set(each.text, await buffersOf(sql, each));
        return all;
      }
      await sql(manyKeys(1, 2_000));
      const few = await buffersOfEach();
      await sql(manyKeys(2_001, 40_000));
      // In twenty parts.
      expect(await store.summarize(0)).toEqual([{ scheme: 's1', live: 40_000, lastUsedAt: null }]);
      for (const [text, buffers] of await buffersOfEach()) {
        // A summary reads everything, a part at a time.
        if (text.includes('is_live')) continue;
        expect(buffers, text).toBeLessThanOrEqual(2 * (few.get(text) ?? 0) + 20);
        if (text.includes('revoked_at, old')) expect(buffers, text).toBeLessThanOrEqual(100);
      }
    });
  });

  test('gets no write from a verification', async () => {
    await alone('pg Pool of 10', async ({ client, schema }) => {
      const { key, info } = await issue(setUp({ store: postgresStore(client) }).keyring);
      const readOnly = pgPool({ ...schema.settings, default_transaction_read_only: 'on' });
      const { keyring } = setUp({ store: postgresStore(readOnly) });
      expect((await keyring.verify(key)).entityId).toBe(OWN);
      const told =
        'PostgreSQL: cannot execute SELECT in a read-only transaction. ' +
        'Pass a client of the primary';
      const error = await storeError(() => keyring.revoke(info.keyId, AUTHORITY));
      expect(String(causeOf(error))).toContain(told);
      await readOnly.end();
    });
  });

  test('has on disk what it acknowledged, even with synchronous_commit off', async () => {
    const settings = { synchronous_commit: 'off' };
    await alone(
      'pg Pool of 10',
      async ({ client, sql }) => {
        await migrate(client);
        // Runs when the transaction commits, and sees its settings.
        await sql(`
        CREATE TABLE log (what text, how text);
        CREATE FUNCTION note() RETURNS trigger LANGUAGE plpgsql AS $$
          BEGIN
            INSERT INTO log VALUES (TG_ARGV[0], current_setting('synchronous_commit'));
            RETURN NULL;
          END $$;
        CREATE CONSTRAINT TRIGGER note_insert AFTER INSERT ON keyscope_keys
          DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION note('insert');
        CREATE CONSTRAINT TRIGGER note_mark AFTER UPDATE OF changed_at ON keyscope_keys
          DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION note('mark');
        CREATE CONSTRAINT TRIGGER note_touch AFTER UPDATE OF last_used_at ON keyscope_keys
          DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION note('touch');
        CREATE CONSTRAINT TRIGGER note_delete AFTER DELETE ON keyscope_keys
          DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION note('delete')`);
        const store = postgresStore(client);
        await store.insert(RECORD);
        for (const mark of MARKS) expect(await store.mark(RECORD.keyId, mark)).toBe(true);
        await store.touch([{ keyId: RECORD.keyId, lastUsedAt: 1, scopesUsed: {} }]);
        await purgeEnded(client, { endedBefore: new Date(9) });
        expect(await sql('SELECT * FROM log')).toEqual([
          { what: 'insert', how: 'on' },
          ...MARKS.map(() => ({ what: 'mark', how: 'on' })),
          { what: 'touch', how: 'off' },
          { what: 'delete', how: 'on' },
        ]);
        // Only for that transaction: the connection is unchanged.
        const pool = client as pg.Pool;
        expect((await pool.query('SHOW synchronous_commit')).rows).toEqual([
          { synchronous_commit: 'off' },
        ]);
        const strict = pgPool({
          search_path: String(await value(sql, 'SELECT current_schema')),
          synchronous_commit: 'remote_apply',
        });
        await sql('DELETE FROM log');
        await postgresStore(strict).insert(another(1));
        // Usage does not wait for another server.
        await postgresStore(strict).touch([
          { keyId: another(1).keyId, lastUsedAt: 1, scopesUsed: {} },
        ]);
        expect(await sql('SELECT how FROM log')).toEqual([
          { how: 'remote_apply' },
          { how: 'local' },
        ]);
        await strict.end();
      },
      settings,
    );
  });
});
