/** The SQL queries of `doctor`, over the client in the config. */
import { COLUMN_LIST } from '../../stores/rows.js';
import { type Dialect, MIGRATIONS } from '../../stores/schema/migrations.js';
import type { CommandSql } from './define-config.js';

/** The version of the schema that this release has. */
export const KNOWN_VERSION: number = MIGRATIONS.postgres.length;

/** The queries of one dialect. Each returns one column, `answer`. */
interface Questions {
  /** 1 or more if the schema exists. */
  readonly schema: string;
  /** The columns whose type or collation may take one text for another. */
  readonly columns: string;
  /** Milliseconds since the epoch; empty if the database uses this machine's clock. */
  readonly clock: string;
  /** 1 on the primary, 0 on a replica; empty for a file, which has no replicas. */
  readonly primary: string;
  /** The text of each trigger; on PostgreSQL, of those that fire, and of the schema's functions. */
  readonly triggers: string;
  /** The users that triggers run as and that do not exist; empty if triggers run as the caller. */
  readonly owners: string;
  /**
   * The roles that can read or write the tables, `public` meaning everybody. Without the owner, the
   * current role and administrators. Empty for a file, which has no roles.
   */
  readonly rights: string;
}

/** A condition of PostgreSQL: the role `name` can read or write the table `t`. */
const MAY_USE = `has_schema_privilege(name, t.relnamespace, 'USAGE')
        AND (has_any_column_privilege(name, t.oid, 'SELECT, INSERT, UPDATE')
          OR has_table_privilege(name, t.oid, 'DELETE, TRUNCATE, TRIGGER'))`;

/** Makes texts equal that differ in white space, which migration tools may change, or quotes. */
const squeeze = (text: string): string => text.replaceAll('"', '').trim().replaceAll(/\s+/g, ' ');

/** A column of MySQL's tables of rights, without its collation, which depends on the server. */
const plain = (column: string): string => `CAST(${column} AS BINARY)`;

/** A user of MySQL, without a collation, and as text. */
const USER = `CONCAT(${plain('User')}, '@', ${plain('Host')})`;
const WHO = `CONVERT(${USER} USING utf8mb4)`;

/** A user that MySQL creates for itself, and that nobody can log in as. */
const OF_MYSQL = "'mysql.infoschema@localhost'";

const PRIVILEGES = ['Select', 'Insert', 'Update', 'Delete', 'Drop', 'Alter', 'Trigger', 'Grant'];

/** The privileges of MySQL and MariaDB that read or write. */
const GRANTED = `'Y' IN (${PRIVILEGES.map((name) => plain(`${name}_priv`)).join(', ')})`;

