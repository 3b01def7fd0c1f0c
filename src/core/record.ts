/** What a store keeps of a key, and the checks of what a store returns. */
import { RECORD_FORMAT } from './encoding.js';
import { isObject, MAX_ENTITIES, MAX_TIME } from './input.js';
import { isScope, MAX_SCOPES } from './scope.js';
import { readTrust } from './trust.js';
import { isUuid } from './uuid.js';

// ── The record ──────────────────────────────────────────────────────────────────────────────────

/** When a key was last used, and which scopes were exercised when. */
export interface Usage {
  /** Milliseconds since the epoch. */
  readonly lastUsedAt: number;
  /** Scope → when it was last exercised, in milliseconds since the epoch. */
  readonly scopesUsed: Readonly<Record<string, number>>;
}

/**
 * A stored key. Times are whole milliseconds since the epoch that a `Date` can hold.
 *
 * First what never changes, all of it under the seal; then the marks, each written by `mark`; then
 * the usage.
 */
export interface KeyRecord {
  /** Which version of this table of fields the record was written with: 1. */
  readonly format: number;
  /** Names the key: a UUID in lower case. */
  readonly keyId: string;
  /** What the key begins with, before the last `_`. */
  readonly prefix: string;
  /**
   * The last four characters of the key, which are checksum: tells people which key it is. Empty if
   * nobody holds its text.
   */
  readonly hint: string;
  /** What people call the key. */
  readonly name: string;
  /** `h1.<pepper id>$<hex>` or `s1$<hex>`; see `digestKey`. */
  readonly digest: string;
  /** The entity that the key belongs to. */
  readonly entityUuid: string;
  /** The entities that the key was made for; always contains `entityUuid`. */
  readonly accessibleEntities: readonly string[];
  /** Concrete, in the order of the catalog at the time. */
  readonly scopes: readonly string[];
  /** Why the key has reserved scopes; null if nobody said. */
  readonly justification: string | null;
  /** String pairs that belong to the integration; keyscope never interprets them. */
  readonly metadata: Readonly<Record<string, string>>;
  /** When the key was made. */
  readonly createdAt: number;
  /** Who made it, as the authority said; null if it did not. */
  readonly createdBy: string | null;
  /** When the key ends by itself; null for never. */
  readonly expiresAt: number | null;
  /** The key id of the predecessor; null if there is none. */
  readonly rotatedFrom: string | null;
  /** The key id of the first key of its rotations; its own if it is that one. */
  readonly rootKeyId: string;
  /** The `rootKeyId` of the key on whose authority this one was made; null if there was none. */
  readonly issuedUnder: string | null;
  /**
   * Who may act as the key without its text: canonical JSON (RFC 8785) of at most 4 KiB. Such a
   * key has an empty `hint`. Null for keys whose text was shown to somebody.
   */
  readonly trust: string | null;

  /**
   * 64 hexadecimal digits over all of the above; after a revocation, over `revokedAt`, `endedBy`
   * and `endReason` as well. Null if there was no pepper to seal with.
   */
  readonly seal: string | null;
  /** When the key was revoked. */
  readonly revokedAt: number | null;
  /** When the key was suspended; null if it is not. Not under the seal. */
  readonly suspendedAt: number | null;
  /** When a rotated key ends. Not under the seal. */
  readonly retireAt: number | null;
  /** The entities that cut themselves off from the key. Only grows. Not under the seal. */
  readonly withdrawn: readonly string[];
  /** Who made the newest of suspension, retirement and revocation; null if nobody said. */
  readonly endedBy: string | null;
  /** Why; null if nobody said. */
  readonly endReason: string | null;
  /** When the newest mark was written; null if there was none. */
  readonly changedAt: number | null;

  /** When the key was last used; null for never. Not under the seal. */
  readonly lastUsedAt: number | null;
  /** Scope → when it was last exercised. Not under the seal. */
  readonly scopesUsed: Readonly<Record<string, number>>;
}

/**
 * What became of a key; the first that holds. `unknown_format`: a later release wrote the record.
 * `orphaned`: the pepper that it was made under is not configured. `damaged`: the record is
 * malformed, or its seal does not match. Only a live key authenticates; all of them can be revoked.
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

/**
 * Every field and its check. Texts are checked only by type: the seal detects forged ones. A record
 * with a `*` in a scope is refused.
 */
