/** What a store keeps of a key, what callers see of it, and the encoding that its seal covers. */
import { utf8 } from './bytes.js';
import { expect, isUuid, MAX_ENTITIES, quote } from './input.js';
import { isScope, MAX_SCOPES } from './scope.js';
import type { Scheme } from './secret.js';

/** String pairs that belong to the integration; keyscope never interprets them. */
export type Metadata = Readonly<Record<string, string>>;

/** A stored key. Times are whole milliseconds since the epoch. What never changes is under the seal. */
export interface KeyRecord {
  readonly keyId: string;
  readonly name: string;
  /** `h1.<pepper id>$<hex>` or `s1$<hex>`; see `digestKey`. */
  readonly digest: string;
  /** 64 hexadecimal digits; `null` where the key was made without a pepper. */
  readonly seal: string | null;
  readonly entityUuid: string;
  /** Always contains `entityUuid`. */
  readonly accessibleEntities: readonly string[];
  /** Concrete, in the order of the catalog at the time. */
  readonly scopes: readonly string[];
  readonly justification: string | null;
  readonly metadata: Metadata;
  readonly createdAt: number;
  /** `null`: never. */
  readonly expiresAt: number | null;
  /** Not under the seal: a writer of the database can clear it. */
  readonly revokedAt: number | null;
  /** When a rotated key ends. Not under the seal. */
  readonly retireAt: number | null;
  /** Key id of the predecessor. */
  readonly rotatedFrom: string | null;
  /** Not under the seal. */
  readonly lastUsedAt: number | null;
  /** Scope → when it was last exercised. Not under the seal. */
  readonly scopesUsed: Readonly<Record<string, number>>;
}

/** A key as callers see it: {@link KeyRecord} without `digest` and `seal`, times as fresh `Date`s. */
export interface KeyInfo
  extends Omit<
    KeyRecord,
    'digest' | 'seal' | 'createdAt' | 'expiresAt' | 'revokedAt' | 'retireAt' | 'lastUsedAt' | 'scopesUsed'
  > {
  readonly createdAt: Date;
  readonly expiresAt: Date | null;
  readonly revokedAt: Date | null;
  readonly retireAt: Date | null;
  readonly lastUsedAt: Date | null;
  readonly scopesUsed: Readonly<Record<string, Date>>;
}

// ── Reading what a store returned ─────────────────────────────────────────────────────────────────────

const isText = (value: unknown): value is string => typeof value === 'string' && value.isWellFormed();
const isTime = (value: unknown): value is number => Number.isSafeInteger(value);
const orNull = (check: (value: unknown) => boolean) => (value: unknown) => value === null || check(value);
const isList = (value: unknown, max: number, check: (element: string) => boolean): boolean =>
  Array.isArray(value) && value.length <= max && value.every((e) => typeof e === 'string' && check(e));
const isTable = (value: unknown, check: (element: unknown) => boolean): boolean =>
  typeof value === 'object' && value !== null && !Array.isArray(value) && Object.values(value).every(check);

// One line a field; a scope with `*` refuses the record.
const SHAPE: readonly (readonly [keyof KeyRecord, (value: unknown) => boolean])[] = [
  ['keyId', isUuid],
  ['name', isText],
  ['digest', isText],
  ['seal', orNull(isText)],
  ['entityUuid', isUuid],
  ['accessibleEntities', (value) => isList(value, MAX_ENTITIES, isUuid)],
  ['scopes', (value) => isList(value, MAX_SCOPES, isScope)],
  ['justification', orNull(isText)],
  ['metadata', (value) => isTable(value, isText)],
  ['createdAt', isTime],
  ['expiresAt', orNull(isTime)],
  ['revokedAt', orNull(isTime)],
  ['retireAt', orNull(isTime)],
  ['rotatedFrom', orNull(isUuid)],
  ['lastUsedAt', orNull(isTime)],
  ['scopesUsed', (value) => isTable(value, isTime)],
];

// Records that are copies of ours: checked, frozen to the bottom, and so good for as long as they live.
const own = new WeakSet<object>();

const freezeTable = <V>(table: Readonly<Record<string, V>>): Readonly<Record<string, V>> =>
  // Entry by entry: `fromEntries` defines properties, so not even `__proto__` reaches a prototype.
  Object.freeze(Object.fromEntries(Object.entries(table)));

/**
 * A checked, deep-frozen copy of what a store returned; the record itself where it is such a copy already.
 *
 * @returns `null` where a field is missing or malformed. Not checked: the seal.
 */
export function readRecord(value: unknown): KeyRecord | null {
  if (typeof value !== 'object' || value === null) return null;
  if (own.has(value)) return value as KeyRecord;
  const row = value as KeyRecord;
  const draft: Record<string, unknown> = {};
  for (const [field, check] of SHAPE) {
    const content = row[field];
    if (!check(content)) return null;
    draft[field] = content;
  }
  return row.accessibleEntities.includes(row.entityUuid) ? freezeRecord(draft as unknown as KeyRecord) : null;
}

