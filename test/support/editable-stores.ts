/** Stores whose rows a test can edit by hand, like someone with the database's password. */
import { DatabaseSync } from 'node:sqlite';
import { Redis } from 'ioredis';
import type { KeyRecord, KeyStore } from 'keyscope';
import { memoryStore } from 'keyscope/stores/memory';
import { migrate as migrateMysql, mysqlStore } from 'keyscope/stores/mysql';
import { migrate as migratePostgres, postgresStore } from 'keyscope/stores/postgres';
import { redisStore } from 'keyscope/stores/redis';
import { sqliteStore } from 'keyscope/stores/sqlite';
import { createPool } from 'mysql2/promise';
import { Pool } from 'pg';
import { readMember } from '../../src/stores/redis/schema.js';
import { toRecord } from '../../src/stores/rows.js';
import { columnOf } from './columns.ts';
import type { EditableStore, Fields } from './random-edits.ts';
import { SERVERS } from './servers.ts';

/** An editable store that has to be closed. */
export interface OpenedEditable extends EditableStore {
  close(): Promise<void>;
}

export type OpenEditable = () => Promise<OpenedEditable>;

/** Checks whether the database accepted an edit. */
async function isTaken(write: () => unknown): Promise<boolean> {
  try {
    await write();
    return true;
  } catch {
    return false;
  }
}

const QUERY = 'SELECT * FROM keyscope_keys';

/** Makes an UPDATE of some fields, with a placeholder for each value. */
function updateOf(fields: Fields, place: (index: number, column: string) => string): string {
  const columns = Object.keys(fields).map((field) => columnOf(field as keyof KeyRecord));
  const sets = columns.map((column, index) => `${column} = ${place(index + 1, column)}`);
  return `UPDATE keyscope_keys SET ${sets.join(', ')}`;
}

/** Converts a value for SQL databases without lists. */
function toText(value: unknown): string | number | null {
  if (typeof value === 'object' && value !== null) return JSON.stringify(value);
  return value as string | number | null;
}

/** The store in memory. An edit replaces a row. */
export async function editableMemory(): Promise<OpenedEditable> {
  let current = memoryStore();
  const all = async (): Promise<readonly KeyRecord[]> => {
    const { items } = await current.listAll({ after: null, limit: 1000 });
    return items;
  };
  const names = Object.keys(current) as (keyof KeyStore)[];
  const forwarded = names.map((name) => {
    const call = (...args: readonly unknown[]): unknown =>
      (current[name] as (...all: readonly unknown[]) => unknown)(...args);
    return [name, call] as const;
  });
  return {
    store: Object.fromEntries(forwarded) as unknown as KeyStore,
    rows: all,
    edit: async ({ digest }, fields) => {
      const next = memoryStore();
      const taken = await isTaken(async () => {
        for (const row of await all()) {
          await next.insert(row.digest === digest ? ({ ...row, ...fields } as KeyRecord) : row);
        }
      });
      if (taken) current = next;
      return taken;
    },
    clear: async () => {
      current = memoryStore();
    },
    close: async () => {},
  };
}

/** SQLite in memory, with its triggers or without its safeguards. */
export function editableSqlite(triggers: boolean): OpenEditable {
  return async () => {
    const db = new DatabaseSync(':memory:');
    const store = sqliteStore(db);
    const clear = async (): Promise<void> => {
      db.exec('UPDATE keyscope_schema SET purge_before = NULL');
      const kept = db.prepare("SELECT sql FROM sqlite_master WHERE type = 'trigger'").all();
      const dropped = db.prepare("SELECT name FROM sqlite_master WHERE type = 'trigger'").all();
      for (const { name } of dropped) db.exec(`DROP TRIGGER ${String(name)}`);
      db.exec('DELETE FROM keyscope_keys; DELETE FROM keyscope_addressing');
      for (const { sql } of kept) db.exec(String(sql));
    };
    if (!triggers) {
      const refusing = db
        .prepare("SELECT name FROM sqlite_master WHERE type = 'trigger' AND sql LIKE '%RAISE(%'")
        .all();
      for (const { name } of refusing) db.exec(`DROP TRIGGER ${String(name)}`);
    }
    return {
      store,
      rows: async () => db.prepare(QUERY).all().map(toRecord),
      edit: ({ digest }, fields) =>
        isTaken(() => {
          const sql = `${updateOf(fields, () => '?')} WHERE digest = ?`;
          db.prepare(sql).run(...Object.values(fields).map(toText), digest);
        }),
      clear,
      close: async () => db.close(),
    };
  };
}

const POSTGRES_TYPES: Readonly<Record<string, string>> = {
  format: 'integer',
  key_id: 'uuid',
  rotated_from: 'uuid',
  root_key_id: 'uuid',
  issued_under: 'uuid',
  accessible_entities: 'text[]',
  withdrawn: 'text[]',
  scopes: 'text[]',
  metadata: 'jsonb',
  scopes_used: 'jsonb',
};

function postgresType(column: string): string {
  return POSTGRES_TYPES[column] ?? (column.endsWith('_at') ? 'bigint' : 'text');
}

