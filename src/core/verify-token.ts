/** Verification of a short-lived token, which stands for a key. */
import type { Context } from './context.js';
import { answerInTime } from './outage.js';
import { createPrincipal, type Principal } from './principal.js';
import { isScope } from './scope.js';
import { isUuid } from './uuid.js';
import { earliest, invalidToken, requireLive, requireRecord, verify } from './verify.js';

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
  fresh?: boolean,
): Promise<Principal> {
  const { tokens, timeoutMs } = context;
  // `verify` refuses the token, because a key contains no dot.
  if (tokens === undefined) return verify(context, token);
  const verified = Promise.resolve(tokens.verify(token));
  const claims = readClaims(await answerInTime('tokens.verify', verified, timeoutMs));
  if (!context.checkParent) return createPrincipal(claims, 'jwt', context.knownScopes);
  const parent = await findParent(context, claims, fresh);
  const expiresAt = earliest(parent.expiresAt, claims.expiresAt);
  // Checked again: the look-up took time.
  if (expiresAt !== null && context.clock() >= expiresAt) throw invalidToken('expired');
  const narrowed = {
    ...parent,
    scopes: inBoth(parent.scopes, claims.scopes),
    accessibleEntities: inBoth(parent.accessibleEntities, claims.accessibleEntities),
    expiresAt,
  };
  return createPrincipal(narrowed, 'jwt', context.knownScopes);
}

function readClaims(verified: Principal): Principal {
  const scopes = frozenList(verified?.scopes);
  const accessibleEntities = frozenList(verified?.accessibleEntities);
  const claims = { ...verified, scopes, accessibleEntities };
  const ids = [claims.keyId, claims.entityUuid, ...accessibleEntities];
  const isSound = ids.every(isUuid) && scopes.every(isScope);
  if (!isSound) throw invalidToken('token_refused');
  return claims;
}

function frozenList(list: readonly string[] | undefined): readonly string[] {
  return Object.freeze(Array.from(list ?? []));
}

/** The key that the token was exchanged for; another entity's key is none. */
async function findParent(
  context: Context,
  claims: Principal,
  fresh: boolean | undefined,
): Promise<Principal> {
  const row = await context.store.findById(claims.keyId, { fresh });
  // A token of a key with another prefix is another keyring's, as the key is.
  const isOurs = row?.prefix === context.format.prefix && row.entityUuid === claims.entityUuid;
  if (!isOurs) throw invalidToken('unknown_key');
  return requireLive(context, requireRecord(row));
}

function inBoth(held: readonly string[], claimed: readonly string[]): readonly string[] {
  const bound = new Set(claimed);
  return Object.freeze(held.filter((element) => bound.has(element)));
}
