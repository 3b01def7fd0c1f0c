/** Says which scopes an integration could do without. */
import { assert, assertFunction, isObject, readFields, readInteger } from '../../core/input.js';
import { type Clock, readClock } from '../../core/outage.js';
import type { KeyInfo } from '../info.js';

/** When a scope counts as unused. */
export interface UnusedScopesOptions {
  /** A scope is named if it was not exercised for this long, in milliseconds; at least 1. */
  readonly unusedForMs: number;
  /** Milliseconds since the epoch. Default: `Date.now`. */
  readonly now?: Clock | undefined;
}

/** No use of the key was recorded in that time: it may be unused, or nobody could write its use. */
export interface UnknownUsage {
  readonly known: false;
}

/** The key was used in that time. */
export interface KnownUsage {
  readonly known: true;
  /** The granted scopes that were not exercised, in the order of the key's. */
  readonly scopes: readonly string[];
}

/**
 * Returns the scopes of a key that were not exercised for some time: those that `rotate` could
 * leave out. Only a key whose use was recorded within that time has an answer, because missing
 * usage is unknown and not unused.
 *
 * A pure function: it asks no store, so it knows the usage that `info` shows. A scope that was
 * never exercised counts from the key's creation: nothing is said against a new key.
 *
 * Not checked: whether usage was recorded all that time; `onError` of the keyring tells when it was
 * not. A scope that is needed once a year looks unused for most of it.
 *
 * @param info What `list`, `get`, `identify`, `issue` or `rotate` shows of a key.
 * @param options `unusedForMs`: milliseconds. `now`: the keyring's clock.
 * @returns `{ known: false }`, or `{ known: true, scopes }`.
 * @throws TypeError on anything else, such as a `DamagedKey`, whose scopes nobody can read.
 * @throws StoreError if the clock is broken.
 * @example
 * const info = await keyring.get(keyId, { entityUuid });
 * if (info !== null && 'scopes' in info) {
 *   const unused = unusedScopes(info, { unusedForMs: 90 * 86_400_000 });
 *   if (unused.known) suggestRotation(keyId, unused.scopes);
 * }
 */
export function unusedScopes(
  info: KeyInfo,
  options: UnusedScopesOptions,
): UnknownUsage | KnownUsage {
  const given = readFields(options, ['unusedForMs', 'now'], 'unusedScopes');
  const unusedForMs = readInteger(given.unusedForMs, 1, Number.MAX_SAFE_INTEGER, 'unusedForMs');
  const { now = Date.now } = options;
  assertFunction(now, 'now');
  assert(isReadable(info), 'unusedScopes: pass a KeyInfo with its Dates; a damaged key has none');
  const since = readClock(now) - unusedForMs;
  const { scopes, scopesUsed, createdAt, lastUsedAt } = info;
  if (lastUsedAt === null || lastUsedAt.getTime() <= since) return Object.freeze({ known: false });
  const lastUse = (scope: string): Date => scopesUsed[scope] ?? createdAt;
  const unused = scopes.filter((scope) => lastUse(scope).getTime() <= since);
  return Object.freeze({ known: true, scopes: Object.freeze(unused) });
}

/** Whether the times are there: JSON has none, and a damaged key neither. */
function isReadable(info: unknown): boolean {
  if (!isObject(info)) return false;
  const { scopes, scopesUsed, createdAt, lastUsedAt } = info as Partial<KeyInfo>;
  if (!Array.isArray(scopes) || !isObject(scopesUsed)) return false;
  const times = [createdAt, ...Object.values(scopesUsed)];
  return times.every(isDate) && (lastUsedAt === null || isDate(lastUsedAt));
}

function isDate(value: unknown): boolean {
  return value instanceof Date && !Number.isNaN(value.getTime());
}
