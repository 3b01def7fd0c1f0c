/**
 * The platform's rows in SQLite. Every statement filters by entity, so the rows of other entities
 * are as invisible as rows that do not exist. The names of tables and columns come from
 * `records.ts`; every value is a parameter.
 */
import type { DatabaseSync } from 'node:sqlite';
import type { Breadcrumb, SourceCount, Table, Tables } from './records.ts';
import { COLUMNS } from './records.ts';

/** The position after the last row of a page. */
export interface Position {
  readonly created_at: string;
  readonly id: string;
}

export interface PageInput {
  readonly limit: number;
  /** `null` for the first page, which begins with the newest row. */
  readonly after: Position | null;
}

export interface Page<Item> {
  readonly items: readonly Item[];
  /** `null` on the last page. */
  readonly next: Position | null;
}

/** New values for some of the columns; `undefined` leaves a column unchanged. */
export type Change<T> = { readonly [Column in keyof T]?: T[Column] | undefined };

/** Sorts after every time and every id. */
const NEWEST: Position = { created_at: '~', id: '~' };

function selectFrom(table: Table): string {
  return `SELECT id, created_at, ${COLUMNS[table].join(', ')} FROM ${table}`;
}

/** Returns a page of an entity's rows, newest first. */
export function listRows<T extends Table>(
  db: DatabaseSync,
  table: T,
  entityId: string,
  { limit, after }: PageInput,
): Page<Tables[T]> {
  const { created_at, id } = after ?? NEWEST;
  const query = db.prepare(`${selectFrom(table)}
    WHERE entity_uuid = ? AND (created_at, id) < (?, ?)
    ORDER BY created_at DESC, id DESC LIMIT ?`);
  // One more row than requested shows whether there is a next page.
  const rows = query.all(entityId, created_at, id, limit + 1) as unknown as Tables[T][];
  const items = rows.slice(0, limit);
  const last = items.at(-1);
  if (last === undefined || rows.length <= limit) return { items, next: null };
  return { items, next: { created_at: last.created_at, id: last.id } };
}

export function findRow<T extends Table>(
  db: DatabaseSync,
  table: T,
  entityId: string,
  id: string,
): Tables[T] | null {
  const query = db.prepare(`${selectFrom(table)} WHERE entity_uuid = ? AND id = ?`);
  const row = query.get(entityId, id) as unknown as Tables[T] | undefined;
  return row ?? null;
}

export function insertRow<T extends Table>(
  db: DatabaseSync,
  table: T,
  entityId: string,
  row: Tables[T],
): Tables[T] {
  const columns = ['entity_uuid', 'id', 'created_at', ...COLUMNS[table]];
  const values = columns.map((column) => `:${column}`);
  const insert = `INSERT INTO ${table} (${columns.join(', ')}) VALUES (${values.join(', ')})`;
  const fields = row as unknown as Record<string, string>;
  db.prepare(insert).run({ entity_uuid: entityId, ...fields });
  return row;
}

/** @returns The updated row; `null` if it does not exist. */
export function updateRow<T extends Table>(
  db: DatabaseSync,
  table: T,
  entityId: string,
  id: string,
  change: Change<Tables[T]>,
): Tables[T] | null {
  const given = Object.entries(change).filter(
    ([column, value]) => COLUMNS[table].includes(column) && value !== undefined,
  );
  const sets = given.map(([column]) => `${column} = :${column}`).join(', ');
  const values = Object.fromEntries(given) as Record<string, string>;
  const update = `UPDATE ${table} SET ${sets} WHERE entity_uuid = :entity AND id = :id`;
  db.prepare(update).run({ ...values, entity: entityId, id });
  return findRow(db, table, entityId, id);
}

/** @returns Whether the row existed. */
export function deleteRow(db: DatabaseSync, table: Table, entityId: string, id: string): boolean {
  const statement = db.prepare(`DELETE FROM ${table} WHERE entity_uuid = ? AND id = ?`);
  return statement.run(entityId, id).changes === 1;
}

export function listBreadcrumbs(
  db: DatabaseSync,
  entityId: string,
  decoyId: string,
): readonly Breadcrumb[] {
  const query = db.prepare(`${selectFrom('breadcrumbs')}
    WHERE entity_uuid = ? AND decoy_id = ? ORDER BY created_at, id`);
  return query.all(entityId, decoyId) as unknown as Breadcrumb[];
}

export function hasEmail(db: DatabaseSync, entityId: string, email: string): boolean {
  const query = db.prepare('SELECT 1 FROM users WHERE entity_uuid = ? AND email = ?');
  return query.get(entityId, email) !== undefined;
}

export function countRows(db: DatabaseSync, table: Table, entityId: string): number {
  const query = db.prepare(`SELECT count(*) AS total FROM ${table} WHERE entity_uuid = ?`);
  const { total } = query.get(entityId) as { readonly total: number };
  return total;
}

/** Counts the rows for each value of a column. */
export function countBy(
  db: DatabaseSync,
  table: Table,
  column: string,
  entityId: string,
): Record<string, number> {
  const query = db.prepare(`SELECT ${column} AS name, count(*) AS total FROM ${table}
    WHERE entity_uuid = ? GROUP BY 1 ORDER BY 1`);
  const counts = query.all(entityId);
  return Object.fromEntries(counts.map(({ name, total }) => [String(name), Number(total)]));
}

export function topSources(db: DatabaseSync, entityId: string): readonly SourceCount[] {
  const query = db.prepare(`SELECT source_ip, count(*) AS interactions FROM interactions
    WHERE entity_uuid = ? GROUP BY 1 ORDER BY 2 DESC, 1 LIMIT 5`);
  return query.all(entityId) as unknown as SourceCount[];
}

/** Runs `work` in a transaction that no other process can interrupt. */
export function inTransaction(db: DatabaseSync, work: () => void): void {
  db.exec('BEGIN IMMEDIATE');
  work();
  db.exec('COMMIT');
}

const NULLABLE = ['update_requested_at'];

/** Creates missing tables. */
export function createTables(db: DatabaseSync): void {
  for (const [table, columns] of Object.entries(COLUMNS)) {
    const texts = columns.map((column) => {
      const constraint = NULLABLE.includes(column) ? '' : ' NOT NULL';
      return `${column} TEXT${constraint}, `;
    });
    db.exec(`CREATE TABLE IF NOT EXISTS ${table} (
      entity_uuid TEXT NOT NULL, id TEXT NOT NULL, created_at TEXT NOT NULL, ${texts.join('')}
      PRIMARY KEY (entity_uuid, id)) STRICT, WITHOUT ROWID`);
    db.exec(`CREATE INDEX IF NOT EXISTS ${table}_newest ON ${table} (entity_uuid, created_at, id)`);
  }
  db.exec('CREATE UNIQUE INDEX IF NOT EXISTS users_email ON users (entity_uuid, email)');
}
