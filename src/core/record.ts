/** The record of a key as the store keeps it, and the checks of records that a store returns. */
import { RECORD_FORMAT } from './encoding.js';
import { isEntityId } from './entity.js';
import { isObject, MAX_ENTITIES, MAX_TIME } from './input.js';
import { isScope, MAX_SCOPES } from './scope.js';
import { readTrust } from './trust.js';
import { isUuid } from './uuid.js';

// ── The record ──────────────────────────────────────────────────────────────────────────────────

/** When a key and each of its scopes were last used. */
export interface Usage {
  /** Milliseconds since the epoch. */
  readonly lastUsedAt: number;
  /** Scope → when it was last used, in milliseconds since the epoch. */
  readonly scopesUsed: Readonly<Record<string, number>>;
}

/**
 * A stored key. Times are whole milliseconds since the epoch, within the range of a `Date`.
 *
 * The fields that never change come first, all under the seal. The marks follow, each written by
 * `mark`, then the usage.
 */
export interface KeyRecord {
  /** The version of this set of fields: 1. */
  readonly format: number;
  /** The id of the key: a UUID in lower case. */
  readonly keyId: string;
  /** The beginning of the key, before the last `_`. */
  readonly prefix: string;
  /**
   * The last four characters of the key, which belong to the checksum. They help people recognise
   * the key. Empty if nobody holds its text.
   */
  readonly hint: string;
  /** The key's name, for people. */
  readonly name: string;
  /** `h1.<pepper id>$<hex>` or `s1$<hex>`; see `digestKey`. */
  readonly digest: string;
  /** The entity that the key belongs to. */
  readonly entityId: string;
  /** The entities that the key was made for. Always contains `entityId`. */
  readonly accessibleEntities: readonly string[];
  /** Concrete scopes, in the order of the catalog when the key was made. */
  readonly scopes: readonly string[];
  /** Why the key has reserved scopes; null if not given. */
  readonly justification: string | null;
  /** String pairs that belong to the integration; keyscope never interprets them. */
  readonly metadata: Readonly<Record<string, string>>;
  /** When the key was made. */
  readonly createdAt: number;
  /** Who made it, according to the authority; null if not given. */
  readonly createdBy: string | null;
  /** When the key expires; null for never. */
  readonly expiresAt: number | null;
  /** The key id of the predecessor; null without one. */
  readonly rotatedFrom: string | null;
  /** The key id of the first key in its chain of rotations; its own id if it is the first. */
  readonly rootKeyId: string;
  /** The `rootKeyId` of the key that issued this one; null if no key did. */
  readonly issuedUnder: string | null;
  /**
   * The identities that may act as the key without its text: canonical JSON (RFC 8785) of at most 4
   * KiB. Such a key has an empty `hint`. Null for keys whose text was handed out.
   */
  readonly trust: string | null;

  /**
   * 64 hexadecimal digits over all of the above; after a revocation, over `revokedAt`, `endedBy`
   * and `endReason` as well. Null if no pepper was configured.
   */
  readonly seal: string | null;
  /** When the key was revoked; null if it was not. */
  readonly revokedAt: number | null;
  /** When the key was suspended; null if it is not. Not under the seal. */
  readonly suspendedAt: number | null;
  /** When a rotated key ends; null if it was not rotated. Not under the seal. */
  readonly retireAt: number | null;
  /** The entities that withdrew from the key. Only grows. Not under the seal. */
  readonly withdrawn: readonly string[];
  /** Who made the newest suspension, retirement or revocation; null if not given. */
  readonly endedBy: string | null;
  /** Why; null if not given. */
  readonly endReason: string | null;
  /** When the newest mark was written; null without one. */
  readonly changedAt: number | null;

  /** When the key was last used; null for never. Not under the seal. */
  readonly lastUsedAt: number | null;
  /** Scope → when it was last used. Not under the seal. */
  readonly scopesUsed: Readonly<Record<string, number>>;
}

/**
 * The state of a key: the first in this list that applies. `unknown_format`: a later release wrote
 * the record. `orphaned`: the pepper that it was made under is not configured. `damaged`: the
 * record is malformed, or its seal does not match. Only a live key authenticates. You can revoke a
 * key in any state.
 */
export type KeyState =
  | 'revoked'
  | 'unknown_format'
  | 'orphaned'
  | 'damaged'
  | 'suspended'
  | 'retired'
  | 'expired'
  | 'live';

// ── Checks ──────────────────────────────────────────────────────────────────────────────────────

type Check = (value: unknown) => boolean;

const isTextOrNull = orNull(isText);
const isUuidOrNull = orNull(isUuid);
const isTimeOrNull = orNull(isTime);

/**
 * The check of every field. Of texts, only the type is checked: the seal detects forged ones. A
 * record with a `*` in a scope is refused.
 */
const CHECKS: Readonly<Record<keyof KeyRecord, Check>> = {
  format: (format) => format === RECORD_FORMAT,
  keyId: isUuid,
  prefix: isText,
  hint: isText,
  name: isText,
  digest: isText,
  entityId: isEntityId,
  accessibleEntities: isEntities,
  scopes: (list) => isList(list, MAX_SCOPES, isScope),
  justification: isTextOrNull,
  metadata: isTextTable,
  createdAt: isTime,
  createdBy: isTextOrNull,
  expiresAt: isTimeOrNull,
  rotatedFrom: isUuidOrNull,
  rootKeyId: isUuid,
  issuedUnder: isUuidOrNull,
  trust: (text) => text === null || (isText(text) && readTrust(text) !== null),
  seal: isTextOrNull,
  revokedAt: isTimeOrNull,
  suspendedAt: isTimeOrNull,
  retireAt: isTimeOrNull,
  withdrawn: isEntities,
  endedBy: isTextOrNull,
  endReason: isTextOrNull,
  changedAt: isTimeOrNull,
  lastUsedAt: isTimeOrNull,
  scopesUsed: (table) => isTable(table, isTime),
};

