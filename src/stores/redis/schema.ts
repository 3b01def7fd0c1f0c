/** The names of the Redis keys, and the format of index entries. */
import type { KeyRecord } from '../../core/record.js';

/** The Redis keys of one store. */
export interface Keys {
  /** The hash with the version of the layout. */
  readonly schema: string;
  /** The sorted set of all records, by expiry. */
  readonly expiry: string;
  /** The sorted set of marks, by the time at which they were written. */
  readonly changes: string;
  /** The hash of the record with this digest. */
  record(digest: string): string;
  /** The text with the entry of this key id. */
  pointer(keyId: string): string;
  /** The sorted set of an entity's own records with a prefix. */
  own(prefix: string, entityUuid: string): string;
  /** The sorted set of the records of others with a prefix that address an entity. */
  addressing(prefix: string, entityUuid: string): string;
  /** The sorted set of the records that were rotated from this first key. */
  lineage(rootKeyId: string): string;
}

/** The keys under a prefix; the comment at the top of `store.ts` describes them. */
export function keysUnder(under: string): Keys {
  return {
    schema: `${under}schema`,
    expiry: `${under}expiry`,
    changes: `${under}changes`,
    record: (digest) => `${under}rec:${digest}`,
    pointer: (keyId) => `${under}id:${keyId}`,
    own: (prefix, entityUuid) => `${under}own:${prefix}:${entityUuid}`,
    addressing: (prefix, entityUuid) => `${under}addressing:${prefix}:${entityUuid}`,
    lineage: (rootKeyId) => `${under}lineage:${rootKeyId}`,
  };
}

// ── Entries ─────────────────────────────────────────────────────────────────────────────────────

/** What leads to a record: a member of an index, or the text of a pointer. */
export interface Entry {
  /** By what the index is sorted; null, which only an expiry can be, is after every time. */
  readonly time: number | null;
  readonly keyId: string;
  readonly entityUuid: string;
  readonly prefix: string;
  readonly digest: string;
}

/** Letters sort after digits. */
const NEVER = 'never';

/** As text that sorts like the time: 17 digits, also for negative ones. */
function toDigits(time: number | null): string {
  if (time === null) return NEVER;
  const shifted = BigInt(time) + 2n ** 53n;
  return String(shifted).padStart(17, '0');
}

function fromDigits(digits: string): number | null {
  return digits === NEVER ? null : Number(BigInt(digits) - 2n ** 53n);
}

/** The beginning of the members with this time. */
export function startOf(time: number | null): string {
  return `${toDigits(time)}:`;
}

/** The beginning of the members with this time and key id. */
export function positionOf({ time, keyId }: Pick<Entry, 'time' | 'keyId'>): string {
  return `${startOf(time)}${keyId}`;
}

/** The text of an entry: sorts by time and then by key id. Throws if it could not be read again. */
export function memberOf(entry: Entry): string {
  const { keyId, entityUuid, prefix, digest } = entry;
  const hasColon = [keyId, entityUuid, prefix].some((text) => text.includes(':'));
  if (hasColon) throw new Error('keyscope: a key id, an entity or a prefix has no colon');
  return [positionOf(entry), entityUuid, prefix, digest].join(':');
}

/** Reads the text of an entry; `null` if this store did not write it. */
export function readMember(member: string): Entry | null {
  const parts = /^(\d{17}|never):([^:]*):([^:]*):([^:]*):(.*)$/s.exec(member);
  if (parts === null) return null;
  const { 1: digits = NEVER, 2: keyId = '', 3: entityUuid = '', 4: prefix = '' } = parts;
  return { time: fromDigits(digits), keyId, entityUuid, prefix, digest: parts[5] ?? '' };
}

/** An index and a member of it. */
export interface Filing {
  readonly index: string;
  readonly member: string;
}

/** The entry of a record, as its pointer has it. */
export function entryOf(record: KeyRecord): Entry {
  const { createdAt, keyId, entityUuid, prefix, digest } = record;
  return { time: createdAt, keyId, entityUuid, prefix, digest };
}

/** Where a record is filed: one member in each of these indexes. */
export function filingsOf(keys: Keys, record: KeyRecord): Filing[] {
  const { keyId, prefix, entityUuid, rootKeyId, changedAt } = record;
  const entry = entryOf(record);
  const member = memberOf(entry);
  const filings = [
    { index: keys.own(prefix, entityUuid), member },
    { index: keys.expiry, member: memberOf({ ...entry, time: record.expiresAt }) },
  ];
  for (const other of record.accessibleEntities) {
    if (other !== entityUuid) filings.push({ index: keys.addressing(prefix, other), member });
  }
  // The first key of a lineage is found by its id: most keys are never rotated.
  if (rootKeyId !== keyId) filings.push({ index: keys.lineage(rootKeyId), member });
  if (changedAt !== null) filings.push(changeOf(keys, entry, changedAt));
  return filings;
}

/** Where a mark is filed. */
export function changeOf(keys: Keys, entry: Entry, changedAt: number | null): Filing {
  return { index: keys.changes, member: memberOf({ ...entry, time: changedAt }) };
}
