/** The names of the Redis keys, and the format of index entries. */
import type { KeyRecord } from '../../core/record.js';
import type { ListPosition } from '../../core/store.js';

/** The Redis keys of one store. */
export interface Keys {
  /** The sorted set of entities. */
  readonly entities: string;
  /** The hash of the record with this digest. */
  record(digest: string): string;
  /** The text with the digest of this key id. */
  pointer(keyId: string): string;
  /** The sorted set of an entity's records. */
  index(entityUuid: string): string;
}

/** The keys under a prefix; the comment at the top of `store.ts` describes them. */
export function keysUnder(prefix: string): Keys {
  return {
    entities: `${prefix}entities`,
    record: (digest) => `${prefix}rec:${digest}`,
    pointer: (keyId) => `${prefix}id:${keyId}`,
    index: (entityUuid) => `${prefix}entity:${entityUuid}`,
  };
}

/** What a member of an index contains. */
export interface IndexEntry {
  readonly keyId: string;
  readonly digest: string;
}

/**
 * The beginning of a member: a position as text that sorts like a listing. It has 17 digits, also
 * for negative times, then the key id.
 */
export function toSortKey({ createdAt, keyId }: ListPosition): string {
  const time = BigInt(createdAt) + 2n ** 53n;
  return `${String(time).padStart(17, '0')}:${keyId}:`;
}

/** The member of a record. */
export function memberOf(record: KeyRecord): string {
  return toSortKey(record) + record.digest;
}

/** Reads a member; `null` if this store did not write it. */
export function readMember(member: string): IndexEntry | null {
  const parts = /^\d+:([^:]*):(.*)$/s.exec(member);
  if (parts === null) return null;
  return { keyId: parts[1] ?? '', digest: parts[2] ?? '' };
}