function isText(value: unknown): value is string {
  return typeof value === 'string' && value.isWellFormed();
}

function isTime(value: unknown): boolean {
  return Number.isInteger(value) && Math.abs(value as number) <= MAX_TIME;
}

function orNull(holds: Check): Check {
  return (value) => value === null || holds(value);
}

/** Expects a copy, where holes are `undefined`: `every` would skip holes of the original. */
function isList(list: unknown, max: number, isElement: Check): boolean {
  return Array.isArray(list) && list.length <= max && list.every(isElement);
}

function isEntities(list: unknown): boolean {
  return isList(list, MAX_ENTITIES, isEntityId);
}

function isTable(value: unknown, isContent: Check): boolean {
  if (!isObject(value)) return false;
  return Object.entries(value).every(([name, content]) => isText(name) && isContent(content));
}

/** Checks whether `value` is a plain table of well-formed texts. */
export function isTextTable(value: unknown): value is Readonly<Record<string, string>> {
  return isTable(value, isText);
}

// ── Reading rows ────────────────────────────────────────────────────────────────────────────────

const FIELDS = Object.keys(CHECKS) as (keyof KeyRecord)[];

/**
 * Returns a checked, deep-frozen copy of a row from a store, or the row itself if it is already
 * such a copy.
 *
 * @returns `null` if a field is missing or malformed. Not checked: the seal.
 */
export function readRecord(value: unknown): KeyRecord | null {
  if (typeof value !== 'object' || value === null) return null;
  if (FrozenRecord.is(value)) return value;
  const row = value as Readonly<Record<string, unknown>>;
  // Copied field by field, because `fromEntries` and `assign` are slow, and into a copy of a
  // literal: an object that gets more than a dozen computed names becomes a hash table, which
  // doubles a key's memory.
  const copy: Record<string, unknown> = FrozenRecord.of({ ...CHECKS });
  for (const name of FIELDS) copy[name] = frozenCopy(row[name]);
  // The copy is checked, not the original, which could answer differently the second time.
  const isSound = FIELDS.every((name) => CHECKS[name](copy[name]));
  if (!isSound) return null;
  const record = Object.freeze(copy) as unknown as KeyRecord;
  const { entityId } = record;
  const hasOwn = record.accessibleEntities.includes(entityId);
  return hasOwn && !record.withdrawn.includes(entityId) ? record : null;
}

/**
 * Returns a checked copy of a record with another usage, or `null`. Results that were computed from
 * the record stay valid, because neither its seal nor its rights depend on usage.
 */
export function withUsage(record: KeyRecord, usage: Usage): KeyRecord | null {
  const copy = readRecord({ ...record, ...usage });
  if (copy !== null) FrozenRecord.remember(copy, FrozenRecord.recall(record));
  return copy;
}

/** The fields that end a key. A row that cannot be read may lack some. */
type Ends = Partial<Pick<KeyRecord, 'revokedAt' | 'retireAt' | 'expiresAt'>>;

/**
 * Checks whether a key has not ended at the time `now`, by its unchecked row. Deadlines are
 * exclusive. A suspended key has not ended.
 */
export function isUnended({ revokedAt, retireAt, expiresAt }: Ends, now: number): boolean {
  const isAhead = (deadline: unknown): boolean => deadline === null || now < Number(deadline);
  return revokedAt === null && isAhead(retireAt) && isAhead(expiresAt);
}

/** Checks whether a later release, with fields unknown to this one, wrote the row. */
export function isLaterFormat(row: unknown): boolean {
  const { format } = row as Partial<KeyRecord>;
  return Number.isSafeInteger(format) && (format as number) > RECORD_FORMAT;
}

/** Returns the entities that a key can address: those it was made for, less those that withdrew. */
export function addressableBy(record: KeyRecord): readonly string[] {
  const { accessibleEntities, withdrawn } = record;
  if (withdrawn.length === 0) return accessibleEntities;
  const gone = new Set(withdrawn);
  return Object.freeze(accessibleEntities.filter((entity) => !gone.has(entity)));
}

/** Copies and freezes a list or a table. Returns anything else unchanged. */
export function frozenCopy(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return Object.freeze([...(value as readonly unknown[])]);
  // `fromEntries` defines properties, so no name reaches a prototype.
  return Object.freeze(Object.fromEntries(Object.entries(value)));
}

/** A constructor that returns its argument, so that a subclass adds its private fields to it. */
export const Itself = itself as unknown as new (object: object) => object;

function itself(object: object): object {
  return object;
}

/**
 * Our copy of a record: valid and deep-frozen, so anything computed from it stays valid. Private
 * fields keep the result, because a look-up in a WeakMap is slow with many keys.
 */
export class FrozenRecord extends Itself {
  #made: unknown = undefined;

  /** Adds the private fields to an object and returns it, otherwise unchanged. */
  static of<T extends object>(fields: T): T {
    return new FrozenRecord(fields) as unknown as T;
  }

  static is(value: object): value is KeyRecord {
    return #made in value;
  }

  /** Returns the last result remembered for a record. */
  static recall<T>(record: KeyRecord): T | undefined {
    return (record as unknown as FrozenRecord).#made as T | undefined;
  }

  /** Remembers a result for a record, and returns it. */
  static remember<T>(record: KeyRecord, made: T): T {
    (record as unknown as FrozenRecord).#made = made;
    return made;
  }
}
