/** Lists the keys of all entities that will stop working soon because they expire. */
import { StoreError } from '../../core/errors.js';
import { assert, assertFunction, isObject, readFields } from '../../core/input.js';
import { type Clock, readClock } from '../../core/outage.js';
import { isLaterFormat, type KeyRecord, readRecord } from '../../core/record.js';
import type { CallOptions, KeyStore, Slice } from '../../core/store.js';
import { isUuid } from '../../core/uuid.js';
import type { DamagedKey } from '../info.js';
import {
  ask,
  type Offering,
  partsOf,
  type ReadPart,
  readTimeout,
  requireMethod,
  withinTime,
} from './ask.js';

/** For {@link expiringKeys}. */
export interface ExpiringKeysOptions {
  /** Keys that expire at this time or later are left out. In the future. */
  readonly before: Date;
  /** Keys that expire before this time are left out. Before `before`. Default: now. */
  readonly from?: Date | undefined;
  /** Milliseconds since the epoch. Default: `Date.now`. */
  readonly now?: Clock | undefined;
  /** How long the whole report may take, in milliseconds: 1 to 3,600,000. Default: 30,000. */
  readonly timeoutMs?: number | undefined;
}

/** A key that will expire: what its owner needs to know to replace it. */
export interface ExpiringKey {
  /** Names the key: a UUID in lower case. */
  readonly keyId: string;
  /** What the key begins with, before the last `_`. */
  readonly prefix: string;
  /** The last four characters of the key: tells people which key it is. */
  readonly hint: string;
  /** What people call the key. */
  readonly name: string;
  /** The entity that the key belongs to. */
  readonly entityUuid: string;
  /** Who made it; null if nobody said. */
  readonly createdBy: string | null;
  /** When it ends by itself. */
  readonly expiresAt: Date;
  /** When it ends if that is sooner, because it was rotated; null if it was not. */
  readonly retireAt: Date | null;
  /** When it was last used; null for never. */
  readonly lastUsedAt: Date | null;
}

/** A key whose record this release cannot read: also when it ends is then uncertain. */
export interface UnreadableKey extends DamagedKey {
  /** `unknown_format`: a later release wrote it and reads it. */
  readonly state: 'damaged' | 'unknown_format';
}

/** How many records are read at once. */
const PART = 1000;

/**
 * Lists the keys of all entities that expire from now on and before a time, the next one first: for
 * a job that warns their owners. What has ended already, by revocation, rotation or expiry, is left
 * out. Suspended keys are among them, because they can be resumed, and so are rotated keys that
 * still work.
 *
 * A job that runs every day warns of each key once with `from` in 13 days and `before` in 14.
 *
 * Not listed: rotated keys that end before `before` and would expire later; their owners have the
 * successor.
 *
 * The usage that processes have recorded and not written yet is missing. The result is in memory as
 * a whole: about 1 KiB a key.
 *
 * Not checked: seals, because no pepper is at hand: whoever can write the database can change what
 * this shows; the prefix, so that keyrings that share a store are listed together.
 *
 * @param store A store that offers `listExpiring`.
 * @param options `before`: a `Date` in the future. `from`: a `Date` before that. `now`: the
 *   keyring's clock. `timeoutMs`: milliseconds, for all of it.
 * @returns Keys by their expiry; those that cannot be read hide no other.
 * @throws TypeError if the store does not offer `listExpiring`, or on another option.
 * @throws StoreError if the store or the clock is broken, or after `timeoutMs`.
 * @example
 * const before = new Date(Date.now() + 14 * 86_400_000);
 * for (const key of await expiringKeys(store, { before })) {
 *   if ('name' in key) remind(key.entityUuid, key.name, key.hint, key.expiresAt);
 * }
 */
export async function expiringKeys(
  store: KeyStore,
  options: ExpiringKeysOptions,
): Promise<readonly (ExpiringKey | UnreadableKey)[]> {
  const given = readFields(options, ['before', 'from', 'now', 'timeoutMs'], 'expiringKeys');
  const offering = requireMethod(store, 'listExpiring', 'expiringKeys');
  const { now = Date.now } = options;
  assertFunction(now, 'now');
  const timeoutMs = readTimeout(given.timeoutMs);
  const span = readSpan(given.before, given.from, readClock(now));
  const rows = await withinTime('expiringKeys', timeoutMs, (call) => readAll(offering, span, call));
  return Object.freeze(rows);
}

