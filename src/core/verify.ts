/**
 * Verification of a key: a pure read. The order of the steps is guaranteed and tested: garbage
 * costs no hash and no look-up, and nothing about a key's state or rights is revealed before it is
 * authenticated.
 */
import { equalText } from './bytes.js';
import type { Context } from './context.js';
import { AccessError, type DenialReason, StoreError } from './errors.js';
import { createPrincipal, type Principal } from './principal.js';
import { type KeyRecord, memoize, readRecord } from './record.js';
import { sealedText } from './seal.js';
import type { Scheme } from './secret.js';

/**
 * Runs all steps for whatever a caller sent as a key. Returns or throws synchronously if the store
 * does.
 */
export function verify(context: Context, key: unknown): Principal | Promise<Principal> {
  // 1. Length and shape. 2. Checksum. No secret is involved, so these may answer early.
  const fault = context.format.faultIn(key);
  if (fault !== null) throw invalidToken(fault);
  // 3. Digests: one per scheme under which a key could be stored.
  const digests = context.acceptedSchemes().map((scheme) => scheme.digest(key as string));
  // 4. One look-up with all of them. A synchronous store costs no turn of the event loop.
  const answer = context.store.findByDigest(digests);
  const finish = (rows: readonly unknown[]) => requireLive(context, requireMatch(rows, digests));
  return answer instanceof Promise ? answer.then(finish) : finish(answer as readonly unknown[]);
}

/**
 * Step 5. Exactly one match. Compared here again, because a broken store may return another key's
 * row.
 */
function requireMatch(rows: readonly unknown[], digests: readonly string[]): KeyRecord {
  if (rows.length > 1) {
    throw new StoreError('store.findByDigest returned more than one record for a key');
  }
  if (rows.length === 0) throw invalidToken('unknown_key');
  const record = requireRecord(rows[0]);
  const isMatch = digests.some((digest) => equalText(record.digest, digest));
  if (!isMatch) throw invalidToken('unknown_key');
  return record;
}

/** Reads the row of a key to be verified: a malformed one is refused like a broken seal. */
export function requireRecord(row: unknown): KeyRecord {
  const record = readRecord(row);
  if (record !== null) return record;
  const { keyId } = row as Partial<KeyRecord>;
  throw invalidToken('record_tampered', keyId);
}

/** Steps 6 to 10, from the seal on; also for a record that was found by its id. */
export function requireLive(context: Context, record: KeyRecord): Principal {
  const { keyId, digest, revokedAt, retireAt, expiresAt } = record;
  // 6. Seal. The scheme of a removed pepper does not exist any more: its keys are unknown.
  const scheme = context.acceptedSchemes().find(({ tag }) => digest.startsWith(tag));
  if (scheme === undefined) throw invalidToken('unknown_key', keyId);
  // A frozen record cannot change, so its seal stays valid and its principal the same for as long
  // as the object lives.
  const principal = memoize(record, context, () => {
    if (!isSealed(record, scheme)) throw invalidToken('record_tampered', keyId);
    const endsAt = earliest(expiresAt, retireAt);
    return createPrincipal({ ...record, expiresAt: endsAt }, 'key', context.knownScopes);
  });
  // 7. Revoked: only the presence of the mark counts, so that no clock can revive a key.
  if (revokedAt !== null) throw invalidToken('revoked', keyId);
  // 8. Retired, 9. expired: valid only while now < deadline.
  const now = context.clock();
  if (retireAt !== null && now >= retireAt) throw invalidToken('retired', keyId);
  if (expiresAt !== null && now >= expiresAt) throw invalidToken('expired', keyId);
  // 10. Principal.
  return principal;
}

/** One code for every reason: status, headers and body of the response are the same bytes. */
export function invalidToken(reason: DenialReason, keyId?: string): AccessError {
  return new AccessError('invalid_token', reason, { keyId });
}

function isSealed(record: KeyRecord, scheme: Scheme): boolean {
  const seal = scheme.seal(sealedText(record));
  if (seal === null || record.seal === null) return seal === record.seal;
  return equalText(seal, record.seal);
}

/** The earlier of two times; null means never. */
export function earliest(first: number | null, second: number | null): number | null {
  if (first === null) return second;
  if (second === null) return first;
  return Math.min(first, second);
}
