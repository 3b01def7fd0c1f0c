/** Reads single records, indexes page by page, and the records that entries lead to. */
import type { KeyRecord } from '../../core/record.js';
import { isWrongType, type Link, readFrom } from './client.js';
import { type Entry, type Hash, type Keys, readMember, toRecord } from './schema.js';

/** The record with this digest, or `null`. */
export async function readByDigest(
  link: Link,
  keys: Keys,
  digest: string,
  read: (digest: string, hash: Hash) => KeyRecord = (_digest, hash) => toRecord(hash),
): Promise<KeyRecord | null> {
  const hash = (await readFrom(link, keys.record(digest), 'HGETALL')) as Hash | null;
  return hash === null || hash.length === 0 ? null : read(digest, hash);
}

// ── What is filed of a record ───────────────────────────────────────────────────────────────────

/** The fields of a record that the entry that led to it has, too. */
export type Filed = Pick<KeyRecord, 'keyId' | 'entityUuid' | 'prefix'> &
  Partial<Pick<KeyRecord, 'createdAt' | 'expiresAt'>>;

/** What an entry says of its record where it is sorted by creation. */
export function filedByCreation({ keyId, entityUuid, prefix, time }: Entry): Filed {
  return { keyId, entityUuid, prefix, createdAt: Number(time) };
}

/** What an entry says of its record where it is sorted by expiry. */
export function filedByExpiry({ keyId, entityUuid, prefix, time }: Entry): Filed {
  return { keyId, entityUuid, prefix, expiresAt: time };
}

/** What an entry says of its record where it is sorted by the time of a mark. */
export function filedByMark({ keyId, entityUuid, prefix }: Entry): Filed {
  return { keyId, entityUuid, prefix };
}

/**
 * The record with this digest, if it is the one that was filed: `null` if there is none or it is
 * another key's, to which what is left of a failed insert may lead.
 *
 * If somebody has edited a field under which it was filed, the row has that field as it was filed.
 * So it is found where it belongs, and the core sees that it is damaged.
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

/** {@link readFiled}, but a Redis key of another type is a row that has only what was filed. */
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

/** A row that the core refuses: without a hint it is not a record. Its seal and marks stay. */
export function asDamaged(row: KeyRecord): KeyRecord {
  const { hint: _hint, ...others } = row;
  return others as KeyRecord;
}

// ── Pointers ────────────────────────────────────────────────────────────────────────────────────

/** The entry of a key id; `null` if there is none. */
export async function readPointer(link: Link, keys: Keys, keyId: string): Promise<Entry | null> {
  const text = await readFrom(link, keys.pointer(keyId), 'GET');
  const entry = text === null ? null : readMember(String(text));
  return entry?.keyId === keyId ? entry : null;
}

/** Whether the pointer of a key id, which may be damaged, leads to this digest. */
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

/** Which part of an index to read, as ZRANGE takes it. */
export interface Range {
  /** The first member, as a bound of BYLEX. */
  readonly from: string;
  /** The last member, as a bound of BYLEX. */
  readonly to: string;
  /** Backwards; `from` is then the greater one. Default: false. */
  readonly reversed?: boolean;
  /** How many to read at once. */
  readonly size: number;
}

/** The entries of an index, page by page. Skips what this store did not write. */
export async function* walkEntries(
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

/** The records of an index, page by page. Skips entries that lead to no record. */
export async function* walkRecords(
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
  for await (const entries of walkEntries(link, index, range)) {
    const found = await Promise.all(entries.map(read));
    yield found.filter((each) => each !== null);
  }
}