/** Copies a record that is known to be well-formed, and freezes the copy to the bottom. */
export function freezeRecord(record: KeyRecord): KeyRecord {
  const copy = Object.freeze({
    keyId: record.keyId,
    name: record.name,
    digest: record.digest,
    seal: record.seal,
    entityUuid: record.entityUuid,
    accessibleEntities: Object.freeze([...record.accessibleEntities]),
    scopes: Object.freeze([...record.scopes]),
    justification: record.justification,
    metadata: freezeTable(record.metadata),
    createdAt: record.createdAt,
    expiresAt: record.expiresAt,
    revokedAt: record.revokedAt,
    retireAt: record.retireAt,
    rotatedFrom: record.rotatedFrom,
    lastUsedAt: record.lastUsedAt,
    scopesUsed: freezeTable(record.scopesUsed),
  });
  own.add(copy);
  return copy;
}

// ── The seal ──────────────────────────────────────────────────────────────────────────────────────────

type Sealed = string | number | null | readonly Sealed[];

// Prefix-free, so that no two contents share an encoding: each value begins with its type, texts and lists
// with their length; null, empty and absent differ.
function encode(value: Sealed): string {
  if (value === null) return 'n';
  if (typeof value === 'number') return `i${value};`;
  if (typeof value === 'string') return `s${value.length}:${value}`;
  return `l${value.length}:${value.map(encode).join('')}`;
}

/** The encoding of every field that never changes. Metadata is sorted: databases may reorder it. */
export function sealedText(record: KeyRecord): string {
  const metadata = Object.entries(record.metadata).sort(([a], [b]) => (a < b ? -1 : 1));
  return encode([
    'keyscope record v1',
    record.keyId,
    record.name,
    record.digest,
    record.entityUuid,
    record.accessibleEntities,
    record.scopes,
    record.justification,
    metadata,
    record.createdAt,
    record.expiresAt,
    record.rotatedFrom,
  ]);
}

// ── Making and showing ────────────────────────────────────────────────────────────────────────────────

/** What `issue` and `rotate` decide of a new key. */
export type RecordDraft = Pick<
  KeyRecord,
  | 'keyId'
  | 'name'
  | 'entityUuid'
  | 'accessibleEntities'
  | 'scopes'
  | 'justification'
  | 'metadata'
  | 'createdAt'
  | 'expiresAt'
  | 'rotatedFrom'
>;

/** Digests and seals a new key. */
export function sealRecord(draft: RecordDraft, key: string, scheme: Scheme): KeyRecord {
  const marks = { revokedAt: null, retireAt: null, lastUsedAt: null, scopesUsed: {} };
  const unsealed: KeyRecord = { ...draft, ...marks, digest: scheme.digest(key), seal: null };
  return freezeRecord({ ...unsealed, seal: scheme.seal(sealedText(unsealed)) });
}

/** The projection that callers see; nothing in it derives from the key. */
export function toKeyInfo(record: KeyRecord): KeyInfo {
  const { digest: _digest, seal: _seal, ...shown } = record;
  const date = (time: number | null) => (time === null ? null : new Date(time));
  const used = Object.entries(record.scopesUsed).map(([scope, time]) => [scope, new Date(time)]);
  return {
    ...shown,
    createdAt: new Date(record.createdAt),
    expiresAt: date(record.expiresAt),
    revokedAt: date(record.revokedAt),
    retireAt: date(record.retireAt),
    lastUsedAt: date(record.lastUsedAt),
    scopesUsed: Object.fromEntries(used),
  };
}

/**
 * What `issue` and `rotate` return. `key` is an accessor over a private field: printing, inspecting, spreading
 * and JSON-encoding the result show `info` alone.
 */
export class IssuedKey {
  readonly info: KeyInfo;
  readonly #key: string;

  constructor(key: string, info: KeyInfo) {
    this.#key = key;
    this.info = info;
    Object.freeze(this);
  }

  /** The plaintext: show it once; nothing can bring it back. */
  get key(): string {
    return this.#key;
  }
}

/** Reads `metadata` as `issue` takes it: at most 16 pairs and 2 KiB, keys and values together in UTF-8. */
export function readMetadata(value: unknown): Metadata {
  if (value === undefined) return freezeTable({});
  expect(isTable(value, isText), `metadata: pass an object of strings, not ${quote(value)}`);
  const pairs = Object.entries(value as Metadata);
  expect(pairs.length <= 16, `metadata: at most 16 pairs, not ${pairs.length}`);
  const texts = pairs.flat();
  // PostgreSQL text cannot hold NUL, and a seal covers only well-formed text.
  expect(
    texts.every((t) => isText(t) && !t.includes('\0')),
    'metadata: well-formed text without NUL',
  );
  const size = texts.reduce((sum, t) => sum + utf8(t).length, 0);
  expect(size <= 2048, `metadata: at most 2048 bytes, not ${size}`);
  return freezeTable(value as Metadata);
}
