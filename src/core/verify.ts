/**
 * Verification: a pure read. The order of the steps is guaranteed and tested: garbage costs no hash
 * and no look-up, and nothing about a key's state or rights is revealed before it is authenticated.
 * Tokens, which stand for a key, come last.
 */
import { equalText } from './bytes.js';
import { type Context, findOwn } from './context.js';
import { AccessError, type DenialReason, StoreError } from './errors.js';
import { raise } from './input.js';
import { createPrincipal, type Principal } from './principal.js';
import { type KeyRecord, memoize, readRow, sealedText } from './record.js';
import { isScope } from './scope.js';
import { isUuid } from './uuid.js';

// One code for every reason: status, headers and body of the response are the same bytes.
const refuse = (reason: DenialReason, keyId?: string) =>
  new AccessError('invalid_token', reason, { keyId });

/**
 * All steps, for whatever a caller sent as a key: answers or throws synchronously if the store
 * does.
 */
export function verify(context: Context, key: unknown): Principal | Promise<Principal> {
  // 1. Length and shape. 2. Checksum. No secret is involved, so these may answer early.
  const garbage = context.format.refuse(key);
  if (garbage !== null) throw refuse(garbage);
  // 3. Digests: one per scheme under which a key could be stored.
  const digests = context.accepted().map((scheme) => scheme.digest(key as string));
  // 4. One look-up with all of them. A synchronous store costs no turn of the event loop.
  const rows = context.store.findByDigest(digests);
  const found = (all: readonly unknown[]) => requireLive(context, match(all, digests));
  return Array.isArray(rows) ? found(rows) : (rows as Promise<readonly unknown[]>).then(found);
}

/**
 * Step 5. Exactly one match, compared here although the store has compared: it may return another
 * key's row.
 */
function match(rows: readonly unknown[], digests: readonly string[]): KeyRecord {
  if (rows.length > 1)
    throw new StoreError('store.findByDigest returned more than one record for a key');
  const record = rows.length === 1 ? readRow(rows[0]) : raise(refuse('unknown_key'));
  return digests.some((digest) => equalText(record.digest, digest))
    ? record
    : raise(refuse('unknown_key'));
}

/** Steps 6 to 10, from the seal on; also for a record that was found by its id. */
export function requireLive(context: Context, record: KeyRecord): Principal {
  const { keyId, digest, revokedAt, retireAt, expiresAt } = record;
  // 6. Seal. A pepper that was removed leaves no scheme: its keys are unknown.
  const scheme =
    context.accepted().find(({ tag }) => digest.startsWith(tag)) ??
    raise(refuse('unknown_key', keyId));
  // A frozen record cannot change, so its seal stays valid and its principal the same for as long
  // as the object lives.
  const principal = memoize(record, context, () => {
    const genuine = equalText(scheme.seal(sealedText(record)) ?? '', record.seal ?? '');
    if (!genuine) throw refuse('record_tampered', record.keyId);
    return createPrincipal(
      { ...record, expiresAt: earliest(record.expiresAt, record.retireAt) },
      'key',
      context.known,
    );
  });
  // 7. Revoked: by presence, so that no clock can bring a key back.
  if (revokedAt !== null) throw refuse('revoked', keyId);
  // 8. Retired, 9. expired: valid only while now < deadline.
  const now = context.clock();
  if (retireAt !== null && now >= retireAt) throw refuse('retired', keyId);
  if (expiresAt !== null && now >= expiresAt) throw refuse('expired', keyId);
  // 10. Principal.
  return principal;
}

/** The earlier of two times; `null` means never. */
const earliest = (a: number | null, b: number | null) =>
  a === null || b === null ? (a ?? b) : Math.min(a, b);

/**
 * Accepts a token only while the key behind it would authenticate, and for no more than that key
 * has: the token's scopes and entities are an upper bound on a principal made from the parent's
 * record. Without `checkParent`, the key is not looked up.
 *
 * The ids, entities and scopes of the claims are checked, the lists copied and frozen; a `*`, like
 * any other malformed one, is refused. Not checked: `name`, `metadata` and `expiresAt`, for which a
 * custom verifier is responsible.
 */
export async function verifyToken(context: Context, token: string): Promise<Principal> {
  if (context.tokens === undefined) return verify(context, token); // It refuses the token: a key contains no dot.
  const claims = await context.tokens.verify(token);
  const scopes = Object.freeze(Array.from(claims?.scopes ?? []));
  const accessibleEntities = Object.freeze(Array.from(claims?.accessibleEntities ?? []));
  const claimed = { ...claims, scopes, accessibleEntities };
  const uuids = [claimed.keyId, claimed.entityUuid, ...accessibleEntities];
  if (!uuids.every(isUuid) || !scopes.every(isScope)) throw refuse('token_refused');
  if (!context.checkParent) return createPrincipal(claimed, 'jwt', context.known);
  const row = await findOwn(context, claimed, claimed.keyId);
  const parent = requireLive(context, readRow(row ?? raise(refuse('unknown_key'))));
  // One set for both: no scope is a UUID.
  const bound = new Set([...scopes, ...accessibleEntities]);
  const narrow = (held: readonly string[]) => Object.freeze(held.filter((each) => bound.has(each)));
  const narrowed = {
    scopes: narrow(parent.scopes),
    accessibleEntities: narrow(parent.accessibleEntities),
  };
  const expiresAt = earliest(parent.expiresAt, claimed.expiresAt);
  // Checked again: the look-up took time.
  if (expiresAt !== null && context.clock() >= expiresAt) throw refuse('expired');
  return createPrincipal({ ...parent, ...narrowed, expiresAt }, 'jwt', context.known);
}
