import { mysqlStore } from 'keyscope/stores/mysql';
import mysql, { type Connection } from 'mysql2/promise';
import { recordOf } from './keys.ts';
import { copySql, type Filled, LOOK_UP, type Numbered, OWN, type Target } from './target.ts';

const { KEYSCOPE_TEST_MYSQL: SERVER = 'mysql://root@127.0.0.1:3306/test' } = process.env;

const KEY_ID = "concat(lpad(lower(hex(seq)), 8, '0'), '-0000-4000-8000-000000000000')";

/** The key `seq`, as `recordOf` has it. */
const NUMBERED: Numbered = {
  key_id: KEY_ID,
  digest: "concat('s1$', sha2(concat('key ', seq), 256))",
  created_at: 'created_at + seq',
  root_key_id: KEY_ID,
};

type Row = Readonly<Record<string, unknown>>;

async function readRows(connection: Connection, sql: string): Promise<readonly Row[]> {
  const [rows] = await connection.query(sql);
  return rows as readonly Row[];
}

async function open(count: number): Promise<Filled> {
  const database = `${OWN}_${count}`;
  const root = await mysql.createConnection({ uri: SERVER });
  await root.query(`CREATE DATABASE ${database}`);
  const uri = new URL(SERVER);
  uri.pathname = `/${database}`;
  const pool = mysql.createPool({ uri: uri.href, connectionLimit: 10 });
  await mysqlStore(pool).insert(recordOf(0));
  await pool.query(copySql(NUMBERED, `seq_1_to_${count - 1}`));
  await pool.query('ANALYZE TABLE keyscope_keys');
  return {
    async bare(digest) {
      const [rows] = await pool.execute(`${LOOK_UP}?`, [digest]);
      return (rows as readonly unknown[])[0];
    },
    store: (batch) => mysqlStore(pool, { batch }),
    async bytes() {
      const [sizes] = await readRows(
        root,
        `SELECT data_length AS data, index_length AS indexes FROM information_schema.tables
         WHERE table_schema = '${database}' AND table_name = 'keyscope_keys'`,
      );
      const { data, indexes } = sizes ?? {};
      return { data: Number(data), indexes: Number(indexes) };
    },
    async writes() {
      const counters = await readRows(
        root,
        "SHOW GLOBAL STATUS WHERE Variable_name REGEXP '^Innodb_rows_(inserted|updated|deleted)$'",
      );
      let written = 0;
      for (const { Value: value } of counters) written += Number(value);
      return written;
    },
    async close() {
      await root.query(`DROP DATABASE ${database}`);
      await Promise.all([pool.end(), root.end()]);
    },
  };
}

export const MARIADB: Target = { name: 'MariaDB', open, url: SERVER, batches: true };
