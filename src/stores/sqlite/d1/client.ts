/** The D1 binding of a Worker, and its sessions that start at the primary. */
import { assert, hasMethods } from '../../../core/input.js';
import type { Value } from '../../rows.js';

/** A prepared statement of D1. */
export interface D1Statement {
  /** Returns the same statement with its parameters. */
  bind(...parameters: Value[]): D1Statement;
  /** Runs it, and reads all rows. */
  all(): PromiseLike<{ readonly results: readonly unknown[] }>;
}

/** The methods that a binding and a session share. */
export interface D1Session {
  /** Prepares one statement. */
  prepare(sql: string): D1Statement;
  /** Runs one transaction: all of the statements or none. */
  batch(statements: D1Statement[]): PromiseLike<readonly unknown[]>;
}

/** A D1 binding, such as `env.DB`. */
export interface D1Client extends D1Session {
  /** Absent in runtimes older than read replication, which had only the primary. */
  withSession?(constraint: 'first-primary'): D1Session;
}

/** Throws a `TypeError` unless `db` looks like a binding. Only sessions have bookmarks. */
export function assertClient(db: D1Client): void {
  const isBinding = hasMethods(db, 'prepare', 'batch') && !hasMethods(db, 'getBookmark');
  assert(isBinding, 'd1Store: pass the D1 binding itself, such as env.DB, not a session');
}

/** Returns a session whose first query goes to the primary. Each method uses its own. */
export function atPrimary(db: D1Client): D1Session {
  return db.withSession?.('first-primary') ?? db;
}

/** Returns the rows of one statement, in a separate session. */
export async function query(
  db: D1Client,
  sql: string,
  ...values: Value[]
): Promise<readonly unknown[]> {
  const statement = atPrimary(db).prepare(sql);
  const answer = await statement.bind(...values).all();
  return answer.results;
}