/** PostgreSQL in a separate schema, with its triggers or after an attacker has disabled them. */
export function editablePostgres(triggers: boolean): OpenEditable {
  return async () => {
    const schema = `keyscope_${globalThis.crypto.randomUUID().replaceAll('-', '')}`;
    const owner = new Pool({ connectionString: SERVERS.postgres, max: 1 });
    await owner.query(`CREATE SCHEMA ${schema}`);
    const options = `-c search_path=${schema}`;
    const pool = new Pool({ connectionString: SERVERS.postgres, options, max: 4 });
    await migratePostgres(pool);
    if (!triggers) await pool.query('ALTER TABLE keyscope_keys DISABLE TRIGGER USER');
    return {
      store: postgresStore(pool),
      rows: async () => {
        const { rows } = await pool.query(QUERY);
        return rows.map(toRecord);
      },
      edit: ({ digest }, fields) =>
        isTaken(() => {
          const place = (index: number, column: string): string => {
            const type = postgresType(column);
            return type === 'jsonb' ? `$${index}::jsonb` : `$${index}::${type}`;
          };
          const values = Object.entries(fields).map(([field, value]) =>
            field === 'metadata' ? JSON.stringify(value) : value,
          );
          const sql = `${updateOf(fields, place)} WHERE digest = $${values.length + 1}`;
          return pool.query(sql, [...values, digest]);
        }),
      clear: async () => {
        await pool.query(`
          SET session_replication_role = replica;
          DELETE FROM keyscope_keys; DELETE FROM keyscope_addressing;
          SET session_replication_role = DEFAULT`);
      },
      close: async () => {
        await pool.end();
        await owner.query(`DROP SCHEMA ${schema} CASCADE`);
        await owner.end();
      },
    };
  };
}

/** MySQL or MariaDB in a separate database, with or without its triggers. */
export function editableMysql(triggers: boolean): OpenEditable {
  return async () => {
    const database = `keyscope_${globalThis.crypto.randomUUID().replaceAll('-', '')}`;
    const owner = createPool({ uri: SERVERS.mysql, connectionLimit: 1 });
    await owner.query(`CREATE DATABASE ${database}`);
    const { hostname: host, port, username: user, password } = new URL(SERVERS.mysql);
    const settings = { host, port: Number(port), user, password, database };
    const pool = createPool({ ...settings, connectionLimit: 4 });
    await migrateMysql(pool, { triggers });
    return {
      store: mysqlStore(pool),
      rows: async () => {
        const [rows] = await pool.query(
          `SELECT *,
             CONVERT(prefix USING utf8mb4) AS prefix, CONVERT(digest USING utf8mb4) AS digest,
             CONVERT(entity_id USING utf8mb4) AS entity_id
           FROM keyscope_keys`,
        );
        return (rows as readonly unknown[]).map(toRecord);
      },
      edit: ({ digest }, fields) =>
        isTaken(() => {
          const sql = `${updateOf(fields, () => '?')} WHERE digest = ?`;
          return pool.query(sql, [...Object.values(fields).map(toText), digest]);
        }),
      clear: async () => {
        // This statement fires no trigger.
        await pool.query('TRUNCATE keyscope_keys');
        await pool.query('TRUNCATE keyscope_addressing');
      },
      close: async () => {
        await pool.end();
        await owner.query(`DROP DATABASE ${database}`);
        await owner.end();
      },
    };
  };
}

/** Redis under a separate prefix. It has no triggers. */
export async function editableRedis(): Promise<OpenedEditable> {
  const prefix = `keyscope:${globalThis.crypto.randomUUID()}:`;
  const client = new Redis(SERVERS.redis);
  const keysUnder = (pattern: string): Promise<string[]> => client.keys(`${prefix}${pattern}`);
  // Finds a row by the key it was stored under, whatever its contents say.
  const filed = new WeakMap<KeyRecord, Pick<KeyRecord, 'keyId' | 'digest'>>();
  const rows = async (): Promise<readonly KeyRecord[]> => {
    const ids = new Map<string, string>();
    for (const key of await keysUnder('id:*')) {
      const entry = readMember(String(await client.get(key)));
      if (entry !== null) ids.set(entry.digest, entry.keyId);
    }
    const all: KeyRecord[] = [];
    for (const key of await keysUnder('rec:*')) {
      const hash = await client.hgetall(key);
      const fields = Object.entries(hash).map(([name, json]) => [
        name,
        JSON.parse(json) as unknown,
      ]);
      const row = Object.fromEntries(fields) as KeyRecord;
      const digest = key.slice(`${prefix}rec:`.length);
      filed.set(row, { digest, keyId: ids.get(digest) ?? row.keyId });
      all.push(row);
    }
    return all.sort((one, two) => (String(one.digest) < String(two.digest) ? -1 : 1));
  };
  const schema = `${prefix}schema`;
  // Without its schema, the store would answer with an outage.
  const clear = async (): Promise<void> => {
    const keys = (await keysUnder('*')).filter((key) => key !== schema);
    if (keys.length > 0) await client.del(...keys);
  };
  return {
    store: redisStore(client, { prefix }),
    rows,
    filedOf: (row) => filed.get(row) ?? row,
    edit: (row, fields) =>
      isTaken(() => {
        const texts = Object.entries(fields).flatMap(([name, value]) => [
          name,
          JSON.stringify(value),
        ]);
        return client.hset(`${prefix}rec:${filed.get(row)?.digest ?? ''}`, ...texts);
      }),
    clear,
    close: async () => {
      await clear();
      await client.del(schema);
      client.disconnect();
    },
  };
}

/** By name. */
export const EDITABLE: Readonly<Record<string, OpenEditable>> = {
  memory: editableMemory,
  'SQLite with triggers': editableSqlite(true),
  'SQLite without triggers': editableSqlite(false),
  'PostgreSQL with triggers': editablePostgres(true),
  'PostgreSQL without triggers': editablePostgres(false),
  'MariaDB with triggers': editableMysql(true),
  'MariaDB without triggers': editableMysql(false),
  Redis: editableRedis,
};
