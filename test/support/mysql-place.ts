/** Fixtures of the MySQL store's tests: a client on a separate database. */
import { inspect } from 'node:util';
import type { KeyRecord, KeyStore, ListQuery, Mark, UsageEntry } from 'keyscope';
import type { MysqlConnection, MysqlLoan, MysqlPool, MysqlStatement } from 'keyscope/stores/mysql';
import { mysqlStore } from 'keyscope/stores/mysql';
import { afterAll, beforeAll, type describe } from 'vitest';
import { eventually } from './eventually.ts';
import type { ClientOptions, Database, Opened } from './mysql-clients.ts';
import { CLIENTS, emptyDatabase } from './mysql-clients.ts';
import { numbered, RECORD } from './records.ts';
import { describeOn } from './servers.ts';

/** `describe` for tests that need the server. */
export const describeMysql: typeof describe.skip = await describeOn('mysql');

/** The names of all clients. */
export const KINDS: readonly string[] = Object.keys(CLIENTS);
export const POOLS = ['mysql2 pool', 'mariadb pool'] as const;
export const CONNECTIONS = ['mysql2 connection', 'mariadb connection'] as const;
export const DRIVERS = ['mysql2', 'mariadb'] as const;
export type Driver = (typeof DRIVERS)[number];

/** For hundreds of statements on a busy machine. */
export const SLOW = { timeout: 120_000 };

/** Makes records like the one of all tests. */
export const another: (n: number) => KeyRecord = numbered(RECORD);

/** Makes the use of a key, as `touch` takes it. */
export function usageOf(
  { keyId }: KeyRecord,
  lastUsedAt: number,
  scopesUsed: Readonly<Record<string, number>> = {},
): UsageEntry {
  return { keyId, lastUsedAt, scopesUsed };
}

/** A listing of the keys of the entity of all records, newest first. */
export const OWN_KEYS: ListQuery = {
  prefix: RECORD.prefix,
  entityId: RECORD.entityId,
  after: null,
  limit: 9,
};

/** The first part of a lineage. */
export function lineageOf(rootKeyId: string) {
  return { rootKeyId, after: null, limit: 9 } as const;
}

/** Makes a revocation without actor and reason, after which the key has no seal. */
export function revokeAt(at: number): Mark {
  return { kind: 'revoke', at, by: null, reason: null, seal: null };
}

/** Makes a retirement without actor and reason. */
export function retireAt(at: number): Mark {
  return { kind: 'retire', at, retireAt: at, by: null, reason: null };
}

/** Returns a record after {@link revokeAt}. */
export function revoked(record: KeyRecord, at: number): KeyRecord {
  return { ...record, revokedAt: at, changedAt: at, seal: null };
}

/** Opens a client by its name. */
export function openClient(kind: string, options: ClientOptions): Promise<Opened> {
  const opener = CLIENTS[kind];
  if (opener === undefined) throw new Error(`no client ${kind}`);
  return opener(options);
}

/** A client with a store, on a separate database. */
export interface Place {
  readonly database: Database;
  readonly opened: Opened;
  readonly store: Required<KeyStore>;
  /** Runs SQL like an operator, on a separate connection. */
  readonly rows: Database['console']['rows'];
  readonly value: Database['console']['value'];
}

/** Opens a place for one test, which closes it. */
export async function openPlace(kind: string, options: ClientOptions = {}): Promise<Place> {
  const database = await emptyDatabase();
  const opened = await openClient(kind, { ...database.settings, ...options });
  const store = mysqlStore(opened.client);
  const { rows, value } = database.console;
  return { database, opened, store, rows, value };
}

export async function closePlace({ opened, database }: Place): Promise<void> {
  await opened.end();
  await database.drop();
}

/** Makes a place for a group of tests, and fills it in before the first of them. */
export function usePlace(kind: string, options: ClientOptions = {}): Place {
  const place = {} as Place;
  beforeAll(async () => {
    Object.assign(place, await openPlace(kind, options));
  }, SLOW.timeout);
  afterAll(() => closePlace(place), SLOW.timeout);
  return place;
}

/** Runs `act` with a new client on a new database. */
export async function withClient<Result>(
  kind: string,
  options: ClientOptions,
  act: (opened: Opened, database: Database) => Promise<Result>,
): Promise<Result> {
  const database = await emptyDatabase();
  try {
    const opened = await openClient(kind, { ...database.settings, ...options });
    try {
      return await act(opened, database);
    } finally {
      await opened.end();
    }
  } finally {
    await database.drop();
  }
}

/** Waits for a condition, for as long as a test of the server may take. */
export function until(holds: () => Promise<boolean>, what: string): Promise<void> {
  return eventually(holds, what, SLOW.timeout - 10_000);
}

/** Makes a pool that changes its connections before it lends them out. */
export function lending(pool: MysqlPool, change: (loan: MysqlLoan) => MysqlLoan): MysqlPool {
  return {
    execute: (statement, values) => pool.execute(statement, values),
    query: (statement) => pool.query(statement),
    async getConnection() {
      const loan = await pool.getConnection();
      return change({
        execute: (statement, values) => loan.execute(statement, values),
        query: (statement) => loan.query(statement),
        release: () => loan.release(),
        destroy: () => loan.destroy(),
      });
    },
  };
}

/** Makes a connection on which rows cannot show an open transaction, as on MySQL. */
export function withoutSight(client: MysqlConnection): MysqlConnection {
  function changed({ sql, ...options }: MysqlStatement): MysqlStatement {
    const blind = sql
      .replaceAll(' /*M! AND @@in_transaction = 0 */', '')
      .replace("'in_transaction', ", '');
    return Object.assign({ sql: blind }, options);
  }
  return {
    execute: (statement, values) => client.execute(changed(statement), values),
    query: (statement) => client.query(changed(statement)),
  };
}

/** Prints options on one line, for the name of a test. */
export function printed(options: object): string {
  return inspect(options, { breakLength: Number.POSITIVE_INFINITY });
}

/** The schema of a database, as the server prints it. */
export interface PrintedSchema {
  readonly tables: readonly unknown[];
  readonly triggers: readonly unknown[];
  readonly versions: readonly unknown[];
}

/** Reads everything except what depends on the time and the user. */
export async function schemaOf({ console }: Database): Promise<PrintedSchema> {
  const tables = [
    await console.rows('SHOW CREATE TABLE keyscope_schema'),
    await console.rows('SHOW CREATE TABLE keyscope_keys'),
    await console.rows('SHOW CREATE TABLE keyscope_addressing'),
  ];
  const triggers = await console.rows('SHOW TRIGGERS');
  const versions = await console.rows('SELECT * FROM keyscope_schema');
  return {
    tables,
    triggers: triggers.map(({ Trigger, Event, Timing, Statement }) => ({
      Trigger,
      Event,
      Timing,
      // MySQL keeps the semicolon of a script.
      Statement: String(Statement).replace(/;$/, ''),
    })),
    versions,
  };
}
