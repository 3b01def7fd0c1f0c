import { mysqlStore } from 'keyscope/stores/mysql';
import mysql, { type Connection } from 'mysql2/promise';
import { ENTITY, idOf } from '../keys.ts';
import { COLUMN_LIST, type Filled, LOOK_UP, OWN, type Target } from './target.ts';

const { KEYSCOPE_TEST_MYSQL: SERVER = 'mysql://root@127.0.0.1:3306/test' } = process.env;

function insertSql(count: number): string {
  return `
    INSERT INTO keyscope_keys (${COLUMN_LIST})
    SELECT concat(lpad(lower(hex(seq)), 8, '0'), '-0000-4000-8000-000000000000'), 'integration',
      concat('s1$', sha2(concat('key ', seq), 256)), NULL, '${ENTITY}', '["${ENTITY}"]',
      '["threats:read","decoys:read"]', NULL, '{}', 1700000000000 + seq,
      NULL, NULL, NULL, NULL, NULL, '{}'
    FROM seq_0_to_${count - 1}`;
}

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
  await mysqlStore(pool).findById(idOf(0));
  await pool.query(insertSql(count));
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
