/**
 * The methods that only read. The id of a key is always a lower-case UUID, and that of an entity, a
 * digest and a prefix always printable ASCII; anything else is not looked up.
 */
import { isEntityId } from '../../core/entity.js';
import type { KeyRecord } from '../../core/record.js';
import type { CallOptions, ChangedKey, ListQuery } from '../../core/store.js';
import { isUuid } from '../../core/uuid.js';
import { createLookUps, type Finders, type LookUpOptions } from '../look-ups.js';
import {
  formatAllCursor,
  formatExpiringCursor,
  type Listings,
  type Reads,
  type Reports,
  readAllCursor,
  readChangesStart,
  readExpiringStart,
  toSlice,
} from '../reads.js';
import type { Value } from '../rows.js';
import { createRowReader, toInteger, toRecord } from '../rows.js';
import { type PartSummary, summarizeInParts } from '../summaries.js';
import type { Row } from './client.js';
import { isDigest, isPrefix } from './columns.js';
import type { Readers } from './freshness.js';
import {
  findBy,
  LIST,
  LIST_ADDRESSING,
  LIST_ADDRESSING_AFTER,
  LIST_AFTER,
  LIST_ALL,
  LIST_ALL_AFTER,
  LIST_CHANGED,
  LIST_EXPIRING,
  LIST_LINEAGE,
  SUMMARIZE,
} from './statements.js';

async function selectRecords(
  readers: Readers,
  sql: string,
  values: readonly Value[],
): Promise<KeyRecord[]> {
  const rows = await readers.select(sql, values);
  return rows.map(toRecord);
}

async function lookUp(
  readers: Readers,
  column: 'digest' | 'key_id',
  names: readonly string[],
  read: (row: Row) => KeyRecord,
): Promise<KeyRecord[]> {
  const { sql, values } = findBy(column, names);
  const rows = await readers.lookUp(sql, values);
  return rows.filter(({ key_id }) => key_id !== null).map(read);
}

function listStatement(query: ListQuery): { readonly sql: string; readonly values: Value[] } {
  const { prefix, entityId, addressing = false, after = null, limit } = query;
  if (after === null) {
    const sql = addressing ? LIST_ADDRESSING : LIST;
    return { sql, values: [entityId, prefix, limit] };
  }
  const { createdAt, keyId } = after;
  const sql = addressing ? LIST_ADDRESSING_AFTER : LIST_AFTER;
  return { sql, values: [entityId, prefix, createdAt, createdAt, keyId, limit] };
}

/** Unchecked: the core checks the answer. */
function toSummary({ scheme, live, last_used_at, row_count, last_id }: Row): PartSummary {
  const summary: { readonly [Field in keyof PartSummary]: unknown } = {
    scheme,
    live: toInteger(live),
    lastUsedAt: toInteger(last_used_at),
    keys: toInteger(row_count),
    lastId: last_id,
  };
  return summary as PartSummary;
}

/** Unchecked, too. */
function toChanged({ key_id, changed_at }: Row): ChangedKey {
  return { keyId: key_id, changedAt: toInteger(changed_at) } as ChangedKey;
}

function findersOf(readers: Readers): Finders {
  const read = createRowReader();
  return {
    async digests(digests) {
      const asked = digests.filter(isDigest);
      return asked.length === 0 ? [] : lookUp(readers, 'digest', asked, read);
    },
    ids: (keyIds) => lookUp(readers, 'key_id', keyIds, toRecord),
  };
}

function createListings(readers: Readers): Listings {
  return {
    async list(query) {
      if (!isEntityId(query.entityId) || !isPrefix(query.prefix)) return [];
      const { sql, values } = listStatement(query);
      return selectRecords(readers, sql, values);
    },

    async listLineage({ rootKeyId, after, limit }) {
      if (!isUuid(rootKeyId)) return [];
      const part = [rootKeyId, after ?? '', limit];
      return selectRecords(readers, LIST_LINEAGE, [...part, ...part, limit]);
    },
  };
}

function createReports(readers: Readers): Reports {
  return {
    summarize(now?: number, options: CallOptions = {}) {
      const time = now ?? Date.now();
      const readPart = async (afterId: string): Promise<PartSummary[]> => {
        const rows = await readers.select(SUMMARIZE, [time, time, afterId]);
        return rows.map(toSummary);
      };
      return summarizeInParts(readPart, options);
    },

    // The query asks for one more row, which shows whether another part follows.
    async listAll({ after, limit }) {
      const keyId = readAllCursor(after, isKeyId);
      const sql = keyId === null ? LIST_ALL : LIST_ALL_AFTER;
      const values = keyId === null ? [] : [keyId];
      const rows = await readers.select(sql, [...values, limit + 1]);
      return toSlice(rows.map(toRecord), limit, formatAllCursor);
    },

    async listExpiring(query) {
      const { before, limit } = query;
      const { expiresAt, keyId } = readExpiringStart(query, isKeyId);
      const values = [before, expiresAt, expiresAt, keyId, limit + 1];
      const rows = await readers.select(LIST_EXPIRING, values);
      return toSlice(rows.map(toRecord), limit, formatExpiringCursor);
    },

    async listChanged(query) {
      const { changedAt, keyId } = readChangesStart(query);
      const values = [changedAt, changedAt, keyId, query.limit];
      const rows = await readers.select(LIST_CHANGED, values);
      return rows.filter(({ key_id }) => key_id !== null).map(toChanged);
    },
  };
}

/** An id edited by hand can be shorter than a UUID. */
function isKeyId(keyId: string): boolean {
  return keyId.length <= 36;
}

/** Makes the reading half of a store. */
export function createReads(readers: Readers, maxQueries: LookUpOptions['maxQueries']): Reads {
  return {
    ...createLookUps(findersOf(readers), maxQueries),
    ...createListings(readers),
    ...createReports(readers),
  };
}
