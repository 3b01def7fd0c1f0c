/** Lists the keys of all entities that expire soon. */
import { isEntityId } from '../core/entity.js';
import { StoreError } from '../core/errors.js';
import { assert, assertFunction, isObject, readFields } from '../core/input.js';
import { type Clock, readClock, systemClock } from '../core/outage.js';
import { isLaterFormat, type KeyRecord, readRecord } from '../core/record.js';
import type { CallOptions, KeyStore, Slice } from '../core/store.js';
import { untilNextTurn } from '../core/thenable.js';
import { timeOf } from '../core/times.js';
import { isUuid } from '../core/uuid.js';
import { type DamagedKey, dateOrNull, type KeyInfo } from '../management/info.js';
import {
  ask,
  type Offering,
  partsOf,
  type ReadPart,
  readTimeout,
  requireMethod,
  withinTime,
} from './ask.js';

/** The options of {@link expiringKeys}. */
export interface ExpiringKeysOptions {
  /** Lists only keys that expire before this time, which must be in the future. */
  readonly before: Date;
  /**
   * Lists only keys that expire at this time or later. Must be earlier than `before`. Default: now.
   */
  readonly from?: Date | undefined;
  /** Milliseconds since the epoch. Default: `Date.now`. */
  readonly now?: Clock | undefined;
  /** How long the whole report may take, in milliseconds: 1 to 3,600,000. Default: 30,000. */
  readonly timeoutMs?: number | undefined;
}

/** A key that will expire, with the fields that its owner needs to replace it. */
export interface ExpiringKey extends Pick<KeyInfo, ExpiringField> {
  /** When it expires. */
  readonly expiresAt: Date;
}

type ExpiringField =
  | 'keyId'
  | 'prefix'
  | 'hint'
  | 'name'
  | 'entityId'
  | 'createdBy'
  | 'retireAt'
  | 'lastUsedAt';

/** A key whose record this release cannot read. When it ends is therefore uncertain, too. */
export interface UnreadableKey extends DamagedKey {
  /** `unknown_format`: a later release wrote the record and can read it. */
  readonly state: 'damaged' | 'unknown_format';
}

/** The most records to read at once. */
const PART = 1000;

/**
 * Lists the keys of all entities that expire between now and a given time, the next one first. Use
 * it in a job that warns their owners. It leaves out keys that have ended already, by revocation,
 * rotation or expiry. It includes suspended keys, because they can be resumed, and rotated keys
 * that still work.
 *
 * To warn once about each key, run the job every day with `from` in 13 days and `before` in 14.
 *
 * Not listed: rotated keys that end before `before` and would expire later; their owners have the
 * successor.
 *
 * `lastUsedAt` lacks usage that processes have not written yet. The whole result is in memory, at
 * about 1 KiB a key.
 *
 * Not checked: seals, because the report has no pepper, so anyone who can write to the database can
 * change the result; the prefix, so keyrings that share a store are listed together.
 *
 * @param store A store with `listExpiring`.
 * @param options `before`: a `Date` in the future. `from`: an earlier `Date`. `now`: the keyring's
 *   clock. `timeoutMs`: milliseconds for the whole report.
 * @returns Keys in the order of their expiry. Unreadable ones hide no other.
 * @throws TypeError if the store lacks `listExpiring`, or on an unknown or invalid option.
 * @throws StoreError if the store or the clock is broken, or after `timeoutMs`.
 * @example
 * const before = new Date(Date.now() + 14 * 86_400_000);
 * for (const key of await expiringKeys(store, { before })) {
 *   if ('name' in key) remind(key.entityId, key.name, key.hint, key.expiresAt);
 * }
 */
export async function expiringKeys(
  store: KeyStore,
  options: ExpiringKeysOptions,
): Promise<readonly (ExpiringKey | UnreadableKey)[]> {
  const given = readFields(options, ['before', 'from', 'now', 'timeoutMs'], 'expiringKeys');
  const offering = requireMethod(store, 'listExpiring', 'expiringKeys');
  const { now = systemClock } = options;
  assertFunction(now, 'now');
  const timeoutMs = readTimeout(given.timeoutMs);
  const span = readSpan(given.before, given.from, readClock(now));
  const rows = await withinTime('expiringKeys', timeoutMs, (call) => readAll(offering, span, call));
  return Object.freeze(rows);
}

/** The span in which listed keys expire, and the current time, in milliseconds. */
interface Span {
  /** Now or later. */
  readonly from: number;
  readonly before: number;
  readonly now: number;
}

function readSpan(before: unknown, from: unknown, now: number): Span {
  // NaN if a date is invalid, which makes the comparison false.
  const end = timeOf(before);
  assert(end > now, 'before: pass a valid Date in the future');
  const start = from === undefined ? now : timeOf(from);
  assert(start < end, 'from: pass a valid Date earlier than `before`, or leave it out');
  return { from: Math.max(start, now), before: end, now };
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
    // Yields between parts, also with a synchronous store, so that requests and the timer can run.
    await untilNextTurn();
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
  // `findIndex`, because `every` would skip holes.
  const odd = items.findIndex((row) => typeof row !== 'object' || row === null);
  return odd === -1 && (next === null || typeof next === 'string');
}

/** Returns null for a key that has ended or expires before the span. */
function readRow(row: KeyRecord, span: Span): Listed | null {
  const record = readRecord(row);
  if (record === null) return readUnreadable(row, span);
  const { expiresAt, retireAt, revokedAt } = record;
  const isAsked = expiresAt !== null && expiresAt < span.before && revokedAt === null;
  if (!isAsked) throw new StoreError('store.listExpiring returned more than it was asked for');
  if (isOver(record, span)) return null;
  const { keyId, prefix, hint, name, entityId, createdBy, lastUsedAt } = record;
  return Object.freeze({
    keyId,
    prefix,
    hint,
    name,
    entityId,
    createdBy,
    expiresAt: new Date(expiresAt),
    retireAt: dateOrNull(retireAt),
    lastUsedAt: dateOrNull(lastUsedAt),
  });
}

function readUnreadable(row: KeyRecord, span: Span): UnreadableKey | null {
  const { keyId, entityId } = row as Partial<KeyRecord>;
  const isFiled = isUuid(keyId) && isEntityId(entityId);
  if (!isFiled) throw new StoreError('the store returned a row without its key id or entity');
  if (isOver(row, span)) return null;
  const state = isLaterFormat(row) ? 'unknown_format' : 'damaged';
  return Object.freeze({ keyId, entityId, state });
}

/** Checks whether a key has ended or expires before the span, as far as its row is readable. */
function isOver(row: KeyRecord, { from, now }: Span): boolean {
  const { expiresAt, retireAt } = row as Partial<KeyRecord>;
  // Deadlines are exclusive: a key that ends now has ended.
  const isExpired = typeof expiresAt === 'number' && (expiresAt < from || expiresAt <= now);
  const isRetired = typeof retireAt === 'number' && retireAt <= now;
  return isExpired || isRetired;
}
