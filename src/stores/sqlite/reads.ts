/** The methods that read a SQLite file, which answers at once, or D1, which answers later. */
import type { Awaitable, CallOptions, ChangedKey, ListPosition } from '../../core/store.js';
import { isThenable } from '../../core/thenable.js';
import {
  formatAllCursor,
  formatExpiringCursor,
  isText,
  type Listings,
  type LookUps,
  type Reads,
  type Reports,
  readAllCursor,
  readChangesStart,
  readExpiringStart,
  toSlice,
} from '../reads.js';
import { createRowReader, toRecord, type Value } from '../rows.js';
import { type PartSummary, summarizeInParts } from '../summaries.js';
import type { QueryName } from './statements.js';

/** Runs a query by its name. */
export type Query = (name: QueryName, ...values: readonly Value[]) => Awaitable<readonly unknown[]>;

/** Applies `read` to the rows once they are there. */
function answer<Answer>(
  rows: Awaitable<readonly unknown[]>,
  read: (rows: readonly unknown[]) => Answer,
): Awaitable<Answer> {
  return isThenable(rows) ? rows.then(read) : read(rows);
}

/**
 * @param isSendable Checks whether a text reaches the database unchanged. Others are not looked up.
 */
export function createReads(query: Query, isSendable: typeof isText): Reads {
  return {
    ...lookUpsOf(query, isSendable),
    ...createListings(query, isSendable),
    ...createReports(query),
  };
}

function lookUpsOf(query: Query, isSendable: typeof isText): LookUps {
  const read = createRowReader();
  return {
    findByDigest(digests) {
      const asked = digests.filter(isSendable);
      const [only] = asked;
      if (only === undefined) return [];
      // A list is one parameter: D1 accepts at most 100.
      const rows =
        asked.length === 1
          ? query('findOneDigest', only)
          : query('findDigests', JSON.stringify(asked));
      return answer(rows, (found) => found.map(read));
    },

    findById(keyId) {
      if (!isSendable(keyId)) return null;
      const rows = query('findById', keyId);
      return answer(rows, (found) => (found.length > 0 ? toRecord(found[0]) : null));
    },
  };
}

// ── The keys of an entity, and of a lineage ─────────────────────────────────────────────────────

/**
 * A position before every record. D1's parameters are sent as JSON, which has no infinity, so the
 * time is the largest number.
 */
const BEGINNING: ListPosition = { createdAt: Number.MAX_VALUE, keyId: '' };

function createListings(query: Query, isSendable: typeof isText): Listings {
  return {
    list({ prefix, entityId, addressing = false, after, limit }) {
      if (!isSendable(entityId) || !isSendable(prefix)) return [];
      const { createdAt, keyId } = after ?? BEGINNING;
      const name = addressing ? 'listAddressing' : 'list';
      const rows = query(name, entityId, prefix, createdAt, keyId, limit);
      return answer(rows, (found) => found.map(toRecord));
    },

    listLineage({ rootKeyId, after, limit }) {
      if (!isSendable(rootKeyId)) return [];
      const part = [rootKeyId, after ?? '', limit];
      const rows = query('listLineage', ...part, ...part, limit);
      return answer(rows, (found) => found.map(toRecord));
    },
  };
}

// ── Listings over all entities ──────────────────────────────────────────────────────────────────

function createReports(query: Query): Reports {
  return {
    summarize(now?: number, options: CallOptions = {}) {
      const time = now ?? Date.now();
      const readPart = (afterId: string): Awaitable<readonly PartSummary[]> =>
        answer(query('summarize', time, time, afterId), copiesOf<PartSummary>);
      return summarizeInParts(readPart, options);
    },

    // One more row shows whether another part follows.
    listExpiring(asked) {
      const { before, limit } = asked;
      const { expiresAt, keyId } = readExpiringStart(asked, isKeyId);
      const rows = query('listExpiring', before, expiresAt, keyId, limit + 1);
      return answer(rows, (found) => toSlice(found.map(toRecord), limit, formatExpiringCursor));
    },

    listAll({ after, limit }) {
      const rows = query('listAll', readAllCursor(after, isKeyId) ?? '', limit + 1);
      return answer(rows, (found) => toSlice(found.map(toRecord), limit, formatAllCursor));
    },

    listChanged(asked) {
      const { changedAt, keyId } = readChangesStart(asked);
      const rows = query('listChanged', changedAt, keyId, asked.limit);
      return answer(rows, copiesOf<ChangedKey>);
    },
  };
}

/** Copies rows that already have the form of answers: those of some drivers have no prototype. */
function copiesOf<Row>(rows: readonly unknown[]): readonly Row[] {
  return rows.map((row) => ({ ...(row as Row) }));
}

/** A key id edited by hand can be any text, but an empty one sorts before all others. */
function isKeyId(keyId: string): boolean {
  return isText(keyId) && keyId !== '';
}
