import { postgresStore, purgeEnded } from 'keyscope/stores/postgres';
import pg from 'pg';
import { BEFORE_ALL_ENDS, KINDS } from './records.ts';
import { type Dialect, type Filled, fillSql, insertAll, OWN, type Target } from './target.ts';
import { newLog, watch } from './watch.ts';

const { KEYSCOPE_TEST_POSTGRES: URL = 'postgres://postgres@127.0.0.1:5432/test' } = process.env;

const DIALECT: Dialect = {
  hex: (number) => `lpad(to_hex(${number}), 8, '0')`,
  concat: (...texts) => texts.join(' || '),
  asId: (text) => `(${text})::uuid`,
  digest: (number) => `'s1$' || encode(sha256(convert_to('key ' || ${number}, 'UTF8')), 'hex')`,
  replaced: (list, from, to) => `array_replace(${list}, ${from}, ${to})`,
  numbers: (last) => `generate_series(1, ${last}) AS ten`,
};

/** The parts of a plan that are read here. */
interface Plan {
  readonly 'Shared Hit Blocks': number;
  readonly 'Shared Read Blocks': number;
}

/** With the time-outs that the documentation recommends. */
export function openPool(schema: string, max = 10): pg.Pool {
  const options = `-c search_path=${schema}`;
  const timeOuts = { statement_timeout: 4_000, query_timeout: 5_000 };
  return new pg.Pool({ connectionString: URL, max, options, ...timeOuts });
}

async function fill(schema: string, count: number): Promise<void> {
  const client = new pg.Client({ connectionString: URL, options: `-c search_path=${schema}` });
  await client.connect();
  for (const sql of fillSql(DIALECT, count)) await client.query(sql);
  await client.query('VACUUM ANALYZE');
  await client.end();
}

/** The blocks that the statements of a purge read which finds nothing, from memory or disk. */
async function readBlocks(pool: pg.Pool): Promise<number> {
  const log = newLog();
  await purgeEnded(watch(pool, log), { endedBefore: new Date(BEFORE_ALL_ENDS) });
  let blocks = 0;
  for (const [query] of log.sent) {
    const { text, values } = query as pg.QueryConfig;
    if (!text.includes('keyscope_keys') || values === undefined) continue;
    const explained = { text: `EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) ${text}`, values };
    const { rows } = await pool.query<{ 'QUERY PLAN': [{ Plan: Plan }] }>(explained);
    const plan = rows[0]?.['QUERY PLAN'][0].Plan;
    blocks += (plan?.['Shared Hit Blocks'] ?? 0) + (plan?.['Shared Read Blocks'] ?? 0);
  }
  return blocks;
}

async function open(count: number): Promise<Filled> {
  const schema = `${OWN}_${count}`;
  const pool = openPool(schema);
  await pool.query(`CREATE SCHEMA ${schema}`);
  const store = postgresStore(pool);
  await insertAll(store, 0, KINDS);
  await fill(schema, count);
  const log = newLog();
  return {
    store,
    purge: (endedBefore) => purgeEnded(pool, { endedBefore }),
    watched: postgresStore(watch(pool, log)),
    log,
    purgeReads: () => readBlocks(pool),
    async close() {
      await pool.query(`DROP SCHEMA ${schema} CASCADE`);
      await pool.end();
    },
  };
}

export const POSTGRES: Target = { name: 'PostgreSQL', open, reads: 'shared buffers' };
