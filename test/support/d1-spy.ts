/** A D1 database that records its queries and can be made to fail. */
import type { KeyRecord } from 'keyscope';
import type { D1Client, D1Session, D1Statement } from 'keyscope/stores/d1';
import { d1Store } from 'keyscope/stores/d1';

/** A statement with its parameters. */
export interface AskedStatement {
  readonly sql: string;
  readonly values: readonly unknown[];
}

export interface Asked {
  /** The constraint of each session. */
  readonly sessions: string[];
  readonly statements: AskedStatement[];
  /** The number of statements in each batch. */
  readonly batches: number[];
}

export interface Spy {
  readonly client: D1Client;
  readonly asked: Asked;
  /** Clears the record. */
  forget(): void;
  /** Makes every later query fail with this error, or succeed again. */
  fail(error: Error | undefined): void;
}

/** A statement as the store sees it, and the real one underneath. */
interface Made {
  readonly real: D1Statement;
  readonly noted: AskedStatement;
}

/** The records of a spy. */
interface Notes {
  readonly asked: Asked;
  readonly made: Map<D1Statement, Made>;
  failure: Error | undefined;
}

function throwIfFailing({ failure }: Notes): void {
  if (failure !== undefined) throw failure;
}

function noteStatement(notes: Notes, real: D1Statement, noted: AskedStatement): D1Statement {
  const own: D1Statement = {
    bind: (...values) => noteStatement(notes, real.bind(...values), { sql: noted.sql, values }),
    async all() {
      notes.asked.statements.push(noted);
      throwIfFailing(notes);
      return real.all();
    },
  };
  notes.made.set(own, { real, noted });
  return own;
}

function noteSession(notes: Notes, of: D1Session): D1Session {
  const { asked, made } = notes;
  return {
    prepare: (sql) => noteStatement(notes, of.prepare(sql), { sql, values: [] }),
    async batch(statements) {
      const all = statements.flatMap((own) => made.get(own) ?? []);
      asked.statements.push(...all.map(({ noted }) => noted));
      asked.batches.push(statements.length);
      throwIfFailing(notes);
      return of.batch(all.map(({ real }) => real));
    },
  };
}

/** Wraps a database so that it records its queries. */
export function spyOn(db: D1Client): Spy {
  const asked: Asked = { sessions: [], statements: [], batches: [] };
  const notes: Notes = { asked, made: new Map(), failure: undefined };
  return {
    client: {
      ...noteSession(notes, db),
      withSession(constraint) {
        asked.sessions.push(constraint);
        return noteSession(notes, db.withSession?.(constraint) ?? db);
      },
    },
    asked,
    forget() {
      for (const list of [asked.sessions, asked.statements, asked.batches]) list.length = 0;
    },
    fail(error) {
      notes.failure = error;
    },
  };
}

/** A spied database with a store and one record. The set-up itself is not recorded. */
export async function spyOnStore(
  db: D1Client,
  record: KeyRecord,
): Promise<Spy & { readonly store: ReturnType<typeof d1Store> }> {
  const spy = spyOn(db);
  const store = d1Store(spy.client);
  await store.insert(record);
  spy.forget();
  return { ...spy, store };
}
