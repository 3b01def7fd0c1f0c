/** The methods that only read: look-ups, and listings of an entity, a lineage and all keys. */
import { assert } from '../../core/input.js';
import type { KeyRecord } from '../../core/record.js';
import type {
  CallOptions,
  ChangedKey,
  ChangedQuery,
  ExpiringQuery,
  LineageQuery,
  ListQuery,
  SchemeSummary,
  Slice,
  SliceQuery,
} from '../../core/store.js';
import { isText, type Reads, readChangesStart, toSlice } from '../reads.js';
import { addIfLive, type Summaries } from '../summaries.js';
import { isWrongType, type Link, linkUntil, readFrom } from './client.js';
import { createLookUpLinks, MAX_AT_ONCE } from './concurrency.js';
import {
  asDamaged,
  type Found,
  filedByCreation,
  filedByExpiry,
  filedById,
  type Range,
  readByDigest,
  readFiled,
  readOrFiled,
  readPointer,
  scanEntries,
  scanRecords,
} from './indexes.js';
import type { Settings } from './options.js';
import {
  createHashReader,
  type Entry,
  type HashField,
  isPart,
  type Keys,
  parseField,
  positionOf,
  startOf,
} from './schema.js';

/** Makes the reading half of a store. Its methods stop once their callers have given up. */
export function createReads({ link, keys }: Settings): Reads {
  const lookUpLink = createLookUpLinks(link);
  const read = createHashReader();
  const until = (options?: CallOptions) => linkUntil(link, options?.signal);
  return {
    async findByDigest(digests, options) {
      const known = digests.filter(isText);
      const asked = lookUpLink(options?.signal);
      const rows = await Promise.all(
        known.map((digest) => readByDigest(asked, keys, digest, read)),
      );
      return rows.filter((row) => row !== null);
    },

    findById: (keyId, options) => findById(lookUpLink(options?.signal), keys, keyId),
    list: (query, options) => list(until(options), keys, query),
    listLineage: (query, options) => listLineage(until(options), keys, query),
    listExpiring: (query, options) => listExpiring(until(options), keys, query),
    listAll: (query, options) => listAll(until(options), keys, query),
    listChanged: (query, options) => listChanged(until(options), keys, query),

    // Has one parameter without a default, which shows `storeContract` that it accepts a time.
    summarize: (now?: number, options: CallOptions = {}) =>
      summarize(until(options), keys, now ?? Date.now()),
  };
}

async function findById(link: Link, keys: Keys, keyId: string): Promise<KeyRecord | null> {
  const entry = isText(keyId) ? await readPointer(link, keys, keyId) : null;
  return entry === null ? null : readFiled(link, keys, entry.digest, filedByCreation(entry));
}

async function list(link: Link, keys: Keys, query: ListQuery): Promise<KeyRecord[]> {
  const { prefix, entityId, addressing = false, after = null, limit } = query;
  const found: KeyRecord[] = [];
  if (!isPart(prefix) || !isText(entityId)) return found;
  const index = addressing ? keys.addressing(prefix, entityId) : keys.own(prefix, entityId);
  // A member continues after its position, so a record sorts after its own position.
  const from = after === null ? '+' : `(${positionOf({ ...after, time: after.createdAt })}:`;
  const range = { from, to: '-', reversed: true, size: Math.min(limit, MAX_AT_ONCE) };
  for await (const page of scanRecords(link, keys, index, range, filedByCreation)) {
    for (const { row } of page) {
      // The record was filed under the entity because it addressed it, and that never changes.
      const entities: unknown = row.accessibleEntities;
      const isSound = Array.isArray(entities) && entities.includes(entityId);
      found.push(isSound ? row : asDamaged(row));
    }
    if (found.length >= limit) break;
  }
  return found.slice(0, limit);
}

/**
 * Lists the keys of a lineage. The first key is in no index; the others, and the keys issued under
 * it, are.
 */
async function listLineage(link: Link, keys: Keys, query: LineageQuery): Promise<KeyRecord[]> {
  const { rootKeyId, after = null, limit } = query;
  if (!isText(rootKeyId)) return [];
  const isFirstLeft = after === null || rootKeyId > after;
  const first = isFirstLeft ? await findFirst(link, keys, rootKeyId) : [];
  const found: KeyRecord[] = [];
  const from = after === null ? '-' : behind(positionOf({ time: null, keyId: after }));
  const range = { from, to: '+', size: Math.min(limit, MAX_AT_ONCE) };
  for await (const page of scanRecords(link, keys, keys.lineage(rootKeyId), range, filedById)) {
    for (const { row } of page) {
      const isSound = row.rootKeyId === rootKeyId || row.issuedUnder === rootKeyId;
      // The record was filed here, and its place never changes.
      found.push(isSound ? row : { ...asDamaged(row), rootKeyId });
    }
    // Without the first key, whose id may be greater than those of the next page.
    if (found.length >= limit) break;
  }
  const all = [...first, ...found].sort((one, other) => (one.keyId < other.keyId ? -1 : 1));
  return all.slice(0, limit);
}

