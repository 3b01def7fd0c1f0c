/** What a store keeps of a key, and the checks of what a store returns. */
import { isObject, MAX_ENTITIES } from './input.js';
import { isScope, MAX_SCOPES } from './scope.js';
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
 * A stored key. Times are whole milliseconds since the epoch. The seal covers every field that
 * never changes.
 */
export interface KeyRecord {
  /** Names the key: a UUID in lower case. */
  readonly keyId: string;
  /** What people call the key. */
  readonly name: string;
  /** `h1.<pepper id>$<hex>` or `s1$<hex>`; see `digestKey`. */
  readonly digest: string;
  /** 64 hexadecimal digits; null if the key was made without a pepper. */
  readonly seal: string | null;
  /** The entity that the key belongs to. */
  readonly entityUuid: string;
  /** The entities that the key can address; always contains `entityUuid`. */
  readonly accessibleEntities: readonly string[];
  /** Concrete, in the order of the catalog at the time. */
  readonly scopes: readonly string[];
  /** Why the key has reserved scopes; null if nobody said. */
  readonly justification: string | null;
  /** String pairs that belong to the integration; keyscope never interprets them. */
  readonly metadata: Readonly<Record<string, string>>;
  /** When the key was made. */
  readonly createdAt: number;
  /** When the key ends by itself; null for never. */
  readonly expiresAt: number | null;
  /** When the key was revoked. Not under the seal: who can write to the database can clear it. */
  readonly revokedAt: number | null;
  /** When a rotated key ends. Not under the seal. */
  readonly retireAt: number | null;
  /** The key id of the predecessor; null if there is none. */
  readonly rotatedFrom: string | null;
  /** When the key was last used; null for never. Not under the seal. */
  readonly lastUsedAt: number | null;
  /** Scope → when it was last exercised. Not under the seal. */
  readonly scopesUsed: Readonly<Record<string, number>>;
}

// ── Checks ──────────────────────────────────────────────────────────────────────────────────────

type Check = (value: unknown) => boolean;

/**
 * Every field and its check. Texts are checked only by type: the seal detects forged ones. A record
 * with a `*` in a scope is refused.
 */
const CHECKS: Readonly<Record<keyof KeyRecord, Check>> = {
  keyId: isUuid,
  name: isText,
  digest: isText,
  seal: isTextOrNull,
  entityUuid: isUuid,
  accessibleEntities: (list) => isList(list, MAX_ENTITIES, isUuid),
  scopes: (list) => isList(list, MAX_SCOPES, isScope),
  justification: isTextOrNull,
  metadata: isTextTable,
  createdAt: isTime,
  expiresAt: isTimeOrNull,
  revokedAt: isTimeOrNull,
  retireAt: isTimeOrNull,
  rotatedFrom: (id) => id === null || isUuid(id),
  lastUsedAt: isTimeOrNull,
  scopesUsed: (table) => isTable(table, isTime),
};

function isText(value: unknown): value is string {
  return typeof value === 'string' && value.isWellFormed();
}

function isTextOrNull(value: unknown): boolean {
  return value === null || isText(value);
}

function isTime(value: unknown): boolean {
  return Number.isSafeInteger(value);
}

function isTimeOrNull(value: unknown): boolean {
  return value === null || isTime(value);
}

/** Takes a copy, in which holes are `undefined`: `every` would skip the holes of the original. */
function isList(list: unknown, max: number, isElement: Check): boolean {
  return Array.isArray(list) && list.length <= max && list.every(isElement);
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
  // Field by field: with `fromEntries` and `assign`, reading a row would take nearly twice as long.
  const copy: Record<string, unknown> = FrozenRecord.empty();
  for (const name of FIELDS) copy[name] = frozenCopy(row[name]);
  // The copy is checked, not the original, which could answer differently the second time.
  const isSound = FIELDS.every((name) => CHECKS[name](copy[name]));
  if (!isSound) return null;
  const record = Object.freeze(copy) as unknown as KeyRecord;
  return record.accessibleEntities.includes(record.entityUuid) ? record : null;
}

/** Copies and freezes a list or a table; anything else is returned as it is. */
export function frozenCopy(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return Object.freeze([...(value as readonly unknown[])]);
  // `fromEntries` defines properties, so no name reaches a prototype.
  return Object.freeze(Object.fromEntries(Object.entries(value)));
}

/**
 * Our own copy of a record: valid and deep-frozen, so anything computed from it stays valid. The
 * result is kept in private fields: with 100,000 keys, look-ups in a WeakSet and a WeakMap would
 * make a verification cost 16 % more.
 */
class FrozenRecord {
  #owner: object | undefined = undefined;
  #made: unknown = undefined;

  /**
   * A record without its fields. With `Object` as `new.target` it has the private fields and is
   * otherwise plain: it compares and prints as data.
   */
  static empty(): Record<string, unknown> {
    return Reflect.construct(FrozenRecord, [], Object) as unknown as Record<string, unknown>;
  }

  static is(value: object): value is KeyRecord {
    return #owner in value;
  }

  static memoize<T>(record: FrozenRecord, owner: object, make: () => T): T {
    if (record.#owner === owner) return record.#made as T;
    const made = make();
    record.#made = made;
    record.#owner = owner;
    return made;
  }
}

/**
 * Returns the result of `make` for a record of {@link readRecord} and an `owner`. It is made only
 * once, unless owners alternate.
 */
export function memoize<T>(record: KeyRecord, owner: object, make: () => T): T {
  return FrozenRecord.memoize(record as unknown as FrozenRecord, owner, make);
}
