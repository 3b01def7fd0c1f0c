/** Records as hashes of Redis, and hashes as records. */
import type { KeyRecord } from '../../core/record.js';

/** Each of a record's fields that is one field of the hash. */
const FIELDS: ReadonlySet<string> = new Set<Exclude<keyof KeyRecord, 'scopesUsed'>>([
  'keyId',
  'name',
  'digest',
  'seal',
  'entityUuid',
  'accessibleEntities',
  'scopes',
  'justification',
  'metadata',
  'createdAt',
  'expiresAt',
  'revokedAt',
  'retireAt',
  'rotatedFrom',
  'lastUsedAt',
]);

/**
 * What the field of a scope's latest use begins with. A separate field for each scope, so that a
 * script can move each time forward without parsing JSON, whose numbers Lua would round.
 */
export const USED_PREFIX = 'used:';

/**
 * Alternating fields and values, as HSET accepts them. Values are JSON, in which null and a field
 * that somebody deleted differ.
 */
export function toHash({ scopesUsed, ...fields }: KeyRecord): string[] {
  const hash: string[] = [];
  for (const [name, value] of Object.entries(fields)) hash.push(name, JSON.stringify(value));
  for (const [scope, time] of Object.entries(scopesUsed)) {
    hash.push(USED_PREFIX + scope, JSON.stringify(time));
  }
  return hash;
}

/**
 * A fresh record from an HGETALL reply, unchecked: the core checks what comes back. `null` if there
 * is no hash.
 */
export function toRecord(reply: unknown): KeyRecord | null {
  const list = fieldsAndValues(reply);
  if (list.length === 0) return null;
  const row: Partial<Record<keyof KeyRecord, unknown>> = {};
  const used: [scope: string, time: unknown][] = [];
  for (let i = 0; i < list.length; i += 2) {
    const name = String(list[i]);
    // Fields that the service adds are left alone.
    if (name.startsWith(USED_PREFIX))
      used.push([name.slice(USED_PREFIX.length), parseField(list[i + 1])]);
    else if (FIELDS.has(name)) row[name as keyof KeyRecord] = parseField(list[i + 1]);
  }
  // As entries, so that a field named `used:__proto__` is a scope like any other.
  row.scopesUsed = Object.fromEntries(used);
  return row as unknown as KeyRecord;
}

/** RESP2 returns fieldsAndValues names and values, RESP3 a map, which clients turn into an object. */
function fieldsAndValues(reply: unknown): readonly unknown[] {
  if (Array.isArray(reply)) return reply;
  return Object.entries((reply ?? {}) as Readonly<Record<string, unknown>>).flat();
}

/**
 * Texts and whole numbers that JSON can spell in one way only: nearly every field, and faster than
 * writing it again.
 */
const PLAIN_JSON = /^(?:"[ !#-[\]-~]*"|0|[1-9]\d{0,14})$/;

/**
 * Accepts only what {@link toHash} and the scripts write. The scripts compare texts: a mark of
 * `null` with a space after it would be unset to the core and set to the script, so that the key
 * could never be ended.
 *
 * What is not accepted becomes `undefined`, which no field of a record may be: the core refuses
 * this record, and only this one.
 */
function parseField(json: unknown): unknown {
  if (json === 'null') return null;
  try {
    const value: unknown = JSON.parse(json as string);
    const isOurs = PLAIN_JSON.test(json as string) || JSON.stringify(value) === json;
    return isOurs ? value : undefined;
  } catch {
    return undefined;
  }
}

/**
 * False for somebody else's record, to which the pointer or index entry of a failed insert may
 * lead. A record whose id is damaged counts: the core says what is wrong with it.
 */
export function hasId(row: KeyRecord, keyId: string): boolean {
  return row.keyId === keyId || typeof row.keyId !== 'string';
}
