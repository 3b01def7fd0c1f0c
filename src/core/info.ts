/** What callers see of a key: nothing in it derives from the key. */
import type { KeyRecord } from './record.js';

/**
 * A key as callers see it: {@link KeyRecord} without `digest` and `seal`, times as fresh `Date`s.
 */
export interface KeyInfo {
  /** Names the key: a UUID in lower case. */
  readonly keyId: string;
  /** What people call the key. */
  readonly name: string;
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
  readonly createdAt: Date;
  /** When the key ends by itself; null for never. */
  readonly expiresAt: Date | null;
  /** When the key was revoked; null if it was not. */
  readonly revokedAt: Date | null;
  /** When a rotated key ends; null if it was not rotated. */
  readonly retireAt: Date | null;
  /** The key id of the predecessor; null if there is none. */
  readonly rotatedFrom: string | null;
  /** When the key was last used; null for never. */
  readonly lastUsedAt: Date | null;
  /** Scope → when it was last exercised. */
  readonly scopesUsed: Readonly<Record<string, Date>>;
}

/** What callers see of a record. */
export function toKeyInfo(record: KeyRecord): KeyInfo {
  const { digest: _digest, seal: _seal, ...shown } = record;
  const used = Object.entries(record.scopesUsed);
  const dated = used.map(([scope, time]): [string, Date] => [scope, new Date(time)]);
  return {
    ...shown,
    createdAt: new Date(record.createdAt),
    expiresAt: dateOrNull(record.expiresAt),
    revokedAt: dateOrNull(record.revokedAt),
    retireAt: dateOrNull(record.retireAt),
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

/**
 * `key` is an inherited accessor: printing, inspecting, spreading, cloning and JSON-encoding the
 * result show only `info`.
 */
export function createIssuedKey(key: string, record: KeyRecord): IssuedKey {
  const shown = { info: toKeyInfo(record) };
  const hidden = Object.defineProperties(
    {},
    {
      key: { get: () => key },
      // Node's `inspect` may be told to call getters, but uses this function first.
      [Symbol.for('nodejs.util.inspect.custom')]: { value: () => shown },
    },
  );
  const issued = Object.create(hidden) as object;
  return Object.freeze(Object.assign(issued, shown)) as IssuedKey;
}
