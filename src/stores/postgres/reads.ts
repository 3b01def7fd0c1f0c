/** The methods that only read. The core checks the content of every row. */
import { isEntityId } from '../../core/entity.js';
import type { KeyRecord } from '../../core/record.js';
import type { CallOptions, ChangedKey, ListQuery, Slice } from '../../core/store.js';
import { isUuid } from '../../core/uuid.js';
import { createLookUps, type Finders, type LookUpOptions } from '../look-ups.js';
import type { EndedKey } from '../purge.js';
import {
  formatAllCursor,
  formatExpiringCursor,
  isText,
  isWholeText,
  LAST_ID,
  type Reads,
  type Reports,
  readAllCursor,
  readChangesStart,
  readExpiringStart,
  toSlice,
} from '../reads.js';
import { rememberRows } from '../remembered-rows.js';
import { recordOf } from '../rows.js';
import { type PartSummary, summarizeInParts } from '../summaries.js';
import { HIDDEN, IN_TRANSACTION } from './errors.js';
import { REPLICA } from './migrate.js';
import {
  CHANGED_BY_CLIENT,
  createRunner,
  parseText,
  type RunStatement,
  type SendStatement,
} from './query.js';

/**
 * Makes the reading half of a store. It sends only possible ids: the type `uuid` would reject
 * others or fold their case, and a text cannot have a NUL.
 */
export function createReads(send: SendStatement, maxQueries: LookUpOptions['maxQueries']): Reads {
  const run = createRunner(send);
  return {
    ...createLookUps(findersOf(send), maxQueries),

    async list(query) {
      const { prefix, entityId, addressing } = query;
      if (!isEntityId(entityId) || !isText(prefix)) return [];
      const rows = await run(addressing ? 'listAddressing' : 'list', ...listValues(query));
      return rows.map(readRow);
    },

    async listLineage({ rootKeyId, after, limit }) {
      if (!isUuid(rootKeyId)) return [];
      const rows = await run('listLineage', rootKeyId, after ?? FIRST_ID, String(limit));
      return rows.map(readRow);
    },

    ...createReports(run),
  };
}

function findersOf(send: SendStatement): Finders {
  // Remembers the whole text, which includes whether the row is current.
  const read = rememberRows(
    (text: string) => readRow(parseText(text)),
    () => true,
  );

  /** Looks up one name or several: a single one takes less time than a list. */
  async function find(
    kind: 'findDigest' | 'findId',
    names: readonly string[],
  ): Promise<KeyRecord[]> {
    const first = names[0];
    if (first === undefined) return [];
    const isOnly = names.length === 1;
    const texts = isOnly ? await send(kind, first) : await send(`${kind}s`, JSON.stringify(names));
    return texts.map((text) => read(text, text));
  }

  return {
    digests: (digests) => find('findDigest', digests.filter(isWholeText)),
    ids: (keyIds) => find('findId', keyIds),
  };
}

/** After any key of a listing: the largest 64-bit integer and the largest id. */
const END_OF_TIME = '9223372036854775807';

/** Returns the parameters of `list`. Without a position, it starts at the newest key. */
function listValues({ entityId, prefix, after, limit }: ListQuery): string[] {
  const createdAt = after ? String(after.createdAt) : END_OF_TIME;
  const keyId = after ? after.keyId : LAST_ID;
  return [entityId, prefix, createdAt, keyId, String(limit)];
}

// ── Listings over all entities ──────────────────────────────────────────────────────────────────

/** Sorts before every other id. */
export const FIRST_ID: string = '00000000-0000-0000-0000-000000000000';

function createReports(run: RunStatement): Reports {
  return {
    summarize(now?: number, options: CallOptions = {}) {
      const time = String(now ?? Date.now());
      const readPart = async (afterId: string): Promise<PartSummary[]> => {
        const rows = await run('summarize', time, afterId || FIRST_ID);
        return rows.map(readSummary);
      };
      return summarizeInParts(readPart, options);
    },

    async listExpiring(query) {
      const { before, limit } = query;
      const { expiresAt, keyId } = readExpiringStart(query, isUuid, FIRST_ID);
      const times = [String(before), String(expiresAt)];
      const rows = await run('listExpiring', ...times, keyId, String(limit + 1));
      return toNextSlice(rows, limit, formatExpiringCursor);
    },

    async listAll({ after, limit }) {
      const firstId = readAllCursor(after, isUuid) ?? FIRST_ID;
      const rows = await run('listAll', firstId, String(limit + 1));
      return toNextSlice(rows, limit, formatAllCursor);
    },

    async listChanged(query) {
      const { changedAt, keyId } = readChangesStart(query);
      const rows = await run('listChanged', String(changedAt), keyId, String(query.limit));
      return readChanged(rows);
    },
  };
}

/**
 * Returns a part whose cursor names the first record of the next part. That record was read but is
 * not shown.
 */
function toNextSlice(
  rows: readonly unknown[],
  limit: number,
  format: (record: KeyRecord) => string,
): Slice<KeyRecord> {
  return toSlice(rows.map(readRow), limit, (_last, following) => format(following));
}

// ── Rows ─────────────────────────────────────────────────────────────────────────────────────────

/**
 * Returns the values of a row. Throws if the last one says that the row may be out of date. Every
 * row says so itself, because a client with several hosts may switch to a replica between two rows
 * of a page.
 */
function readValues(row: unknown): readonly unknown[] {
  if (!Array.isArray(row)) throw new Error(CHANGED_BY_CLIENT);
  const values: readonly unknown[] = row;
  const outdated = values.at(-1);
  if (outdated === 'transaction') throw new Error(IN_TRANSACTION);
  if (outdated === 'hidden') throw new Error(HIDDEN);
  if (outdated !== null) throw new Error(REPLICA);
  return values;
}

function readRow(row: unknown): KeyRecord {
  return recordOf(readValues(row));
}

/** Returns the summary of one digest scheme's keys in a part. */
function readSummary(row: unknown): PartSummary {
  const [scheme, live, lastUsedAt, keys, lastId] = readValues(row);
  return { scheme, live, lastUsedAt, keys, lastId } as PartSummary;
}

/** Returns a key that a purge checks. */
export function readEnded(row: unknown): EndedKey {
  const [keyId, endedAt, isDue] = readValues(row);
  return { keyId: String(keyId), endedAt: String(endedAt), isDue: isDue === true };
}

/** Returns the keys in the first row; a second row would say why some may be missing. */
function readChanged(rows: readonly unknown[]): readonly ChangedKey[] {
  const [values = []] = rows.map(readValues);
  return values[0] as readonly ChangedKey[];
}
