/** The methods that read. */
import type { KeyRecord } from '../../core/record.js';
import type {
  ChangedKey,
  ChangedQuery,
  ExpiringQuery,
  ListPosition,
  ListQuery,
  SchemeSummary,
  Slice,
  SliceQuery,
} from '../../core/store.js';
import {
  type ExpiryPosition,
  formatExpiringCursor,
  isText,
  type Reads,
  readChangesStart,
  readExpiringCursor,
  toSlice,
} from '../reads.js';
import { addIfLive, type Summaries } from '../summaries.js';

/** The keys, and the maps that find them. */
export interface Tables {
  readonly byId: Map<string, KeyRecord>;
  readonly byDigest: Map<string, KeyRecord>;
  /** Key ids by the entities that a key names. Only `insert` writes them: they never change. */
  readonly idsByEntity: Map<string, string[]>;
  /** Key ids by `rootKeyId` and by `issuedUnder`, which never change either. */
  readonly idsByRoot: Map<string, string[]>;
}

export function createReads({ byId, byDigest, idsByEntity, idsByRoot }: Tables): Reads {
  function all(): KeyRecord[] {
    return [...byId.values()];
  }

  return {
    findByDigest: (digests) => findAll(byDigest, digests),
    findById: (keyId) => byId.get(keyId) ?? null,

    list(query) {
      const ids = idsByEntity.get(query.entityId) ?? [];
      return page(findAll(byId, ids), query);
    },

    listLineage: ({ rootKeyId, after, limit }) => {
      const ids = [...(idsByRoot.get(rootKeyId) ?? [])].sort(compare);
      const left = ids.filter((keyId) => after === null || keyId > after);
      return findAll(byId, left.slice(0, limit));
    },
    summarize: (now?: number) => summaryOf(all(), now ?? Date.now()),
    listExpiring: (query) => expiringWithin(all(), query),
    listAll: (query) => sliceOf(all(), query),
    listChanged: (query) => changedSince(all(), query),
  };
}

/** Returns the records with these names, in the order of the names. */
function findAll(records: ReadonlyMap<string, KeyRecord>, names: readonly string[]): KeyRecord[] {
  const found: KeyRecord[] = [];
  for (const name of names) {
    const record = records.get(name);
    if (record !== undefined) found.push(record);
  }
  return found;
}

// ── The keys of one entity ──────────────────────────────────────────────────────────────────────

/** Returns a part of a listing, from the records that name the entity in any way. */
function page(records: readonly KeyRecord[], query: ListQuery): readonly KeyRecord[] {
  const { after, limit } = query;
  const listed = records.filter((record) => isListed(record, query));
  // A caller may leave `after` out.
  const left = after ? listed.filter((record) => newestFirst(after, record) < 0) : listed;
  return left.sort(newestFirst).slice(0, limit);
}

function isListed(record: KeyRecord, query: ListQuery): boolean {
  const { prefix, entityId, addressing = false } = query;
  const isOwn = record.entityId === entityId;
  return record.prefix === prefix && isOwn !== addressing;
}

/** Orders a listing: by `createdAt`, then by `keyId`, both descending. */
function newestFirst(first: ListPosition, second: ListPosition): number {
  if (first.createdAt !== second.createdAt) return second.createdAt - first.createdAt;
  return -compare(first.keyId, second.keyId);
}

function compare(first: string, second: string): number {
  if (first === second) return 0;
  return first < second ? -1 : 1;
}

// ── The keys of all entities ────────────────────────────────────────────────────────────────────

/** Returns a part of all records. The cursor is a number, because records keep their places. */
function sliceOf(records: readonly KeyRecord[], query: SliceQuery): Slice<KeyRecord> {
  const { after, limit } = query;
  const start = Number(after ?? 0);
  const end = start + limit;
  const next = end < records.length ? String(end) : null;
  return { items: records.slice(start, end), next };
}

/** A record that expires. */
interface ExpiringRecord extends KeyRecord {
  readonly expiresAt: number;
}

/** Returns a part of the unrevoked records that expire in a span, the next to expire first. */
function expiringWithin(records: readonly KeyRecord[], query: ExpiringQuery): Slice<KeyRecord> {
  const { from = Number.NEGATIVE_INFINITY, before, after, limit } = query;
  const expiring = records
    .filter((record) => record.revokedAt === null)
    .filter(hasExpiry)
    .filter((record) => record.expiresAt >= from && record.expiresAt < before)
    .sort(soonestFirst);
  const start = readExpiringCursor(after, isText);
  const left = start ? expiring.filter((record) => soonestFirst(start, record) < 0) : expiring;
  return toSlice(left, limit, formatExpiringCursor);
}

function hasExpiry(record: KeyRecord): record is ExpiringRecord {
  return record.expiresAt !== null;
}

function soonestFirst(first: ExpiryPosition, second: ExpiryPosition): number {
  return first.expiresAt - second.expiresAt || compare(first.keyId, second.keyId);
}

/** Returns a part of the keys that were marked at a time or later, oldest first. */
function changedSince(records: readonly KeyRecord[], query: ChangedQuery): readonly ChangedKey[] {
  const start = readChangesStart(query);
  const changed: ChangedKey[] = [];
  for (const { keyId, changedAt } of records) {
    if (changedAt !== null) changed.push({ keyId, changedAt });
  }
  const left = changed.filter((key) => oldestFirst(start, key) < 0);
  return left.sort(oldestFirst).slice(0, query.limit);
}

function oldestFirst(first: ChangedKey, second: ChangedKey): number {
  return first.changedAt - second.changedAt || compare(first.keyId, second.keyId);
}

/** Counts the live records of each scheme, and finds the last use of one of them. */
function summaryOf(records: readonly KeyRecord[], now: number): SchemeSummary[] {
  const summaries: Summaries = new Map();
  for (const record of records) addIfLive(summaries, record, now);
  return [...summaries.values()];
}
