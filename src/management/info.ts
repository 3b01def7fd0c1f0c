/** The public view of a key. Only the hint derives from the key's text. */
import type { KeyRecord, KeyState } from '../core/record.js';
import { readTrust, type Trust } from '../core/trust.js';

/**
 * A key as callers see it: a {@link KeyRecord} without `digest` and `seal`, with fresh `Date`s for
 * times, and with its state.
 */
export interface KeyInfo {
  /** Whether the key is live, and if not, why. */
  readonly state: KeyState;
  /**
   * Whether the record differs from the sealed one: the row, or the end of a revoked key, was
   * edited. Always false if nothing vouches for the row: without a pepper, or without the pepper
   * that the key was made under.
   */
  readonly tampered: boolean;
  /** The version of the record. */
  readonly format: number;
  /** The id of the key: a UUID in lower case. */
  readonly keyId: string;
  /** The beginning of the key, before the last `_`. */
  readonly prefix: string;
  /** The last four characters of the key, which help people recognise it. */
  readonly hint: string;
  /** The key's name, for people. */
  readonly name: string;
  /** The entity that the key belongs to. */
  readonly entityId: string;
  /** The entities that the key was made for. Always contains `entityId`. */
  readonly accessibleEntities: readonly string[];
  /** Those of them that have withdrawn since: the key can no longer address them. */
  readonly withdrawn: readonly string[];
  /** Concrete scopes, in the order of the catalog when the key was made. */
  readonly scopes: readonly string[];
  /** Why the key has reserved scopes; null if not given. */
  readonly justification: string | null;
  /** String pairs that belong to the integration; keyscope never interprets them. */
  readonly metadata: Readonly<Record<string, string>>;
  /** When the key was made. */
  readonly createdAt: Date;
  /** Who made it; null if not given. */
  readonly createdBy: string | null;
  /** When the key expires; null for never. */
  readonly expiresAt: Date | null;
  /** When the key was revoked; null if it was not. */
  readonly revokedAt: Date | null;
  /** When the key was suspended; null if it is not. */
  readonly suspendedAt: Date | null;
  /** When a rotated key ends; null if it was not rotated. */
  readonly retireAt: Date | null;
  /** Who made the newest suspension, retirement or revocation; null if not given. */
  readonly endedBy: string | null;
  /** Why; null if not given. */
  readonly endReason: string | null;
  /** When the newest mark was written; null without one. */
  readonly changedAt: Date | null;
  /** The key id of the predecessor; null without one. */
  readonly rotatedFrom: string | null;
  /** The key id of the first key in its chain of rotations; its own id if it is the first. */
  readonly rootKeyId: string;
  /** The `rootKeyId` of the key that issued this one; null if no key did. */
  readonly issuedUnder: string | null;
  /**
   * The identities that may act as the key without its text; null for keys whose text was handed
   * out.
   */
  readonly trust: Trust | null;
  /** When the key was last used; null for never. */
  readonly lastUsedAt: Date | null;
  /** Scope → when it was last used. */
  readonly scopesUsed: Readonly<Record<string, Date>>;
}

/** A key whose record this release cannot read. It authenticates nobody. You can revoke it. */
export interface DamagedKey {
  /** `unknown_format`: a later release wrote the record and can read it. Do not delete it. */
  readonly state: 'revoked' | 'unknown_format' | 'damaged';
  /** The id of the key: a UUID in lower case. */
  readonly keyId: string;
  /** The entity that the key belongs to. */
  readonly entityId: string;
}

/** Makes the public view of a record. */
export function toKeyInfo(record: KeyRecord, state: KeyState, tampered: boolean): KeyInfo {
  const used = Object.entries(record.scopesUsed);
  const dated = used.map(([scope, time]): [string, Date] => [scope, new Date(time)]);
  // Field by field: leaving out two of so many makes an object that is slow.
  return {
    state,
    tampered,
    format: record.format,
    keyId: record.keyId,
    prefix: record.prefix,
    hint: record.hint,
    name: record.name,
    entityId: record.entityId,
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
    trust: frozenTrust(record),
    lastUsedAt: dateOrNull(record.lastUsedAt),
    // `fromEntries` defines properties, so no name reaches a prototype.
    scopesUsed: Object.fromEntries(dated),
  };
}

/** Returns the trust of a record, deep-frozen. */
export function frozenTrust({ trust }: KeyRecord): Trust | null {
  return trust === null ? null : readTrust(trust, (_, value) => Object.freeze(value));
}

export function dateOrNull(time: number | null): Date | null {
  return time === null ? null : new Date(time);
}

/** A new key, as `issue` and `rotate` return it. */
export interface IssuedKey {
  /** The plaintext. Show it once: nobody can recover it later. */
  readonly key: string;
  /** The rest of the key, which you can show at any time. */
  readonly info: KeyInfo;
}

const INSPECT = Symbol.for('nodejs.util.inspect.custom');

/**
 * Keeps `key` out of logs: it is an inherited accessor of a private field, so printing, inspecting,
 * spreading, cloning and JSON-encoding the result show only `info`.
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

  /** Node's `inspect` uses this function first, even with options that make it call getters. */
  [INSPECT](): object {
    return { info: this.info };
  }
}

/** Combines a new key with the public view of its record. */
export function createIssuedKey(key: string, record: KeyRecord): IssuedKey {
  return new NewKey(key, record);
}