const QUESTIONS: Readonly<Record<Dialect, Questions>> = {
  postgres: {
    schema: "SELECT (to_regclass('keyscope_schema') IS NOT NULL)::int AS answer",
    columns: `
      SELECT relname || '.' || attname AS answer
      FROM pg_attribute JOIN pg_class ON pg_class.oid = attrelid
        LEFT JOIN pg_collation ON pg_collation.oid = attcollation
      WHERE attrelid IN (to_regclass('keyscope_keys'), to_regclass('keyscope_addressing'))
        AND attname IN ('prefix', 'digest', 'entity_id', 'accessible_entities', 'withdrawn')
        AND (atttypid NOT IN ('text'::regtype, 'text[]'::regtype) OR collname <> 'C')
      ORDER BY answer`,
    clock: 'SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint::text AS answer',
    primary: 'SELECT (NOT pg_is_in_recovery())::int AS answer',
    triggers: `
      WITH own AS (
        SELECT pg_proc.oid, replace(replace(pg_get_functiondef(pg_proc.oid),
          ' FUNCTION ' || pronamespace::regnamespace || '.', ' FUNCTION '),
          '$function$', '$keyscope$') AS answer
        FROM pg_proc JOIN pg_class ON relnamespace = pronamespace
        WHERE pg_class.oid = to_regclass('keyscope_keys') AND proname ~ '^keyscope_'
      )
      SELECT answer FROM own UNION ALL
      SELECT pg_get_triggerdef(pg_trigger.oid, true) FROM pg_trigger JOIN own ON own.oid = tgfoid
      WHERE tgrelid = to_regclass('keyscope_keys') AND tgenabled IN (
        'A', CASE WHEN current_setting('session_replication_role') <> 'replica' THEN 'O' END)`,
    owners: '',
    rights: `
      SELECT DISTINCT name AS answer
      FROM pg_class AS t CROSS JOIN (
        SELECT 'public'::name AS name, 0::oid AS oid, false AS rolsuper
        UNION ALL SELECT rolname, oid, rolsuper FROM pg_roles WHERE rolname NOT LIKE 'pg\\_%'
      ) AS role
      WHERE t.oid IN (to_regclass('keyscope_keys'), to_regclass('keyscope_addressing'),
          to_regclass('keyscope_schema'))
        AND NOT rolsuper AND role.oid <> t.relowner AND name <> current_user
        AND ${MAY_USE}
      ORDER BY name`,
  },
  mysql: {
    schema: `
      SELECT COUNT(*) AS answer FROM information_schema.TABLES
      WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME = 'keyscope_schema'`,
    columns: `
      SELECT CONCAT(TABLE_NAME, '.', COLUMN_NAME) AS answer FROM information_schema.COLUMNS
      WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME IN ('keyscope_keys', 'keyscope_addressing')
        AND IF(COLUMN_NAME IN ('prefix', 'digest', 'entity_id'), DATA_TYPE <> 'varbinary',
          COLUMN_NAME IN ('${COLUMN_LIST.replaceAll(', ', "', '")}')
          AND RIGHT(COLLATION_NAME, 4) <> '_bin')
      ORDER BY answer`,
    clock: 'SELECT CAST(ROUND(UNIX_TIMESTAMP(NOW(3)) * 1000) AS CHAR) AS answer',
    primary: "SELECT CONCAT(@@read_only) IN ('0', 'OFF') AND @@innodb_read_only = 0 AS answer",
    triggers: `
      SELECT CONCAT('CREATE TRIGGER ', TRIGGER_NAME, ' ', ACTION_TIMING, ' ', EVENT_MANIPULATION,
        ' ON ', EVENT_OBJECT_TABLE,
        ' FOR EACH ROW ', TRIM(TRAILING ';' FROM ACTION_STATEMENT)) AS answer
      FROM information_schema.TRIGGERS WHERE EVENT_OBJECT_SCHEMA = DATABASE()`,
    owners: `
      SELECT DISTINCT DEFINER AS answer FROM information_schema.TRIGGERS
      WHERE EVENT_OBJECT_SCHEMA = DATABASE() AND EVENT_OBJECT_TABLE = 'keyscope_keys'
        AND ${plain('DEFINER')} NOT IN (SELECT ${USER} FROM mysql.user)`,
    rights: `
      SELECT DISTINCT who AS answer FROM (
        SELECT ${WHO} AS who FROM mysql.user
        WHERE ${GRANTED} AND ${plain('Super_priv')} <> 'Y'
        UNION SELECT ${WHO} FROM mysql.db
        WHERE DATABASE() LIKE Db AND ${GRANTED}
        UNION SELECT ${WHO} FROM mysql.tables_priv
        WHERE Db = DATABASE() AND Table_name LIKE 'keyscope\\_%'
      ) AS granted
      WHERE who NOT IN (CONVERT(CURRENT_USER() USING utf8mb4), ${OF_MYSQL}) ORDER BY who`,
  },
  sqlite: {
    schema: "SELECT count(*) AS answer FROM sqlite_master WHERE name = 'keyscope_schema'",
    columns: `
      SELECT t.name || '.entity_id' AS answer FROM sqlite_master AS t
      WHERE t.name IN ('keyscope_keys', 'keyscope_addressing') AND NOT EXISTS (
        SELECT 1 FROM pragma_table_info(t.name) AS c, pragma_index_list(t.name) AS i,
          pragma_index_xinfo(i.name) AS x
        WHERE c.name = 'entity_id' AND c.type = 'TEXT' AND x.name = c.name AND x.seqno = 0
          AND x.coll = 'BINARY')
      ORDER BY answer`,
    clock: '',
    primary: '',
    triggers: "SELECT sql AS answer FROM sqlite_master WHERE type = 'trigger'",
    owners: '',
    rights: '',
  },
};