/** When a key must expire to be listed, and what the time is. Milliseconds. */
interface Span {
  /** Not before now. */
  readonly from: number;
  readonly before: number;
  readonly now: number;
}

function readSpan(before: unknown, from: unknown, now: number): Span {
  // NaN if a date is invalid, and then a comparison is false.
  const end = timeOf(before);
  assert(end > now, 'before: pass a valid Date in the future');
  const start = from === undefined ? now : timeOf(from);
  assert(start < end, 'from: pass a valid Date earlier than `before`, or leave it out');
  return { from: Math.max(start, now), before: end, now };
}

/** NaN for what is no date. */
function timeOf(date: unknown): number {
  return date instanceof Date ? new Date(date).getTime() : Number.NaN;
}

type Listed = ExpiringKey | UnreadableKey;

type Store = Offering<'listExpiring'>;

async function readAll(store: Store, span: Span, call: CallOptions): Promise<Listed[]> {
  const listed: Listed[] = [];
  const read: ReadPart<KeyRecord> = (after) => readPart(store, span, after, call);
  for await (const rows of partsOf('listExpiring', read)) {
    for (const row of rows) {
      const key = readRow(row, span);
      if (key !== null) listed.push(key);
    }
    // Also of a synchronous store: requests get their turn between two parts, and so does the
    // timer.
    await new Promise((resolve) => setTimeout(resolve, 0));
    if (call.signal?.aborted === true) break;
  }
  return listed;
}

function readPart(
  store: Store,
  { from, before }: Span,
  after: string | null,
  call: CallOptions,
): Promise<Slice<KeyRecord>> {
  const query = { from, before, after, limit: PART };
  return ask('listExpiring', () => store.listExpiring(query, call), isSlice);
}

function isSlice(answer: unknown): boolean {
  if (!isObject(answer)) return false;
  const { items, next } = answer as Partial<Slice<unknown>>;
  if (!Array.isArray(items) || items.length > PART) return false;
  // Looks for what is not a row, because `every` would skip holes.
  const odd = items.findIndex((row) => typeof row !== 'object' || row === null);
  return odd === -1 && (next === null || typeof next === 'string');
}

/** Null for a key that has ended, and for one that expires before the span. */
function readRow(row: KeyRecord, span: Span): Listed | null {
  const record = readRecord(row);
  if (record === null) return readUnreadable(row, span);
  const { expiresAt, retireAt, revokedAt } = record;
  const isAsked = expiresAt !== null && expiresAt < span.before && revokedAt === null;
  if (!isAsked) throw new StoreError('store.listExpiring returned more than it was asked for');
  if (isOver(record, span)) return null;
  const { keyId, prefix, hint, name, entityUuid, createdBy, lastUsedAt } = record;
  return Object.freeze({
    keyId,
    prefix,
    hint,
    name,
    entityUuid,
    createdBy,
    expiresAt: new Date(expiresAt),
    retireAt: retireAt === null ? null : new Date(retireAt),
    lastUsedAt: lastUsedAt === null ? null : new Date(lastUsedAt),
  });
}

function readUnreadable(row: KeyRecord, span: Span): UnreadableKey | null {
  const { keyId, entityUuid } = row as Partial<KeyRecord>;
  const isFiled = isUuid(keyId) && isUuid(entityUuid);
  if (!isFiled) throw new StoreError('the store returned a row without its key id or entity');
  if (isOver(row, span)) return null;
  const state = isLaterFormat(row) ? 'unknown_format' : 'damaged';
  return Object.freeze({ keyId, entityUuid, state });
}

/** Whether a key has ended or expires before the span, where that much can be read of its row. */
function isOver(row: KeyRecord, { from, now }: Span): boolean {
  const { expiresAt, retireAt } = row as Partial<KeyRecord>;
  // Deadlines are exclusive: a key whose end is now has ended.
  const isExpired = typeof expiresAt === 'number' && (expiresAt < from || expiresAt <= now);
  const isRetired = typeof retireAt === 'number' && retireAt <= now;
  return isExpired || isRetired;
}
