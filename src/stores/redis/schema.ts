/** The layout: the names of the Redis keys, the format of index entries, and records as hashes. */
import type { KeyRecord } from '../../core/record.js';
import { isText } from '../reads.js';
import { rememberRows } from '../remembered-rows.js';
import { FIELDS } from '../rows.js';

/** The version of the layout that this release reads and writes. */
export const VERSION = 1;

/**
 * The oldest version whose releases still work with that layout. A version that only adds to the
 * layout keeps the number of the one before, so that neither a roll-out nor a roll-back locks a
 * process out.
 */
export const MIN_READER = 1;

/** The Redis keys of one store. */
export interface Keys {
  /** The hash with the version of the layout. */
  readonly schema: string;
  /** The sorted set of all records, by expiry. */
  readonly expiry: string;
  /** The sorted set of revoked and retired records, by either time. A purge reads it. */
  readonly ended: string;
  /** The sorted set of marks, by the time at which they were written. */
  readonly changes: string;
  /** The hash of the record with this digest. */
  record(digest: string): string;
  /** The text with the entry of this key id. */
  pointer(keyId: string): string;
  /** The sorted set of an entity's own records with a prefix. */
  own(prefix: string, entityId: string): string;
  /** The sorted set of other entities' records with a prefix that address this entity. */
  addressing(prefix: string, entityId: string): string;
  /** The sorted set of the records rotated from this first key or issued under it, by key id. */
  lineage(rootKeyId: string): string;
}

/** Checks whether `value` is a text that others may follow after a colon. */
export function isPart(value: unknown): value is string {
  return isText(value) && !value.includes(':');
}

/** Returns the keys under a prefix. An entity comes last, as in an entry. */
export function keysUnder(under: string): Keys {
  return {
    schema: `${under}schema`,
    expiry: `${under}expiry`,
    ended: `${under}ended`,
    changes: `${under}changes`,
    record: (digest) => `${under}rec:${digest}`,
    pointer: (keyId) => `${under}id:${keyId}`,
    own: (prefix, entityId) => `${under}own:${prefix}:${entityId}`,
    addressing: (prefix, entityId) => `${under}addressing:${prefix}:${entityId}`,
    lineage: (rootKeyId) => `${under}lineage:${rootKeyId}`,
  };
}

// ── Entries ─────────────────────────────────────────────────────────────────────────────────────

/** A reference to a record: a member of an index, or the text of a pointer. */
export interface Entry {
  /** The time by which the index is sorted. Null sorts last: a key that never expires. */
  readonly time: number | null;
  readonly keyId: string;
  readonly entityId: string;
  readonly prefix: string;
  readonly digest: string;
}

/** Letters sort after digits. */
const NEVER = 'never';

/** Formats a time as text that sorts like the time: 17 digits, even for negative ones. */
function toDigits(time: number | null): string {
  if (time === null) return NEVER;
  const shifted = BigInt(time) + 2n ** 53n;
  return String(shifted).padStart(17, '0');
}

function fromDigits(digits: string): number | null {
  return digits === NEVER ? null : Number(BigInt(digits) - 2n ** 53n);
}

/** Returns the beginning of the members with this time. */
export function startOf(time: number | null): string {
  return `${toDigits(time)}:`;
}

/** Returns the beginning of the members with this time and key id. */
export function positionOf({ time, keyId }: Pick<Entry, 'time' | 'keyId'>): string {
  return `${startOf(time)}${keyId}`;
}

/**
 * Formats an entry, which sorts by time and then by key id. Its entity comes last, because it alone
 * may contain colons. Throws if the entry could not be read again.
 */
export function memberOf(entry: Entry): string {
  const { keyId, prefix, digest, entityId } = entry;
  const isReadable = [keyId, prefix, digest].every(isPart);
  if (!isReadable)
    throw new Error('keyscope: insert: a key id, prefix or digest has a colon or NUL');
  return [positionOf(entry), prefix, digest, entityId].join(':');
}

/** Reads the text of an entry; `null` if this store did not write it. */
export function readMember(member: string): Entry | null {
  const parts = /^(\d{17}|never):([^:]*):([^:]*):([^:]*):(.*)$/s.exec(member);
  if (parts === null) return null;
  const { 1: digits = NEVER, 2: keyId = '', 3: prefix = '', 4: digest = '' } = parts;
  return { time: fromDigits(digits), keyId, entityId: parts[5] ?? '', prefix, digest };
}

/** An index and a member of it. */
export interface Filing {
  readonly index: string;
  readonly member: string;
}

/** Returns the entry of a record, as its pointer has it. */
export function entryOf(record: KeyRecord): Entry {
  const { createdAt, keyId, entityId, prefix, digest } = record;
  return { time: createdAt, keyId, entityId, prefix, digest };
}

