import { postgresStore } from 'keyscope/stores/postgres';
import pg from 'pg';
import { recordOf } from './keys.ts';
import { copySql, type Filled, LOOK_UP, type Numbered, OWN, type Target } from './target.ts';

const { KEYSCOPE_TEST_POSTGRES: URL = 'postgres://postgres@127.0.0.1:5432/test' } = process.env;

const KEY_ID = "(lpad(to_hex(i), 8, '0') || '-0000-4000-8000-000000000000')::uuid";

/** The key `i`, as `recordOf` has it. */
const NUMBERED: Numbered = {
  key_id: KEY_ID,
  digest: "'s1$' || encode(sha256(convert_to('key ' || i, 'UTF8')), 'hex')",
  created_at: 'created_at + i',
  root_key_id: KEY_ID,
};

/** The number in the one column of the one row. */
async function readNumber(pool: pg.Pool, sql: string): Promise<number> {
  const { rows } = await pool.query<Readonly<Record<string, unknown>>>(sql);
  const [value] = Object.values(rows[0] ?? {});
  return Number(value);
}

async function open(count: number): Promise<Filled> {
  const schema = `${OWN}_${count}`;
  const options = `-c search_path=${schema}`;
  const pool = new pg.Pool({ connectionString: URL, max: 10, options });
  await pool.query(`CREATE SCHEMA ${schema}`);
  await postgresStore(pool).insert(recordOf(0));
  await pool.query(copySql(NUMBERED, `generate_series(1, ${count - 1}) AS i`));
  await pool.query('VACUUM ANALYZE keyscope_keys');
  return {
    async bare(digest) {
      const query = { name: 'bare', text: `${LOOK_UP}$1`, values: [digest] };
      const { rows } = await pool.query<object>(query);
      return rows[0];
    },
    store: (batch) => postgresStore(pool, { batch }),
    bytes: async () => ({
      data: await readNumber(pool, "SELECT pg_table_size('keyscope_keys')"),
      indexes: await readNumber(pool, "SELECT pg_indexes_size('keyscope_keys')"),
    }),
    async writes() {
      await pool.query('SELECT pg_stat_clear_snapshot()');
      return readNumber(
        pool,
        `SELECT n_tup_ins + n_tup_upd + n_tup_del FROM pg_stat_user_tables
         WHERE schemaname = '${schema}' AND relname = 'keyscope_keys'`,
      );
    },
    async close() {
      await pool.query(`DROP SCHEMA ${schema} CASCADE`);
      await pool.end();
    },
  };
}

export const POSTGRES: Target = { name: 'PostgreSQL', open, url: URL, batches: true };
