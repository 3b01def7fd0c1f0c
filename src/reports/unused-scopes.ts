/** Finds the scopes that an integration does not use. */
import { assert, assertFunction, isObject, readFields, readInteger } from '../core/input.js';
import { type Clock, readClock, systemClock } from '../core/outage.js';
import type { KeyInfo } from '../management/info.js';

/** The options of {@link unusedScopes}. */
export interface UnusedScopesOptions {
  /** How long a scope must be unused to be listed, in milliseconds; at least 1. */
  readonly unusedForMs: number;
  /** Milliseconds since the epoch. Default: `Date.now`. */
  readonly now?: Clock | undefined;
}

/** No usage was recorded in that time: the key may be unused, or its usage could not be written. */
export interface UnknownUsage {
  readonly known: false;
}

/** The key was used in that time. */
export interface KnownUsage {
  readonly known: true;
  /** The granted scopes that were not used, in the key's order. */
  readonly scopes: readonly string[];
}

/**
 * Returns the scopes that a key has not used for some time, which you could drop with `rotate`. The
 * result is unknown unless usage of the key was recorded within that time: missing usage does not
 * prove that a key is unused.
 *
 * A pure function: it queries no store and sees only the usage in `info`. A scope that was never
 * used counts as unused since the key's creation, so new keys have no unused scopes.
 *
 * Not checked: whether usage was recorded during all of that time; the keyring's `onError` reports
 * failures. A scope that is needed once a year looks unused for most of the year.
 *
 * @param info A key, as `list`, `get`, `identify`, `issue` or `rotate` returns it.
 * @param options `unusedForMs`: milliseconds. `now`: the keyring's clock.
 * @returns `{ known: false }`, or `{ known: true, scopes }`.
 * @throws TypeError on anything else, such as a `DamagedKey`, whose scopes cannot be read.
 * @throws StoreError if the clock is broken.
 * @example
 * const info = await keyring.get(keyId, { entityId });
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
  const { now = systemClock } = options;
  assertFunction(now, 'now');
  assert(isReadable(info), 'unusedScopes: pass a KeyInfo with Dates; a damaged key has none');
  const since = readClock(now) - unusedForMs;
  const { scopes, scopesUsed, createdAt, lastUsedAt } = info;
  if (lastUsedAt === null || lastUsedAt.getTime() <= since) return Object.freeze({ known: false });
  const lastUse = (scope: string): Date => scopesUsed[scope] ?? createdAt;
  const unused = scopes.filter((scope) => lastUse(scope).getTime() <= since);
  return Object.freeze({ known: true, scopes: Object.freeze(unused) });
}

/** Checks that the times are `Date`s: parsed JSON and damaged keys have none. */
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