const CHECKS: Readonly<Record<keyof KeyRecord, Check>> = {
  format: (format) => format === RECORD_FORMAT,
  keyId: isUuid,
  prefix: isText,
  hint: isText,
  name: isText,
  digest: isText,
  entityUuid: isUuid,
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

function isTextOrNull(value: unknown): boolean {
  return value === null || isText(value);
}

function isUuidOrNull(value: unknown): boolean {
  return value === null || isUuid(value);
}

function isTime(value: unknown): boolean {
  return Number.isInteger(value) && Math.abs(value as number) <= MAX_TIME;
}

function isTimeOrNull(value: unknown): boolean {
  return value === null || isTime(value);
}

/** Takes a copy, in which holes are `undefined`: `every` would skip the holes of the original. */
function isList(list: unknown, max: number, isElement: Check): boolean {
  return Array.isArray(list) && list.length <= max && list.every(isElement);
}

function isEntities(list: unknown): boolean {
  return isList(list, MAX_ENTITIES, isUuid);
}

function isTable(value: unknown, isContent: Check): boolean {
  if (!isObject(value)) return false;
  return Object.entries(value).every(([name, content]) => isText(name) && isContent(content));
}

/** Whether `value` is a plain table of well-formed texts. */
export function isTextTable(value: unknown): value is Readonly<Record<string, string>> {
  return isTable(value, isText);
}

// ── Reading what a store returned ───────────────────────────────────────────────────────────────

const FIELDS = Object.keys(CHECKS) as (keyof KeyRecord)[];

/**
 * Returns a checked, deep-frozen copy of what a store returned; the record itself if it is already
 * such a copy.
 *
 * @returns `null` if a field is missing or malformed. Not checked: the seal.
 */
export function readRecord(value: unknown): KeyRecord | null {
  if (typeof value !== 'object' || value === null) return null;
  if (FrozenRecord.is(value)) return value;
  const row = value as Readonly<Record<string, unknown>>;
  // Field by field, because `fromEntries` and `assign` are slow.
  // Into a copy of a literal: an object that gets more than a dozen computed names becomes a hash
  // table, which doubles a key's memory.
  const copy: Record<string, unknown> = FrozenRecord.of({ ...CHECKS });
  for (const name of FIELDS) copy[name] = frozenCopy(row[name]);
  // The copy is checked, not the original, which could answer differently the second time.
  const isSound = FIELDS.every((name) => CHECKS[name](copy[name]));
  if (!isSound) return null;
  const record = Object.freeze(copy) as unknown as KeyRecord;
  const { entityUuid } = record;
  const hasOwn = record.accessibleEntities.includes(entityUuid);
  return hasOwn && !record.withdrawn.includes(entityUuid) ? record : null;
}

/** Whether a row was written by a later release, whose fields this one does not know. */
export function isLaterFormat(row: unknown): boolean {
  const { format } = row as Partial<KeyRecord>;
  return Number.isSafeInteger(format) && Number(format) > RECORD_FORMAT;
}

/** The entities that a key can address: those it was made for, less those that withdrew. */
export function addressableBy(record: KeyRecord): readonly string[] {
  const { accessibleEntities, withdrawn } = record;
  if (withdrawn.length === 0) return accessibleEntities;
  const gone = new Set(withdrawn);
  return Object.freeze(accessibleEntities.filter((entity) => !gone.has(entity)));
}

/** Copies and freezes a list or a table; anything else is returned as it is. */
export function frozenCopy(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return Object.freeze([...(value as readonly unknown[])]);
  // `fromEntries` defines properties, so no name reaches a prototype.
  return Object.freeze(Object.fromEntries(Object.entries(value)));
}

/** As a constructor it gives back its argument, so that a subclass adds private fields to that. */
function itself(object: object): object {
  return object;
}

/**
 * Our own copy of a record: valid and deep-frozen, so anything computed from it stays valid. The
 * result is kept in private fields: with many keys, a look-up in a WeakMap is slow.
 */
export class FrozenRecord extends (itself as unknown as new (object: object) => object) {
  #owner: object | undefined = undefined;
  #made: unknown = undefined;

  /** Makes a record of an object, which gets the private fields and is otherwise as it was. */
  static of<T extends object>(fields: T): T {
    return new FrozenRecord(fields) as unknown as T;
  }

  static is(value: object): value is KeyRecord {
    return #owner in value;
  }

  /** What was last remembered of a record, if it was by this owner. */
  static recall<T>(record: KeyRecord, owner: object): T | undefined {
    const own = record as unknown as FrozenRecord;
    return own.#owner === owner ? (own.#made as T) : undefined;
  }

  /** Remembers what an owner found out about a record; returns it. */
  static remember<T>(record: KeyRecord, owner: object, made: T): T {
    const own = record as unknown as FrozenRecord;
    own.#owner = owner;
    own.#made = made;
    return made;
  }
}
