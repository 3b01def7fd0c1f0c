/** Reads single records, sorted sets page by page, and the records that a set refers to. */
import type { KeyRecord } from '../../core/record.js';
import { hasId, toRecord } from './fields.js';
import { type Keys, readMember } from './layout.js';
import type { Command, Link } from './link.js';

/** The record with this digest, or `null`. */
export async function readByDigest(
  link: Link,
  keys: Keys,
  digest: string,
): Promise<KeyRecord | null> {
  const key = keys.record(digest);
  return toRecord(await link.send(key, ['HGETALL', key]));
}

/** The record with this digest if it has this key id, or `null`. */
export async function readIfHasId(
  link: Link,
  keys: Keys,
  digest: string,
  keyId: string,
): Promise<KeyRecord | null> {
  const row = await readByDigest(link, keys, digest);
  return row !== null && hasId(row, keyId) ? row : null;
}

/** Which members of a sorted set to read, as ZRANGE takes it. */
interface Range {
  /** The first member, as a bound of BYLEX. */
  readonly from: string;
  /** The last member and the direction. */
  readonly to: readonly string[];
  /** How many to read at once. */
  readonly size: number;
}

/** The members of a sorted set, page by page. */
export async function* walkMembers(
  link: Link,
  key: string,
  { from, to, size }: Range,
): AsyncGenerator<string[]> {
  let bound = from;
  for (;;) {
    const range: Command = ['ZRANGE', key, bound, ...to, 'LIMIT', '0', String(size)];
    const members = (await link.send(key, range)) as string[];
    yield members;
    const last = members.at(-1);
    if (members.length < size || last === undefined) return;
    bound = `(${last}`;
  }
}

/** An entity's records page by page, newest first. Skips entries without a record. */
export async function* walkRecords(
  link: Link,
  keys: Keys,
  entityUuid: string,
  { from, size }: Omit<Range, 'to'>,
): AsyncGenerator<KeyRecord[]> {
  const range = { from, to: ['-', 'BYLEX', 'REV'], size };
  for await (const members of walkMembers(link, keys.index(entityUuid), range)) {
    const rows = members.map(async (member) => {
      const entry = readMember(member);
      return entry === null ? null : readIfHasId(link, keys, entry.digest, entry.keyId);
    });
    yield (await Promise.all(rows)).filter((row) => row !== null);
  }
}
