/** What the command asks a database beyond its store, over the client that the config has. */
import { toInteger } from '../stores/rows.js';
import { type Dialect, MIGRATIONS } from '../stores/schema/migrations.js';
import type { Database } from './database.js';
import type { CommandDatabase } from './define-config.js';

interface Row {
  readonly answer?: unknown;
  readonly reader?: unknown;
}

type Query = (sql: string) => Promise<readonly Row[]>;

/** Opens nothing: asks over the client of the config. */
export async function databaseOf(config: CommandDatabase): Promise<Database> {
  if (config.kind === 'redis') return (await import('./redis-database.js')).redisDatabase(config);
  const { kind, client } = config;
  const query = await queryOf(config);
  return {
    ...askSql(kind, query),
    migrate: () => migrate(config),
    poolSize: kind === 'sqlite' ? null : poolSizeOf(client),
  };
}

type SqlConfig = Exclude<CommandDatabase, { readonly kind: 'redis' }>;

async function queryOf(config: SqlConfig): Promise<Query> {
  if (config.kind === 'sqlite') {
    return async (sql) => config.client.prepare(sql).all() as readonly Row[];
  }
  if (config.kind === 'postgres') {
    const { openSession } = await import('../stores/postgres/clients.js');
    const session = openSession(config.client);
    const send = (text: string) => session.send({ name: '', text, values: [], prepare: false });
    return async (sql) => (await send(sql)) as readonly Row[];
  }
  const { connectionsOf } = await import('../stores/mysql/connections.js');
  const { rowsOf } = await import('../stores/mysql/answers.js');
  const { withSession } = connectionsOf(config.client);
  return (sql) => withSession(async (session) => rowsOf(await session.query(sql)));
}

async function migrate(config: SqlConfig): Promise<void> {
  if (config.kind === 'sqlite') {
    return (await import('../stores/sqlite/migrate.js')).migrate(config.client);
  }
  const options = { triggers: config.triggers };
  if (config.kind === 'postgres') {
    return (await import('../stores/postgres/migrate.js')).migrate(config.client, options);
  }
  return (await import('../stores/mysql/migrate.js')).migrate(config.client, options);
}

/** A question to each kind of server. Each has one column, `answer`. */
interface Questions {
  readonly hasSchema: string;
  /** Milliseconds; empty for the clock of this machine. */
  readonly clock: string;
  /** 1 or 0; empty for a file, which has no copy that is asked by mistake. */
  readonly primary: string;
  readonly triggers: string;
}

const QUESTIONS: Readonly<Record<Dialect, Questions>> = {
  postgres: {
    hasSchema: "SELECT (to_regclass('keyscope_schema') IS NOT NULL)::int::text AS answer",
    clock: 'SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint::text AS answer',
    primary: 'SELECT (NOT pg_is_in_recovery())::int::text AS answer',
    triggers: `
      SELECT tgname AS answer FROM pg_trigger
      WHERE tgrelid = to_regclass('keyscope_keys') AND tgenabled <> 'D'`,
  },
  mysql: {
    hasSchema: `
      SELECT COUNT(*) AS answer FROM information_schema.TABLES
      WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME = 'keyscope_schema'`,
    clock: 'SELECT CAST(ROUND(UNIX_TIMESTAMP(NOW(3)) * 1000) AS CHAR) AS answer',
    primary: `
      SELECT CONCAT(@@read_only) IN ('0', 'OFF') AND @@innodb_read_only = 0 AS answer`,
    triggers: `
      SELECT TRIGGER_NAME AS answer FROM information_schema.TRIGGERS
      WHERE EVENT_OBJECT_SCHEMA = DATABASE()`,
  },
  sqlite: {
    hasSchema: "SELECT count(*) AS answer FROM sqlite_master WHERE name = 'keyscope_schema'",
    clock: '',
    primary: '',
    triggers: "SELECT name AS answer FROM sqlite_master WHERE type = 'trigger'",
  },
};

const VERSION = 'SELECT version AS answer, min_reader AS reader FROM keyscope_schema';

type Asked = Pick<Database, 'version' | 'clock' | 'isPrimary' | 'missingTriggers'>;

function askSql(dialect: Dialect, query: Query): Asked {
  const questions = QUESTIONS[dialect];
  const number = async (sql: string): Promise<number> =>
    Number(toInteger((await query(sql))[0]?.answer));
  return {
    async version() {
      if ((await number(questions.hasSchema)) === 0) return { version: 0, minReader: 0 };
      const [row] = await query(VERSION);
      return { version: Number(row?.answer ?? 0), minReader: Number(row?.reader ?? 0) };
    },
    clock: async () => (questions.clock === '' ? null : number(questions.clock)),
    isPrimary: async () => questions.primary === '' || (await number(questions.primary)) === 1,
    async missingTriggers() {
      const rows = await query(questions.triggers);
      const found = rows.map((row) => String(row.answer));
      return triggersOf(dialect).filter((name) => !found.includes(name));
    },
  };
}

/** The triggers that a schema creates, from its own text. */
function triggersOf(dialect: Dialect): readonly string[] {
  const sql = MIGRATIONS[dialect].flat().join('\n');
  return [...sql.matchAll(/CREATE TRIGGER (\w+)/g)].map(([, name = '']) => name);
}

/** Where the drivers keep it: pg and postgres.js, mysql2. A single connection is no pool. */
function poolSizeOf(client: unknown): number | null {
  const { options, pool } = client as {
    readonly options?: { readonly max?: unknown };
    readonly pool?: { readonly config?: { readonly connectionLimit?: unknown } };
  };
  const size = options?.max ?? pool?.config?.connectionLimit;
  return typeof size === 'number' ? size : null;
}
