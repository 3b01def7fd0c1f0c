/** What callers see of a key: nothing in it derives from the key but the hint. */
import type { KeyRecord, KeyState } from '../core/record.js';
import { readTrust, type Trust } from '../core/trust.js';

/**
 * A key as callers see it: {@link KeyRecord} without `digest` and `seal`, times as fresh `Date`s,
 * and its state.
 */
export interface KeyInfo {
  /** What became of the key: whether it is live, and if not, why. */
  readonly state: KeyState;
  /**
   * The record is not what was sealed: somebody edited the row, or the end of a revoked key. Always
   * false where nothing vouches for a row: without a pepper, or without the one it was made under.
   */
  readonly tampered: boolean;
  /** The version of the record. */
  readonly format: number;
  /** Names the key: a UUID in lower case. */
  readonly keyId: string;
  /** What the key begins with, before the last `_`. */
  readonly prefix: string;
  /** The last four characters of the key: tells people which key it is. */
  readonly hint: string;
  /** What people call the key. */
  readonly name: string;
  /** The entity that the key belongs to. */
  readonly entityUuid: string;
  /** The entities that the key was made for; always contains `entityUuid`. */
  readonly accessibleEntities: readonly string[];
  /** Of these, the entities that cut themselves off since: the key cannot address them any more. */
  readonly withdrawn: readonly string[];
  /** Concrete, in the order of the catalog at the time. */
  readonly scopes: readonly string[];
  /** Why the key has reserved scopes; null if nobody said. */
  readonly justification: string | null;
  /** String pairs that belong to the integration; keyscope never interprets them. */
  readonly metadata: Readonly<Record<string, string>>;
  /** When the key was made. */
  readonly createdAt: Date;
  /** Who made it; null if nobody said. */
  readonly createdBy: string | null;
  /** When the key ends by itself; null for never. */
  readonly expiresAt: Date | null;
  /** When the key was revoked; null if it was not. */
  readonly revokedAt: Date | null;
  /** When the key was suspended; null if it is not. */
  readonly suspendedAt: Date | null;
  /** When a rotated key ends; null if it was not rotated. */
  readonly retireAt: Date | null;
  /** Who made the newest of suspension, retirement and revocation; null if nobody said. */
  readonly endedBy: string | null;
  /** Why; null if nobody said. */
  readonly endReason: string | null;
  /** When the newest mark was written; null if there was none. */
  readonly changedAt: Date | null;
  /** The key id of the predecessor; null if there is none. */
  readonly rotatedFrom: string | null;
  /** The key id of the first key of its rotations; its own if it is that one. */
  readonly rootKeyId: string;
  /** The `rootKeyId` of the key on whose authority this one was made; null if there was none. */
  readonly issuedUnder: string | null;
  /** Who may act as the key without its text; null for keys whose text was shown to somebody. */
  readonly trust: Trust | null;
  /** When the key was last used; null for never. */
  readonly lastUsedAt: Date | null;
  /** Scope → when it was last exercised. */
  readonly scopesUsed: Readonly<Record<string, Date>>;
}

/** A key whose record this release cannot read. It authenticates nobody, and can be revoked. */
export interface DamagedKey {
  /** `unknown_format`: a later release wrote it and reads it; do not clean it away. */
  readonly state: 'revoked' | 'unknown_format' | 'damaged';
  /** Names the key: a UUID in lower case. */
  readonly keyId: string;
  /** The entity that the key belongs to. */
  readonly entityUuid: string;
}

/** What callers see of a record. */
export function toKeyInfo(record: KeyRecord, state: KeyState, tampered: boolean): KeyInfo {
  const used = Object.entries(record.scopesUsed);
  const dated = used.map(([scope, time]): [string, Date] => [scope, new Date(time)]);
  return {
    state,
    tampered,
    format: record.format,
    keyId: record.keyId,
    prefix: record.prefix,
    hint: record.hint,
    name: record.name,
    entityUuid: record.entityUuid,
    accessibleEntities: record.accessibleEntities,
    withdrawn: record.withdrawn,
    scopes: record.scopes,
    justification: record.justification,
    metadata: record.metadata,
    createdAt: new Date(record.createdAt),
    createdBy: record.createdBy,
    expiresAt: dateOrNull(record.expiresAt),
    revokedAt: dateOrNull(record.revokedAt),
    suspendedAt: dateOrNull(record.suspendedAt),
    retireAt: dateOrNull(record.retireAt),
    endedBy: record.endedBy,
    endReason: record.endReason,
    changedAt: dateOrNull(record.changedAt),
    rotatedFrom: record.rotatedFrom,
    rootKeyId: record.rootKeyId,
    issuedUnder: record.issuedUnder,
    trust: readTrust(record.trust),
    lastUsedAt: dateOrNull(record.lastUsedAt),
    // `fromEntries` defines properties, so no name reaches a prototype.
    scopesUsed: Object.fromEntries(dated),
  };
}

function dateOrNull(time: number | null): Date | null {
  return time === null ? null : new Date(time);
}

/** What `issue` and `rotate` return. */
export interface IssuedKey {
  /** The plaintext: show it once, because it cannot be recovered. */
  readonly key: string;
  /** The part that may be shown at any time. */
  readonly info: KeyInfo;
}

const INSPECT = Symbol.for('nodejs.util.inspect.custom');

/**
 * `key` is an inherited accessor of a private field: printing, inspecting, spreading, cloning and
 * JSON-encoding the result show only `info`.
 */
class NewKey implements IssuedKey {
  readonly info: KeyInfo;
  readonly #key: string;

  constructor(key: string, record: KeyRecord) {
    this.info = toKeyInfo(record, 'live', false);
    this.#key = key;
    Object.freeze(this);
  }

  get key(): string {
    return this.#key;
  }

  /** Node's `inspect` may be told to call getters, but uses this function first. */
  [INSPECT](): object {
    return { info: this.info };
  }
}

/** A key that was made just now, and its record. */
export function createIssuedKey(key: string, record: KeyRecord): IssuedKey {
  return new NewKey(key, record);
}
