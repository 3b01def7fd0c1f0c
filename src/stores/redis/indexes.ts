/** Reads single records, pages of indexes, and the records that entries lead to. */
import type { KeyRecord } from '../../core/record.js';
import { isWrongType, type Link, readFrom } from './client.js';
import { type Entry, type Hash, type Keys, readMember, toRecord } from './schema.js';

/** Returns the record with this digest, or `null`. */
export async function readByDigest(
  link: Link,
  keys: Keys,
  digest: string,
  read: (digest: string, hash: Hash) => KeyRecord = (_digest, hash) => toRecord(hash),
): Promise<KeyRecord | null> {
  const hash = (await readFrom(link, keys.record(digest), 'HGETALL')) as Hash | null;
  return hash === null || hash.length === 0 ? null : read(digest, hash);
}

// ── Filed fields ─────────────────────────────────────────────────────────────────────────────────

/** The fields of a record that an entry leading to it has, too. */
export type Filed = Pick<KeyRecord, 'keyId' | 'entityId' | 'prefix'> &
  Partial<Pick<KeyRecord, 'createdAt' | 'expiresAt'>>;

/** Returns the record's fields in an entry of an index by creation. */
export function filedByCreation({ keyId, entityId, prefix, time }: Entry): Filed {
  return { keyId, entityId, prefix, createdAt: Number(time) };
}

/** Returns the record's fields in an entry of an index by expiry. */
export function filedByExpiry({ keyId, entityId, prefix, time }: Entry): Filed {
  return { keyId, entityId, prefix, expiresAt: time };
}

/** Returns the record's fields in an entry of an index by the time of a mark, or by key id. */
export function filedById({ keyId, entityId, prefix }: Entry): Filed {
  return { keyId, entityId, prefix };
}

/**
 * Returns the record with this digest, if it is the one that was filed. Returns `null` if there is
 * none, or if it is another key's: a failed insert may leave entries that lead there.
 *
 * If a field under which the record was filed has been edited, the row has the filed value. So it
 * is found where it belongs, and the core sees that it is damaged.
 */
export async function readFiled(
  link: Link,
  keys: Keys,
  digest: string,
  filed: Filed,
): Promise<KeyRecord | null> {
  const row = await readByDigest(link, keys, digest);
  if (row === null) return null;
  const names = Object.keys(filed) as (keyof Filed)[];
  if (names.every((name) => row[name] === filed[name])) return row;
  const isForeign = row.keyId !== filed.keyId && (await leadsTo(link, keys, row.keyId, digest));
  return isForeign ? null : { ...asDamaged(row), ...filed };
}

/**
 * Does the same as {@link readFiled}. If the Redis key has another type, returns a row with only
 * the filed fields.
 */
export async function readOrFiled(
  link: Link,
  keys: Keys,
  digest: string,
  filed: Filed,
): Promise<KeyRecord | null> {
  try {
    return await readFiled(link, keys, digest, filed);
  } catch (error) {
    if (!isWrongType(error)) throw error;
    return filed as KeyRecord;
  }
}

/**
 * Makes a row that the core rejects: without a hint it is not a record. Its seal and marks stay.
 */
export function asDamaged(row: KeyRecord): KeyRecord {
  const { hint: _hint, ...others } = row;
  return others as KeyRecord;
}

// ── Pointers ────────────────────────────────────────────────────────────────────────────────────

/** Returns the entry of a key id, or `null` if it has none. */
export async function readPointer(link: Link, keys: Keys, keyId: string): Promise<Entry | null> {
  const text = await readFrom(link, keys.pointer(keyId), 'GET');
  const entry = text === null ? null : readMember(String(text));
  return entry?.keyId === keyId ? entry : null;
}

/** Checks whether the pointer of a key id, which may be damaged, leads to this digest. */
export async function leadsTo(
  link: Link,
  keys: Keys,
  keyId: unknown,
  digest: string,
): Promise<boolean> {
  if (typeof keyId !== 'string') return false;
  const entry = await readPointer(link, keys, keyId);
  return entry?.digest === digest;
}

// ── Indexes ─────────────────────────────────────────────────────────────────────────────────────

/** A part of an index to read, as ZRANGE takes it. */
export interface Range {
  /** The first member, as a bound of BYLEX. */
  readonly from: string;
  /** The last member, as a bound of BYLEX. */
  readonly to: string;
  /** Whether to read backwards; `from` is then the greater bound. Default: false. */
  readonly reversed?: boolean;
  /** How many to read at once. */
  readonly size: number;
}

/** Returns the entries of an index, page by page. Skips members that this store did not write. */
export async function* scanEntries(
  link: Link,
  index: string,
  { from, to, reversed = false, size }: Range,
): AsyncGenerator<Entry[]> {
  const order = reversed ? ['BYLEX', 'REV'] : ['BYLEX'];
  let bound = from;
  for (;;) {
    const limit = ['LIMIT', '0', String(size)];
    const reply = await readFrom(link, index, 'ZRANGE', bound, to, ...order, ...limit);
    const members = reply as string[];
    yield members.map(readMember).filter((entry) => entry !== null);
    const last = members.at(-1);
    if (members.length < size || last === undefined) return;
    bound = `(${last}`;
  }
}

/** A record, and the entry that led to it. */
export interface Found {
  readonly entry: Entry;
  readonly row: KeyRecord;
}

/** Returns the records of an index, page by page. Skips entries that lead to no record. */
export async function* scanRecords(
  link: Link,
  keys: Keys,
  index: string,
  range: Range,
  toFiled: (entry: Entry) => Filed,
): AsyncGenerator<Found[]> {
  async function read(entry: Entry): Promise<Found | null> {
    const row = await readOrFiled(link, keys, entry.digest, toFiled(entry));
    return row === null ? null : { entry, row };
  }
  for await (const entries of scanEntries(link, index, range)) {
    const found = await Promise.all(entries.map(read));
    yield found.filter((each) => each !== null);
  }
}
