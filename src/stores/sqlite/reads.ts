/** The methods that read. */
import type { ChangedKey, ListPosition, SchemeSummary } from '../../core/store.js';
import { isText } from '../bindable.js';
import { readChangesStart } from '../reads.js';
import type { Reads } from '../reads-and-writes.js';
import type { Value } from '../rows.js';
import { createRowReader, toRecord } from '../rows.js';
import type { SqliteHandle } from './client.js';
import { readAllCursor, readExpiringStart, toAllSlice, toExpiringSlice } from './slices.js';
import { STATEMENTS } from './statements.js';
import { assertNoTransaction } from './transactions.js';

/** Runs a prepared statement, and returns its rows. */
type Query = (...values: readonly Value[]) => readonly unknown[];

/** Prepares a query, which throws if the handle is in the middle of a transaction. */
function prepareQuery(db: SqliteHandle, sql: string): Query {
  const statement = db.prepare(sql);
  return (...values) => {
    assertNoTransaction(db);
    return statement.all(...values);
  };
}

// ── Records ─────────────────────────────────────────────────────────────────────────────────────

/** A position before every record. */
const BEGINNING: ListPosition = { createdAt: Number.POSITIVE_INFINITY, keyId: '' };

/** The methods that requests and management call. */
type LookUps = Pick<Reads, 'findByDigest' | 'findById' | 'list' | 'listLineage'>;

function createLookUps(db: SqliteHandle): LookUps {
  const findOneDigest = prepareQuery(db, STATEMENTS.findOneDigest);
  const findDigests = prepareQuery(db, STATEMENTS.findDigests);
  const findById = prepareQuery(db, STATEMENTS.findById);
  const listOwn = prepareQuery(db, STATEMENTS.list);
  const listAddressing = prepareQuery(db, STATEMENTS.listAddressing);
  const listLineage = prepareQuery(db, STATEMENTS.listLineage);

  const read = createRowReader();

  return {
    findByDigest(digests) {
      const asked = digests.filter(isText);
      const [only] = asked;
      if (only === undefined) return [];
      const rows = asked.length === 1 ? findOneDigest(only) : findDigests(JSON.stringify(asked));
      return rows.map(read);
    },

    findById(keyId) {
      if (!isText(keyId)) return null;
      const rows = findById(keyId);
      return rows.length > 0 ? toRecord(rows[0]) : null;
    },

    list({ prefix, entityUuid, addressing = false, after, limit }) {
      if (!isText(entityUuid) || !isText(prefix)) return [];
      const { createdAt, keyId } = after ?? BEGINNING;
      const list = addressing ? listAddressing : listOwn;
      return list(entityUuid, prefix, createdAt, keyId, limit).map(toRecord);
    },

    listLineage(rootKeyId) {
      if (!isText(rootKeyId)) return [];
      return listLineage(rootKeyId).map(toRecord);
    },
  };
}

// ── Listings over all entities ──────────────────────────────────────────────────────────────────

/** Copies rows that are answers as they stand: those of some drivers have no prototype. */
function copiesOf<Row>(rows: readonly unknown[]): readonly Row[] {
  return rows.map((row) => ({ ...(row as Row) }));
}

function createReports(db: SqliteHandle): Omit<Reads, keyof LookUps> {
  const summarize = prepareQuery(db, STATEMENTS.summarize);
  const listExpiring = prepareQuery(db, STATEMENTS.listExpiring);
  const listAll = prepareQuery(db, STATEMENTS.listAll);
  const listChanged = prepareQuery(db, STATEMENTS.listChanged);

  return {
    summarize(now?: number) {
      const time = now ?? Date.now();
      return copiesOf<SchemeSummary>(summarize(time, time));
    },

    listExpiring(query) {
      const { before, limit } = query;
      const { expiresAt, keyId } = readExpiringStart(query);
      // One more row tells whether there is a next part.
      const rows = listExpiring(before, expiresAt, keyId, limit + 1);
      return toExpiringSlice(rows, limit);
    },

    listAll({ after, limit }) {
      const rows = listAll(readAllCursor(after), limit + 1);
      return toAllSlice(rows, limit);
    },

    listChanged(query) {
      const { changedAt, keyId } = readChangesStart(query);
      return copiesOf<ChangedKey>(listChanged(changedAt, keyId, query.limit));
    },
  };
}

/** Prepares the statements that read, each of them once. */
export function createReads(db: SqliteHandle): Reads {
  return { ...createLookUps(db), ...createReports(db) };
}
