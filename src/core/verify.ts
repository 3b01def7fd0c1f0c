/**
 * Verifies a key: a pure read. The order of the steps is guaranteed and tested. Garbage costs no
 * hash and no look-up, and nothing about a key's state or rights is revealed before it is
 * authenticated.
 *
 * A refusal of the key is never thrown: it is returned as something that rejects (`thenable.ts`).
 * Only a `StoreError` is thrown, when a synchronous store or the clock is broken.
 */
import type { Context } from './context.js';
import { AccessError, type DenialReason, StoreError } from './errors.js';
import { createPrincipal, type Principal } from './principal.js';
import type { KeyRecord, KeyState } from './record.js';
import { addressableBy, FrozenRecord, isLaterFormat, readRecord } from './record.js';
import { isSealed } from './seal.js';
import type { Scheme } from './secret.js';
import type { Awaitable, CallOptions } from './store.js';
import { isThenable, rejecting } from './thenable.js';
import { earliest } from './times.js';

/**
 * Runs all steps for any value that a caller sent as a key. Returns synchronously if the store
 * does.
 */
export function verify(
  context: Context,
  key: unknown,
  options?: CallOptions,
): Awaitable<Principal> {
  // 1. Length and shape. 2. Checksum. No secret is involved, so these may answer early.
  const fault = context.format.faultIn(key);
  if (fault !== null) return refused(fault);
  return verifyChecked(context, key as string, options);
}

/** Steps 3 to 12, for a text that passed the first two. */
export function verifyChecked(
  context: Context,
  key: string,
  options?: CallOptions,
): Awaitable<Principal> {
  // 3. Digests. 4. Look-up. With a synchronous store, this does not yield to the event loop.
  const digests = digestsOf(context, key);
  const answer = context.store.findByDigest(digests, options);
  if (!(answer instanceof Promise)) return readMatch(context, answer as Rows, digests);
  return answer.then((rows: Rows) => readMatch(context, rows, digests));
}

type Rows = readonly unknown[];

/** Returns one digest for each scheme under which the key could be stored. */
export function digestsOf(context: Context, key: string): readonly string[] {
  return context.schemes.map((scheme) => scheme.digest(key));
}

/** Steps 5 to 12. */
function readMatch(
  context: Context,
  rows: Rows,
  digests: readonly string[],
): Principal | PromiseLike<never> {
  const row = matchIn(rows, digests);
  if (row === null) return refused('unknown_key');
  const record = requireRecord(row);
  if (isThenable(record)) return record;
  const isKeyless = record.trust !== null && stateOf(context, record) === 'live';
  return isKeyless ? refused('keyless', record.keyId) : requireLive(context, record);
}

/**
 * Step 5. Returns the only match, or null. The digest is compared here again, because a broken
 * store may return another key's row.
 */
export function matchIn(rows: Rows, digests: readonly string[]): KeyRecord | null {
  if (rows.length > 1) {
    throw new StoreError('store.findByDigest returned more than one record for a key');
  }
  if (rows.length === 0) return null;
  const row = rows[0] as KeyRecord;
  // Plain equality is enough; `secret.ts` says why.
  return digests.includes(row.digest) ? row : null;
}

/** Step 6. Requires a known format; refuses a malformed row like a broken seal. */
export function requireRecord(row: unknown): KeyRecord | PromiseLike<never> {
  const record = readRecord(row);
  if (record !== null) return record;
  const { keyId } = row as Partial<KeyRecord>;
  return refused(isLaterFormat(row) ? 'unknown_format' : 'record_tampered', keyId);
}

/** Steps 7 to 12, also for a record that was found by its id. */
export function requireLive(context: Context, record: KeyRecord): Principal | PromiseLike<never> {
  const state = stateOf(context, record);
  if (state === 'damaged') return refused('record_tampered', record.keyId);
  if (state !== 'live') return refused(state, record.keyId);
  // 12. Principal.
  return checked(context, record).principal;
}

/** Steps 7 to 11. */
export function stateOf(context: Context, record: KeyRecord): KeyState {
  const { prefix, revokedAt, suspendedAt, retireAt, expiresAt } = record;
  // 7. Revoked: only the presence of the mark counts, so that no clock can revive a key.
  if (revokedAt !== null) return 'revoked';
  // 8. Seal, by the scheme of the digest; without a pepper, no seal vouches for the prefix.
  if (schemeOf(context, record) === undefined) return 'orphaned';
  if (prefix !== context.format.prefix || !checked(context, record).isSealed) return 'damaged';
  // 9. Suspended, 10. retired, 11. expired: valid only while now < deadline.
  if (suspendedAt !== null) return 'suspended';
  const now = context.clock();
  if (retireAt !== null && now >= retireAt) return 'retired';
  if (expiresAt !== null && now >= expiresAt) return 'expired';
  return 'live';
}

/** Returns the scheme of a key; undefined if its pepper was removed, or never configured. */
export function schemeOf(context: Context, { digest }: KeyRecord): Scheme | undefined {
  return context.schemes.find(({ tag }) => digest.startsWith(tag));
}

/** Facts about a frozen record. They stay true for the lifetime of the object. */
interface Checked {
  /** The keyring that computed them. */
  readonly by: Context;
  readonly isSealed: boolean;
  /** For a record that is sealed and live. */
  readonly principal: Principal;
}

/** Computed once for a record, unless several keyrings alternate on it. */
function checked(context: Context, record: KeyRecord): Checked {
  const known = FrozenRecord.recall<Checked>(record);
  return known?.by === context ? known : FrozenRecord.remember(record, check(context, record));
}

function check(context: Context, record: KeyRecord): Checked {
  const scheme = schemeOf(context, record);
  const endsAt = earliest(record.expiresAt, record.retireAt);
  const fields = { ...record, accessibleEntities: addressableBy(record), expiresAt: endsAt };
  return {
    by: context,
    isSealed: scheme !== undefined && isSealed(record, scheme),
    principal: createPrincipal(fields, 'key', context),
  };
}

/**
 * Refuses a credential with one code for every reason: the status, headers and body of the response
 * are the same bytes.
 */
export function refused(reason: DenialReason, keyId?: string): PromiseLike<never> {
  return rejecting(new AccessError('invalid_token', reason, { keyId }));
}