/** Returns the answers of all rows. Drivers return integers as numbers, bigints or text. */
async function ask({ query }: CommandSql, sql: string): Promise<readonly unknown[]> {
  const rows = await query(sql);
  return rows.map((row) => (row as { readonly answer?: unknown }).answer);
}

/** After an interrupted migration, or with row-level security. */
const NO_VERSION =
  'keyscope: keyscope_schema has no visible row. See the store check, or run keyscope migrate';

/** Returns the version of the schema and the oldest release that reads it; 0 without a schema. */
export async function askVersion(
  sql: CommandSql,
): Promise<{ readonly version: number; readonly minReader: number }> {
  const [exists] = await ask(sql, QUESTIONS[sql.dialect].schema);
  if (Number(exists) === 0) return { version: 0, minReader: 0 };
  const [version] = await ask(sql, 'SELECT version AS answer FROM keyscope_schema');
  if (version === undefined) throw new Error(NO_VERSION);
  const [minReader] = await ask(sql, 'SELECT min_reader AS answer FROM keyscope_schema');
  return { version: Number(version ?? 0), minReader: Number(minReader ?? 0) };
}

/** Returns the columns whose type or collation may take one text for another. */
export async function askColumns(sql: CommandSql): Promise<readonly string[]> {
  return (await ask(sql, QUESTIONS[sql.dialect].columns)).map(String);
}

/** Returns the database's time in milliseconds since the epoch; null if it uses this clock. */
export async function askClock(sql: CommandSql): Promise<number | null> {
  const { clock } = QUESTIONS[sql.dialect];
  return clock === '' ? null : Number((await ask(sql, clock))[0]);
}

/** Whether this server is the primary; null for a file, which has no replica. */
export async function askPrimary(sql: CommandSql): Promise<boolean | null> {
  const { primary } = QUESTIONS[sql.dialect];
  return primary === '' ? null : Number((await ask(sql, primary))[0]) === 1;
}

/** Returns the other roles that can read or write the tables; null for a file. */
export async function askRights(sql: CommandSql): Promise<readonly string[] | null> {
  const { rights } = QUESTIONS[sql.dialect];
  return rights === '' ? null : (await ask(sql, rights)).map(String);
}

/** Returns the triggers and functions of the schema that are missing or do not work. */
async function askMissingTriggers(sql: CommandSql): Promise<readonly string[]> {
  const found = (await ask(sql, QUESTIONS[sql.dialect].triggers)).map(String).map(squeeze);
  return MIGRATIONS[sql.dialect].flat().flatMap((statement) => {
    const [, name] = /CREATE (?:TRIGGER|OR REPLACE FUNCTION) (\w+)/.exec(statement) ?? [];
    return name === undefined || found.includes(squeeze(statement)) ? [] : [name];
  });
}

/** Returns a sentence about triggers that do not work; null if all do. */
export async function askTriggerFault(sql: CommandSql): Promise<string | null> {
  const { owners } = QUESTIONS[sql.dialect];
  // If this user may not read the users, the owners are not known, which is not a fault.
  const gone = owners === '' ? [] : await ask(sql, owners).catch(() => []);
  if (gone.length > 0) return `${gone.join(', ')} ${WITHOUT_OWNER}`;
  const missing = await askMissingTriggers(sql);
  if (missing.length === 0) return null;
  return `missing, switched off or changed: ${missing.join(', ')}; ${REWRITABLE}`;
}

const WITHOUT_OWNER =
  'does not exist, but triggers run as this user, so every write to a key fails. ' +
  'DELETE FROM keyscope_schema, then run keyscope migrate as a user that you keep';

const REWRITABLE = 'anyone who can write to the table can rewrite history. See docs/stores.md';