/** Returns where a record is filed: one member in each of these indexes. */
export function filingsOf(keys: Keys, record: KeyRecord): Filing[] {
  const { keyId, prefix, entityId, rootKeyId, issuedUnder } = record;
  const entry = entryOf(record);
  const member = memberOf(entry);
  const filings = [
    { index: keys.own(prefix, entityId), member },
    { index: keys.expiry, member: memberOf({ ...entry, time: record.expiresAt }) },
  ];
  for (const other of record.accessibleEntities) {
    if (other !== entityId) filings.push({ index: keys.addressing(prefix, other), member });
  }
  // The first key of a lineage is found by its id: most keys are never rotated. Members with the
  // same time are sorted by key id.
  const kin = memberOf({ ...entry, time: null });
  if (rootKeyId !== keyId) filings.push({ index: keys.lineage(rootKeyId), member: kin });
  const isElsewhere = issuedUnder !== null && issuedUnder !== rootKeyId;
  if (isElsewhere) filings.push({ index: keys.lineage(issuedUnder), member: kin });
  return [...filings, ...markFilingsOf(keys, entry, record)];
}

/** The times of marks under which a record is filed; without a time it is not filed. */
export type MarkTimes = Partial<Pick<KeyRecord, 'changedAt' | 'revokedAt' | 'retireAt'>>;

/** Returns where a mark is filed. */
export function markFilingsOf(keys: Keys, entry: Entry, times: MarkTimes): Filing[] {
  const { changedAt, revokedAt, retireAt } = times;
  return [
    ...filingsAt(keys.changes, entry, changedAt),
    ...filingsAt(keys.ended, entry, revokedAt),
    ...filingsAt(keys.ended, entry, retireAt),
  ];
}

function filingsAt(index: string, entry: Entry, time: number | null | undefined): Filing[] {
  return time == null ? [] : [{ index, member: memberOf({ ...entry, time }) }];
}

// ── Records ─────────────────────────────────────────────────────────────────────────────────────

/** A field of a record that is one field of the hash. */
export type HashField = Exclude<keyof KeyRecord, 'scopesUsed'>;

const KNOWN: ReadonlySet<string> = new Set(FIELDS);

/**
 * The prefix of fields with the latest use of a scope. Each scope has its own field, so that a
 * script can move its time forward without parsing JSON, whose numbers Lua would round.
 */
export const USED_PREFIX = 'used:';

/**
 * Returns alternating fields and values, as HSET accepts them. Values are JSON, so that null
 * differs from a deleted field.
 */
export function toHash({ scopesUsed, ...fields }: KeyRecord): string[] {
  const hash: string[] = [];
  for (const [name, value] of Object.entries(fields)) hash.push(name, formatField(value));
  for (const [scope, time] of Object.entries(scopesUsed)) {
    hash.push(USED_PREFIX + scope, JSON.stringify(time));
  }
  return hash;
}

/**
 * Formats a value as JSON in ASCII. Before 5.9, node-redis decodes each chunk separately, so a
 * character split between two chunks becomes U+FFFD, and the record's seal would not match.
 */
export function formatField(value: unknown): string {
  return JSON.stringify(value).replace(/[\u0080-\uffff]/g, (unit) => {
    return `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`;
  });
}

/** Alternating names and values, as HGETALL returns them; empty if the hash does not exist. */
export type Hash = readonly unknown[];

/** Makes a record from a hash. Unchecked: the core checks the answers of a store. */
export function toRecord(list: Hash): KeyRecord {
  const row: Partial<Record<keyof KeyRecord, unknown>> = {};
  const used: [scope: string, time: unknown][] = [];
  for (let i = 0; i < list.length; i += 2) {
    const name = String(list[i]);
    const value = parseField(list[i + 1]);
    // Ignores fields that the service has added.
    if (name.startsWith(USED_PREFIX)) used.push([name.slice(USED_PREFIX.length), value]);
    else if (KNOWN.has(name)) row[name as HashField] = value;
  }
  // From entries, so that a field named `used:__proto__` is a scope like any other.
  row.scopesUsed = Object.fromEntries(used);
  return row as unknown as KeyRecord;
}

/** Makes a {@link toRecord} that reads a hash again only when it has changed. */
export function createHashReader(): (digest: string, hash: Hash) => KeyRecord {
  return rememberRows(toRecord, isSameHash);
}

function isSameHash(hash: Hash, last: Hash): boolean {
  return hash.length === last.length && hash.every((text, index) => text === last[index]);
}

/**
 * Texts and whole numbers that JSON can write in only one way. This is nearly every field, and
 * testing it is faster than stringifying the value again.
 */
const PLAIN_JSON = /^(?:"[ !#-[\]-~]*"|0|[1-9]\d{0,14})$/;

/**
 * Parses a field. Accepts only what {@link toHash} and the scripts write, because the scripts
 * compare texts. A mark of `null` with a space after it would be unset for the core but set for the
 * script, so the key could never be ended.
 *
 * Anything else becomes `undefined`, which no field may be, so the core rejects this record only.
 */
export function parseField(json: unknown): unknown {
  if (json === 'null') return null;
  try {
    const value: unknown = JSON.parse(json as string);
    const isOurs = PLAIN_JSON.test(json as string) || formatField(value) === json;
    return isOurs ? value : undefined;
  } catch {
    return undefined;
  }
}
