import { mysqlStore, purgeEnded } from 'keyscope/stores/mysql';
import mysql, { type Connection, type Pool } from 'mysql2/promise';
import { BEFORE_ALL_ENDS, KINDS } from './records.ts';
import { type Dialect, type Filled, fillSql, insertAll, OWN, type Target } from './target.ts';
import { newLog, watch } from './watch.ts';

const { KEYSCOPE_TEST_MYSQL: SERVER = 'mysql://root@127.0.0.1:3306/test' } = process.env;

const DIALECT: Dialect = {
  hex: (number) => `lpad(lower(hex(${number})), 8, '0')`,
  concat: (...texts) => `concat(${texts.join(', ')})`,
  asId: (text) => text,
  digest: (number) => `concat('s1$', sha2(concat('key ', ${number}), 256))`,
  replaced: (list, from, to) => `replace(${list}, ${from}, ${to})`,
  numbers: (last) => `(SELECT seq AS ten FROM seq_1_to_${last}) AS numbers`,
};

/** With the time limit that the documentation recommends for PostgreSQL. */
function openPool(uri: string, connectionLimit: number): Pool {
  const pool = mysql.createPool({ uri, connectionLimit });
  pool.on('connection', (connection) => {
    void connection.query('SET SESSION max_statement_time = 4');
  });
  return pool;
}

/** The rows and index entries that a purge reads which finds nothing, on the one connection. */
async function readRows(uri: string): Promise<number> {
  const pool = openPool(uri, 1);
  async function count(): Promise<number> {
    const [rows] = await pool.query("SHOW SESSION STATUS LIKE 'Handler_read%'");
    let sum = 0;
    for (const { Value: value } of rows as { readonly Value: string }[]) sum += Number(value);
    return sum;
  }
  const endedBefore = new Date(BEFORE_ALL_ENDS);
  // The first one also looks at the schema.
  await purgeEnded(pool, { endedBefore });
  await count();
  const before = await count();
  const nothing = (await count()) - before;
  const start = await count();
  await purgeEnded(pool, { endedBefore });
  const read = (await count()) - start - nothing;
  await pool.end();
  return read;
}

async function fill(root: Connection, database: string, count: number): Promise<void> {
  await root.query(`USE ${database}`);
  for (const sql of fillSql(DIALECT, count)) await root.query(sql);
  await root.query('ANALYZE TABLE keyscope_keys, keyscope_addressing');
}

async function open(count: number): Promise<Filled> {
  const database = `${OWN}_${count}`;
  const root = await mysql.createConnection({ uri: SERVER });
  await root.query(`CREATE DATABASE ${database}`);
  const uri = new URL(SERVER);
  uri.pathname = `/${database}`;
  const pool = openPool(uri.href, 10);
  const store = mysqlStore(pool);
  await insertAll(store, 0, KINDS);
  await fill(root, database, count);
  const log = newLog();
  return {
    store,
    purge: (endedBefore) => purgeEnded(pool, { endedBefore }),
    watched: mysqlStore(watch(pool, log)),
    log,
    purgeReads: () => readRows(uri.href),
    async close() {
      await pool.end();
      await root.query(`DROP DATABASE ${database}`);
      await root.end();
    },
  };
}

export const MARIADB: Target = { name: 'MariaDB', open, reads: 'handler reads' };
