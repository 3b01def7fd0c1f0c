/**
 * Verification of a key: a pure read. The order of the steps is guaranteed and tested: garbage
 * costs no hash and no look-up, and nothing about a key's state or rights is revealed before it is
 * authenticated.
 */
import type { Context } from './context.js';
import { AccessError, type DenialReason, StoreError } from './errors.js';
import { createPrincipal, type Principal } from './principal.js';
import type { KeyRecord, KeyState } from './record.js';
import { addressableBy, isLaterFormat, memoize, readRecord } from './record.js';
import { isSealed } from './seal.js';
import type { Scheme } from './secret.js';

/**
 * Runs all steps for whatever a caller sent as a key. Returns or throws synchronously if the store
 * does. `fresh`: not from a cache.
 */
export function verify(
  context: Context,
  key: unknown,
  fresh?: boolean,
  // 1. Length and shape. 2. Checksum. No secret is involved, so these may answer early.
  fault: DenialReason | null = context.format.faultIn(key),
): Principal | Promise<Principal> {
  if (fault !== null) throw invalidToken(fault);
  // 3. Digests. 4. Look-up. A synchronous store costs no turn of the event loop.
  const digests = digestsOf(context, key as string);
  const answer = context.store.findByDigest(digests, { fresh });
  const finish = (rows: readonly unknown[]) => requireLive(context, requireMatch(rows, digests));
  return answer instanceof Promise ? answer.then(finish) : finish(answer as readonly unknown[]);
}

/** One digest for each scheme under which a key could be stored. */
export function digestsOf(context: Context, key: string): readonly string[] {
  return context.acceptedSchemes().map((scheme) => scheme.digest(key));
}

/** Steps 5 and 6. */
function requireMatch(rows: readonly unknown[], digests: readonly string[]): KeyRecord {
  const row = matchIn(rows, digests);
  if (row === null) throw invalidToken('unknown_key');
  return requireRecord(row);
}

/**
 * Step 5. Exactly one match; null if there is none. Compared here again, because a broken store may
 * return another key's row.
 */
export function matchIn(rows: readonly unknown[], digests: readonly string[]): KeyRecord | null {
  if (rows.length > 1) {
    throw new StoreError('store.findByDigest returned more than one record for a key');
  }
  if (rows.length === 0) return null;
  const row = rows[0] as KeyRecord;
  // Plain equality will do; `secret.ts` says why.
  return digests.includes(row.digest) ? row : null;
}

/** Step 6. The format is known; a malformed row is refused like a broken seal. */
export function requireRecord(row: unknown): KeyRecord {
  const record = readRecord(row);
  if (record !== null) return record;
  const { keyId } = row as Partial<KeyRecord>;
  throw invalidToken(isLaterFormat(row) ? 'unknown_format' : 'record_tampered', keyId);
}

/** Steps 7 to 12, also for a record that was found by its id. */
export function requireLive(context: Context, record: KeyRecord): Principal {
  const state = stateOf(context, record);
  if (state === 'damaged') throw invalidToken('record_tampered', record.keyId);
  if (state !== 'live') throw invalidToken(state, record.keyId);
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

/** The scheme of a key; undefined if its pepper was removed, or never configured. */
export function schemeOf(context: Context, { digest }: KeyRecord): Scheme | undefined {
  return context.acceptedSchemes().find(({ tag }) => digest.startsWith(tag));
}

/** What is true of a frozen record for as long as the object lives. */
interface Checked {
  readonly isSealed: boolean;
  /** For a record that is sealed and live. */
  readonly principal: Principal;
}

function checked(context: Context, record: KeyRecord): Checked {
  return memoize(record, context, () => {
    const scheme = schemeOf(context, record);
    const endsAt = earliest(record.expiresAt, record.retireAt);
    const accessibleEntities = addressableBy(record);
    const fields = { ...record, accessibleEntities, expiresAt: endsAt };
    return {
      isSealed: scheme !== undefined && isSealed(record, scheme),
      principal: createPrincipal(fields, 'key', context.knownScopes),
    };
  });
}

/** One code for every reason: status, headers and body of the response are the same bytes. */
export function invalidToken(reason: DenialReason, keyId?: string): AccessError {
  return new AccessError('invalid_token', reason, { keyId });
}

/** The earlier of two times; null means never. */
export function earliest(first: number | null, second: number | null): number | null {
  if (first === null) return second;
  if (second === null) return first;
  return Math.min(first, second);
}
