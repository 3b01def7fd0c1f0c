/** What a store keeps of a key, what callers see of it, and the encoding that its seal covers. */
import { encoder } from './bytes.js';
import { AccessError, StoreError } from './errors.js';
import { assert, isObject, MAX_ENTITIES, raise } from './input.js';
import { isScope, MAX_SCOPES } from './scope.js';
import { isUuid } from './uuid.js';

// ── The record ────────────────────────────────────────────────────────────────────────────────────────

type Check<T> = (value: unknown) => value is T;
const isText = (value: unknown): value is string =>
  typeof value === 'string' && value.isWellFormed();
const isTime = (value: unknown): value is number => Number.isSafeInteger(value);
const isTextOrNull = (value: unknown) => value === null || isText(value);
const isTimeOrNull = (value: unknown) => value === null || isTime(value);
const isTable = <T>(value: unknown, is: Check<T>): value is Readonly<Record<string, T>> =>
  isObject(value) && Object.entries(value).every(([name, content]) => isText(name) && is(content));
// Called on a copy, whose holes are `undefined`: `every` skips holes.
const isList = <T>(list: unknown, max: number, is: Check<T>): list is readonly T[] =>
  Array.isArray(list) && list.length <= max && list.every(is);

// Every field and its check; the type of a record is made of these. Texts are checked only by type:
// refusing forged ones is the seal's task. A `*` in a scope refuses the record.
const SHAPE = {
  keyId: isUuid,
  name: isText,
  /** `h1.<pepper id>$<hex>` or `s1$<hex>`; see `digestKey`. */
  digest: isText,
  /** 64 hexadecimal digits; `null` if the key was made without a pepper. */
  seal: isTextOrNull,
  entityUuid: isUuid,
  /** Always contains `entityUuid`. */
  accessibleEntities: (list: unknown) => isList(list, MAX_ENTITIES, isUuid),
  /** Concrete, in the order of the catalog at the time. */
  scopes: (list: unknown) => isList(list, MAX_SCOPES, isScope),
  justification: isTextOrNull,
  /** String pairs that belong to the integration; keyscope never interprets them. */
  metadata: (table: unknown) => isTable(table, isText),
  createdAt: isTime,
  /** `null`: never. */
  expiresAt: isTimeOrNull,
  /** Not under the seal: anyone who can write to the database can clear it. */
  revokedAt: isTimeOrNull,
  /** When a rotated key ends. Not under the seal. */
  retireAt: isTimeOrNull,
  /** Key id of the predecessor. */
  rotatedFrom: (id: unknown) => id === null || isUuid(id),
  /** Not under the seal. */
  lastUsedAt: isTimeOrNull,
  /** Scope → when it was last exercised. Not under the seal. */
  scopesUsed: (table: unknown) => isTable(table, isTime),
};

/**
 * A stored key. Times are whole milliseconds since the epoch. The seal covers every field that
 * never changes.
 */
export type KeyRecord = {
  readonly [F in keyof typeof SHAPE]: (typeof SHAPE)[F] extends Check<infer T> ? T : never;
};

// Every number in a record is a time.
type Dated<T> = T extends number ? Date : { [K in keyof T]: Dated<T[K]> };

/**
 * A key as callers see it: {@link KeyRecord} without `digest` and `seal`, times as fresh `Date`s.
 */
export type KeyInfo = {
  readonly [F in keyof Omit<KeyRecord, 'digest' | 'seal'>]: Dated<KeyRecord[F]>;
};

/** When a key was last used, and which scopes were exercised when. Milliseconds. */
export type Usage = {
  readonly lastUsedAt: number;
  readonly scopesUsed: Readonly<Record<string, number>>;
};

// ── Reading what a store returned ─────────────────────────────────────────────────────────────────────

const FIELDS = Object.keys(SHAPE) as (keyof KeyRecord)[];

/**
 * Copies and freezes a list or a table; `fromEntries` defines properties, so no name reaches a
 * prototype.
 */
function frozen<T>(value: T): T {
  if (typeof value !== 'object' || value === null) return value;
  return Object.freeze(
    Array.isArray(value) ? [...value] : Object.fromEntries(Object.entries(value)),
  ) as T;
}

// Our own copy: sound and deep-frozen, so valid for as long as it lives. What a keyring made of it
// is in private fields: with 100,000 keys, look-ups in a WeakSet and a WeakMap would make a
// verification cost 16 % more.
class FrozenRecord {
  #owner: object | undefined;
  #made: unknown;

  static is = (value: object): boolean => #owner in value;

