/** Converts records to hashes of Redis, and back. */
import type { KeyRecord } from '../../core/record.js';
import { rememberRows } from '../remembered-rows.js';

/** A field of a record that is one field of the hash. */
export type HashField = Exclude<keyof KeyRecord, 'scopesUsed'>;

const FIELDS: ReadonlySet<string> = new Set<HashField>([
  'format',
  'keyId',
  'prefix',
  'hint',
  'name',
  'digest',
  'entityUuid',
  'accessibleEntities',
  'scopes',
  'justification',
  'metadata',
  'createdAt',
  'createdBy',
  'expiresAt',
  'rotatedFrom',
  'rootKeyId',
  'delegation',
  'seal',
  'revokedAt',
  'suspendedAt',
  'retireAt',
  'withdrawn',
  'endedBy',
  'endReason',
  'changedAt',
  'lastUsedAt',
]);

/**
 * The prefix of fields with the latest use of a scope. Each scope has its own field, so that a
 * script can move its time forward without parsing JSON, whose numbers Lua would round.
 */
export const USED_PREFIX = 'used:';

/**
 * Fields and values by turns, as HSET accepts them. Values are JSON, so that null differs from a
 * field that somebody deleted.
 */
export function toHash({ scopesUsed, ...fields }: KeyRecord): string[] {
  const hash: string[] = [];
  for (const [name, value] of Object.entries(fields)) hash.push(name, JSON.stringify(value));
  for (const [scope, time] of Object.entries(scopesUsed)) {
    hash.push(USED_PREFIX + scope, JSON.stringify(time));
  }
  return hash;
}

/** Names and values by turns, as HGETALL returns them; without any if there is no hash. */
export type Hash = readonly unknown[];

/** Makes a record from a hash. Unchecked: the core checks what a store returns. */
export function toRecord(list: Hash): KeyRecord {
  const row: Partial<Record<keyof KeyRecord, unknown>> = {};
  const used: [scope: string, time: unknown][] = [];
  for (let i = 0; i < list.length; i += 2) {
    const name = String(list[i]);
    const value = parseField(list[i + 1]);
    // Ignores fields that the service has added.
    if (name.startsWith(USED_PREFIX)) used.push([name.slice(USED_PREFIX.length), value]);
    else if (FIELDS.has(name)) row[name as HashField] = value;
  }
  // From entries, so that a field named `used:__proto__` is a scope like any other.
  row.scopesUsed = Object.fromEntries(used);
  return row as unknown as KeyRecord;
}

/** {@link toRecord}, which reads a hash once for as long as it stays the same. */
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
 * Accepts only what {@link toHash} and the scripts write. The scripts compare texts: a mark of
 * `null` with a space after it would be unset for the core but set for the script, so that the key
 * could never be ended.
 *
 * Anything else becomes `undefined`, which no field of a record may be, so that the core refuses
 * this record and no other.
 */
export function parseField(json: unknown): unknown {
  if (json === 'null') return null;
  try {
    const value: unknown = JSON.parse(json as string);
    const isOurs = PLAIN_JSON.test(json as string) || JSON.stringify(value) === json;
    return isOurs ? value : undefined;
  } catch {
    return undefined;
  }
}
