/** The listings over all entities. */
import { assert } from '../../core/input.js';
import type { KeyRecord } from '../../core/record.js';
import type {
  ChangedKey,
  ChangedQuery,
  ExpiringQuery,
  Slice,
  SliceQuery,
} from '../../core/store.js';
import { readChangesStart } from '../reads.js';
import { MAX_AT_ONCE } from './concurrency.js';
import type { Link } from './link.js';
import { type Keys, positionOf, startOf } from './schema.js';
import { type Found, filedByExpiry, filedByMark, type Range, walkRecords } from './walk.js';

/** The records whose expiry is in a span and which are not revoked. */
export function listExpiring(
  link: Link,
  keys: Keys,
  { from, before, after, limit }: ExpiringQuery,
): Promise<Slice<KeyRecord>> {
  const beginning = from === undefined ? '-' : `[${startOf(from)}`;
  const bound = readCursor(after, beginning);
  const range = { from: bound, to: `(${startOf(before)}`, size: sizeOf(limit) };
  return readSlice(link, keys, range, limit, ({ row }) => row.revokedAt === null);
}

/** All records, in the order of their expiry; last those that never expire. */
export function listAll(
  link: Link,
  keys: Keys,
  { after, limit }: SliceQuery,
): Promise<Slice<KeyRecord>> {
  const range = { from: readCursor(after, '-'), to: '+', size: sizeOf(limit) };
  return readSlice(link, keys, range, limit, () => true);
}

/**
 * A part of the keys that were marked. An entry is written before its mark: only that of the newest
 * mark counts, and none of a mark that was never written.
 */
export async function listChanged(
  link: Link,
  keys: Keys,
  query: ChangedQuery,
): Promise<ChangedKey[]> {
  const { limit } = query;
  const changed: ChangedKey[] = [];
  const { changedAt, keyId } = readChangesStart(query);
  const from = behind(positionOf({ time: changedAt, keyId }));
  const range = { from, to: '+', size: sizeOf(limit) };
  for await (const page of walkRecords(link, keys, keys.changes, range, filedByMark)) {
    for (const { entry, row } of page) {
      const { keyId, time } = entry;
      if (row.changedAt === time) changed.push({ keyId, changedAt: Number(time) });
    }
    if (changed.length >= limit) break;
  }
  return changed.slice(0, limit);
}

/** One record more than is wanted tells whether there is another part. */
async function readSlice(
  link: Link,
  keys: Keys,
  range: Range,
  limit: number,
  isWanted: (found: Found) => boolean,
): Promise<Slice<KeyRecord>> {
  const all: Found[] = [];
  for await (const page of walkRecords(link, keys, keys.expiry, range, filedByExpiry)) {
    all.push(...page.filter(isWanted));
    if (all.length > limit) break;
  }
  const part = all.slice(0, limit);
  const last = part.at(-1);
  const hasMore = all.length > limit && last !== undefined;
  return { items: part.map(({ row }) => row), next: hasMore ? positionOf(last.entry) : null };
}

function sizeOf(limit: number): number {
  return Math.min(limit + 1, MAX_AT_ONCE);
}

// ── Cursors ─────────────────────────────────────────────────────────────────────────────────────

const CURSOR = /^(?:\d{17}|never):[^:]+$/;

/** The bound of what follows a cursor; `beginning` if there is none. */
function readCursor(after: unknown, beginning: string): string {
  if (after === null || after === undefined) return beginning;
  const isCursor = typeof after === 'string' && CURSOR.test(after);
  assert(isCursor, 'after: pass what the previous part had as next');
  return behind(after);
}

/** The bound of what follows a position. The semicolon is the character after the colon. */
function behind(position: string): string {
  return `(${position};`;
}