  static once<T>(memo: FrozenRecord, owner: object, make: () => T): T {
    if (memo.#owner !== owner) [memo.#made, memo.#owner] = [make(), owner];
    return memo.#made as T;
  }
}

/**
 * Returns what `make` makes of a record of {@link readRecord} for `owner`; made only once, unless
 * owners alternate.
 */
export const memoize = FrozenRecord.once as unknown as <T>(
  record: KeyRecord,
  owner: object,
  make: () => T,
) => T;

/**
 * Returns a checked, deep-frozen copy of what a store returned; the record itself if it is already
 * such a copy.
 *
 * @returns `null` if a field is missing or malformed. Not checked: the seal.
 */
export function readRecord(value: unknown): KeyRecord | null {
  const row = Object(value);
  if (FrozenRecord.is(row)) return row;
  // Field by field: with `fromEntries` and `assign`, reading a row would take nearly twice as long.
  // With `Object` as `new.target`, the copy has the private fields and is otherwise plain: it
  // compares and prints as data.
  const copy = Reflect.construct(FrozenRecord, [], Object) as unknown as KeyRecord;
  for (const name of FIELDS) Object(copy)[name] = frozen(row[name]);
  // The copy is checked, not the original, which could answer differently the second time.
  const sound =
    FIELDS.every((name) => SHAPE[name](copy[name])) &&
    copy.accessibleEntities.includes(copy.entityUuid);
  return sound ? Object.freeze(copy) : null;
}

/** Reads a row on which the key itself depends: a malformed one is refused like a broken seal. */
export const readRow = (row: unknown): KeyRecord =>
  readRecord(row) ??
  raise(new AccessError('invalid_token', 'record_tampered', { keyId: Object(row).keyId }));

/** Reads a row to be shown: a malformed one is a broken store. Not checked: the seal. */
export const showRow = (row: unknown): KeyInfo =>
  toKeyInfo(readRecord(row) ?? raise(new StoreError('the store returned a malformed record')));

// ── The seal ──────────────────────────────────────────────────────────────────────────────────────────

// biome-ignore format: one line
const SEALED = ['keyId', 'name', 'digest', 'entityUuid', 'accessibleEntities', 'scopes', 'justification',
  'metadata', 'createdAt', 'expiresAt', 'rotatedFrom'] as const;

// Prefix-free, so that no two contents share an encoding: each value begins with its type, texts
// and lists with their length; null, empty and absent differ. A table is encoded as its sorted
// pairs, because databases may reorder it.
function encode(value: unknown): string {
  if (typeof value === 'string') return `s${value.length}:${value}`;
  if (typeof value === 'number') return `i${value};`;
  if (typeof value !== 'object' || value === null) return 'n';
  const items = Array.isArray(value)
    ? value
    : Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
  return `l${items.length}:${items.map(encode).join('')}`;
}

/** The encoding of every field that never changes. */
export const sealedText = (record: KeyRecord) =>
  encode(['keyscope record v1', ...SEALED.map((name) => record[name])]);

// ── Making and showing ────────────────────────────────────────────────────────────────────────────────

/** What `issue` and `rotate` decide about a new key. */
export type Draft = Omit<Pick<KeyRecord, (typeof SEALED)[number]>, 'digest' | 'keyId'>;

/**
 * What callers see of a record; nothing in it derives from the key. Every number in a record is a
 * time.
 */
export function toKeyInfo({ digest: _digest, seal: _seal, ...shown }: KeyRecord): KeyInfo {
  const dated = (table: object) =>
    Object.fromEntries(
      Object.entries(table).map(([name, v]) => [name, typeof v === 'number' ? new Date(v) : v]),
    );
  return { ...dated(shown), scopesUsed: dated(shown.scopesUsed) } as unknown as KeyInfo;
}

/**
 * What `issue` and `rotate` return. `key` is the plaintext: show it once, because it cannot be
 * recovered.
 */
export type IssuedKey = Readonly<{ key: string; info: KeyInfo }>;

/**
 * `key` is an inherited accessor: printing, inspecting, spreading, cloning and JSON-encoding the
 * result show only `info`.
 */
export function issuedKey(key: string, record: KeyRecord): IssuedKey {
  const shown = { info: toKeyInfo(record) };
  // Node's `inspect` can be told to call getters, but asks this first.
  const inspect = { [Symbol.for('nodejs.util.inspect.custom')]: { value: () => shown } };
  const hidden = Object.defineProperties({}, { key: { get: () => key }, ...inspect });
  return Object.freeze(Object.assign(Object.create(hidden), shown));
}

/**
 * Reads `metadata` as `issue` accepts it: at most 16 pairs and 2 KiB, names and values together in
 * UTF-8.
 */
export function readMetadata(value: unknown): KeyRecord['metadata'] {
  // Bounded before the work: copying 100,000 pairs took 0.3 s.
  const table = frozen(
    isObject(value) && Object.keys(value).length <= 16 ? value : null,
  ) as KeyRecord['metadata'];
  assert(isTable(table, isText), 'metadata: pass an object of at most 16 well-formed strings');
  const [names, all] = [Object.keys(table).join(''), Object.entries(table).flat().join('')];
  // PostgreSQL's text cannot hold NUL. V8 13.6 (Node 24) reads back names that JSON escapes as one
  // another.
  const plain = !all.includes('\0') && !/["\\\p{Cc}]/u.test(names);
  const sound = plain && encoder.encode(all).length <= 2048;
  assert(sound, 'metadata: at most 2048 bytes, no NUL; no quote, backslash or control in names');
  return table;
}
