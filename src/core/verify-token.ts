/** Verification of a short-lived token, which stands for a key. */
import type { Context } from './context.js';
import { answerInTime } from './outage.js';
import { createPrincipal, type Principal } from './principal.js';
import { isScope } from './scope.js';
import type { CallOptions } from './store.js';
import { isUuid } from './uuid.js';
import { earliest, refused, requireLive, requireRecord, verify } from './verify.js';

/**
 * Accepts a token only while the key behind it would authenticate, and for no more than that key
 * has: the token's scopes and entities are an upper bound on a principal made from the parent's
 * record. Without `checkParent`, the key is not looked up.
 *
 * The ids, entities and scopes of the claims are checked, the lists copied and frozen; a `*`, like
 * any other malformed one, is refused. Not checked: `name`, `metadata` and `expiresAt`, for which a
 * custom verifier is responsible.
 */
export async function verifyToken(
  context: Context,
  token: string,
  options?: CallOptions,
): Promise<Principal> {
  const { tokens, timeoutMs } = context;
  // `verify` refuses the token, because a key contains no dot.
  if (tokens === undefined) return verify(context, token);
  const verified = Promise.resolve(tokens.verify(token));
  const claims = readClaims(await answerInTime('tokens.verify', verified, timeoutMs));
  if (claims === null) return refused('token_refused');
  if (!context.checkParent) return createPrincipal(claims, 'jwt', context.knownScopes);
  const row = await context.store.findById(claims.keyId, options);
  // A token of a key with another prefix is another keyring's, as the key is.
  const isOurs = row?.prefix === context.format.prefix && row.entityUuid === claims.entityUuid;
  if (!isOurs) return refused('unknown_key');
  const parent = await requireLive(context, await requireRecord(row));
  const expiresAt = earliest(parent.expiresAt, claims.expiresAt);
  // Checked again: the look-up took time.
  if (expiresAt !== null && context.clock() >= expiresAt) return refused('expired');
  const narrowed = {
    ...parent,
    scopes: inBoth(parent.scopes, claims.scopes),
    accessibleEntities: inBoth(parent.accessibleEntities, claims.accessibleEntities),
    expiresAt,
  };
  return createPrincipal(narrowed, 'jwt', context.knownScopes);
}

/** Null if they are not what a verifier returns. */
function readClaims(verified: Principal): Principal | null {
  const scopes = frozenList(verified?.scopes);
  const accessibleEntities = frozenList(verified?.accessibleEntities);
  const claims = { ...verified, scopes, accessibleEntities };
  const ids = [claims.keyId, claims.entityUuid, ...accessibleEntities];
  return ids.every(isUuid) && scopes.every(isScope) ? claims : null;
}

function frozenList(list: readonly string[] | undefined): readonly string[] {
  return Object.freeze(Array.from(list ?? []));
}

function inBoth(held: readonly string[], claimed: readonly string[]): readonly string[] {
  const bound = new Set(claimed);
  return Object.freeze(held.filter((element) => bound.has(element)));
}
