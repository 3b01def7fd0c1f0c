/** What the memory store makes of records in a list: parts of it, in order, and a summary. */
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
import { readChangesStart } from '../reads.js';

// ── The keys of one entity ──────────────────────────────────────────────────────────────────────

/** A part of what `list` answers, from the records that name the entity in any way. */
export function page(records: readonly KeyRecord[], query: ListQuery): readonly KeyRecord[] {
  const { after, limit } = query;
  const listed = records.filter((record) => isListed(record, query));
  // A caller may leave `after` out.
  const left = after ? listed.filter((record) => newestFirst(after, record) < 0) : listed;
  return left.sort(newestFirst).slice(0, limit);
}

function isListed(record: KeyRecord, query: ListQuery): boolean {
  const { prefix, entityUuid, addressing = false } = query;
  const isOwn = record.entityUuid === entityUuid;
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

/** A part of all records. Its position is a number: records keep their places. */
export function sliceOf(records: readonly KeyRecord[], query: SliceQuery): Slice<KeyRecord> {
  const { after, limit } = query;
  const start = Number(after ?? 0);
  const end = start + limit;
  const next = end < records.length ? String(end) : null;
  return { items: records.slice(start, end), next };
}

/** A record that has an expiry. */
interface ExpiringRecord extends KeyRecord {
  readonly expiresAt: number;
}

/** A part of the records that are not revoked and expire in a span, the next one first. */
export function expiringWithin(
  records: readonly KeyRecord[],
  query: ExpiringQuery,
): Slice<KeyRecord> {
  const { from = Number.NEGATIVE_INFINITY, before, after, limit } = query;
  const expiring = records
    .filter((record) => record.revokedAt === null)
    .filter(hasExpiry)
    .filter((record) => record.expiresAt >= from && record.expiresAt < before)
    .sort(soonestFirst);
  const left = after ? expiring.filter((record) => isBehind(record, after)) : expiring;
  const items = left.slice(0, limit);
  const last = items.at(-1);
  const next = last !== undefined && left.length > limit ? positionOf(last) : null;
  return { items, next };
}

function hasExpiry(record: KeyRecord): record is ExpiringRecord {
  return record.expiresAt !== null;
}

/** Where a record stands by its expiry and its id. */
interface ExpiryPosition {
  readonly expiresAt: number;
  readonly keyId: string;
}

function soonestFirst(first: ExpiryPosition, second: ExpiryPosition): number {
  return first.expiresAt - second.expiresAt || compare(first.keyId, second.keyId);
}

function positionOf({ expiresAt, keyId }: ExpiryPosition): string {
  return `${expiresAt} ${keyId}`;
}

function isBehind(record: ExpiringRecord, position: string): boolean {
  const space = position.indexOf(' ');
  const expiresAt = Number(position.slice(0, space));
  const keyId = position.slice(space + 1);
  return soonestFirst({ expiresAt, keyId }, record) < 0;
}

/** A part of the keys that were marked at a time or later, oldest first. */
export function changedSince(
  records: readonly KeyRecord[],
  query: ChangedQuery,
): readonly ChangedKey[] {
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

// ── Live keys ───────────────────────────────────────────────────────────────────────────────────

/** How many live keys each digest scheme has, and when one of them was last used. */
export function liveByScheme(records: readonly KeyRecord[], now: number): SchemeSummary[] {
  const rows = new Map<string, SchemeSummary>();
  for (const { digest, lastUsedAt } of records.filter((record) => isLive(record, now))) {
    const scheme = digest.slice(0, digest.indexOf('$'));
    const row = rows.get(scheme);
    rows.set(scheme, {
      scheme,
      live: (row?.live ?? 0) + 1,
      lastUsedAt: newest(row?.lastUsedAt ?? null, lastUsedAt),
    });
  }
  return [...rows.values()];
}

/** The later of two times; null means never. */
function newest(first: number | null, second: number | null): number | null {
  if (first === null) return second;
  if (second === null) return first;
  return Math.max(first, second);
}

/** Whether a key works at the time `now`, or will once it is resumed; deadlines are exclusive. */
function isLive({ revokedAt, retireAt, expiresAt }: KeyRecord, now: number): boolean {
  const isBeforeRetirement = retireAt === null || now < retireAt;
  const isBeforeExpiry = expiresAt === null || now < expiresAt;
  return revokedAt === null && isBeforeRetirement && isBeforeExpiry;
}