/** Returns the first key of a lineage, even if its row no longer says so. */
async function findFirst(link: Link, keys: Keys, rootKeyId: string): Promise<KeyRecord[]> {
  const entry = await readPointer(link, keys, rootKeyId);
  if (entry === null) return [];
  const row = await readOrFiled(link, keys, entry.digest, filedByCreation(entry));
  if (row === null) return [];
  const { rootKeyId: read = rootKeyId }: Partial<KeyRecord> = row;
  return read === rootKeyId ? [row] : [];
}

// ── Listings over all entities ──────────────────────────────────────────────────────────────────

/** Lists the unrevoked records that expire in a span. */
function listExpiring(
  link: Link,
  keys: Keys,
  { from, before, after, limit }: ExpiringQuery,
): Promise<Slice<KeyRecord>> {
  const beginning = from === undefined ? '-' : `[${startOf(from)}`;
  const bound = readCursor(after, beginning);
  const range = { from: bound, to: `(${startOf(before)}`, size: sizeOf(limit) };
  return readSlice(link, keys, range, limit, ({ row }) => row.revokedAt === null);
}

/** Lists all records in the order of their expiry; those that never expire come last. */
function listAll(link: Link, keys: Keys, { after, limit }: SliceQuery): Promise<Slice<KeyRecord>> {
  const range = { from: readCursor(after, '-'), to: '+', size: sizeOf(limit) };
  return readSlice(link, keys, range, limit, () => true);
}

/**
 * Lists keys that were marked. An entry is written before its mark: only the entry of the newest
 * mark counts, and the entry of a mark that was never written does not.
 */
async function listChanged(link: Link, keys: Keys, query: ChangedQuery): Promise<ChangedKey[]> {
  const { limit } = query;
  const changed: ChangedKey[] = [];
  const { changedAt, keyId } = readChangesStart(query);
  const from = behind(positionOf({ time: changedAt, keyId }));
  const range = { from, to: '+', size: sizeOf(limit) };
  for await (const page of scanRecords(link, keys, keys.changes, range, filedById)) {
    for (const { entry, row } of page) {
      const { keyId, time } = entry;
      if (row.changedAt === time) changed.push({ keyId, changedAt: Number(time) });
    }
    if (changed.length >= limit) break;
  }
  return changed.slice(0, limit);
}

/** Reads a part of a listing. One more record shows whether another part follows. */
async function readSlice(
  link: Link,
  keys: Keys,
  range: Range,
  limit: number,
  isWanted: (found: Found) => boolean,
): Promise<Slice<KeyRecord>> {
  const all: Found[] = [];
  for await (const page of scanRecords(link, keys, keys.expiry, range, filedByExpiry)) {
    all.push(...page.filter(isWanted));
    if (all.length > limit) break;
  }
  const { items, next } = toSlice(all, limit, ({ entry }) => positionOf(entry));
  return { items: items.map(({ row }) => row), next };
}

function sizeOf(limit: number): number {
  return Math.min(limit + 1, MAX_AT_ONCE);
}

// ── Cursors ─────────────────────────────────────────────────────────────────────────────────────

const CURSOR = /^(?:\d{17}|never):[^:]+$/;

/** Returns the bound after a cursor, or `beginning` without a cursor. */
function readCursor(after: unknown, beginning: string): string {
  if (after === null || after === undefined) return beginning;
  const isCursor = typeof after === 'string' && CURSOR.test(after);
  assert(isCursor, 'after: pass `next` of the previous part, or null');
  return behind(after);
}

/** Returns the bound after a position. The semicolon is the character after the colon. */
function behind(position: string): string {
  return `(${position};`;
}

// ── Live keys of each digest scheme ──────────────────────────────────────────────────────────────

/** The fields that matter here: reading whole records takes three times as long. */
const COUNTED = ['keyId', 'digest', 'revokedAt', 'retireAt', 'expiresAt', 'lastUsedAt'] as const;

type Row = Pick<KeyRecord, (typeof COUNTED)[number]>;

/** Counts the live keys. Reads every record, because which ones are live depends on `now`. */
async function summarize(link: Link, keys: Keys, now: number): Promise<SchemeSummary[]> {
  const summaries: Summaries = new Map();
  const all = { from: '-', to: '+', size: MAX_AT_ONCE };
  for await (const entries of scanEntries(link, keys.expiry, all)) {
    const rows = await Promise.all(entries.map((entry) => readRow(link, keys, entry)));
    for (const row of rows) addIfLive(summaries, row, now);
  }
  return [...summaries.values()];
}

/** Empty if the entry leads to no record, or to that of another key. */
async function readRow(link: Link, keys: Keys, { keyId, digest }: Entry): Promise<Partial<Row>> {
  const values = await readValues(link, keys.record(digest));
  const row: Partial<Record<HashField, unknown>> = {};
  for (const [index, field] of COUNTED.entries()) row[field] = parseField(values[index]);
  return row.keyId === keyId && row.digest === digest ? (row as Row) : {};
}

async function readValues(link: Link, record: string): Promise<readonly unknown[]> {
  try {
    return (await readFrom(link, record, 'HMGET', ...COUNTED)) as readonly unknown[];
  } catch (error) {
    if (!isWrongType(error)) throw error;
    return [];
  }
}
