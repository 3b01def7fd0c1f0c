/** Verifies a short-lived token, which stands for a key. */
import type { Context } from './context.js';
import { isEntityId } from './entity.js';
import { answerInTime } from './outage.js';
import { createPrincipal, type Principal } from './principal.js';
import { isScope } from './scope.js';
import type { CallOptions } from './store.js';
import { earliest } from './times.js';
import type { LiveKey, TokenTools } from './tokens.js';
import { readTrust } from './trust.js';
import { isUuid } from './uuid.js';
import { refused, requireLive, requireRecord, verify } from './verify.js';

/**
 * Accepts a token only while the key behind it would authenticate, and never grants more than that
 * key. The principal comes from the parent's record, and the token's scopes and entities limit it
 * further. Without `checkParent`, the key behind a `'jwt'` is not looked up.
 *
 * Checks the ids, entities and scopes of the claims, and copies and freezes the lists. A scope with
 * a `*` is refused like any other malformed one. Not checked: `name`, `metadata` and `expiresAt`,
 * for which a custom verifier is responsible.
 */
export async function verifyToken(
  context: Context,
  token: string,
  options?: CallOptions,
): Promise<Principal> {
  const { verifiers, timeoutMs } = context;
  // `verify` refuses the token, because a key contains no dot.
  if (verifiers === null) return verify(context, token);
  const verifier = verifiers.choose(token);
  if (verifier === undefined) return refused('token_refused');
  const findLive = createFinder(context, options);
  const verified = Promise.resolve(verifier.verify(token, { findLive }));
  const claims = readClaims(await answerInTime('tokens.verify', verified, timeoutMs));
  if (claims === null) return refused('token_refused');
  // Whatever a verifier says, a token is not a key.
  const via = claims.via === 'keyless' ? 'keyless' : 'jwt';
  if (via === 'jwt' && !context.checkParent) {
    return createPrincipal(claims, via, context);
  }
  const parent = await findLive(claims.keyId);
  if (parent.entityId !== claims.entityId) return refused('unknown_key');
  const expiresAt = earliest(parent.expiresAt, claims.expiresAt);
  // Checked again: the look-up took time.
  if (expiresAt !== null && context.clock() >= expiresAt) return refused('expired');
  const narrowed = {
    ...parent,
    scopes: inBoth(parent.scopes, claims.scopes),
    accessibleEntities: inBoth(parent.accessibleEntities, claims.accessibleEntities),
    expiresAt,
  };
  return createPrincipal(narrowed, via, context);
}

/** Looks up each key only once, so that the keyring admits the row that the verifier judged. */
function createFinder(context: Context, options?: CallOptions): TokenTools['findLive'] {
  const found = new Map<string, Promise<LiveKey>>();
  return (keyId) => {
    const known = found.get(keyId) ?? findLive(context, keyId, options);
    found.set(keyId, known);
    return known;
  };
}

async function findLive(context: Context, keyId: string, options?: CallOptions): Promise<LiveKey> {
  const row = isUuid(keyId) ? await context.store.findById(keyId, options) : null;
  // A key with another prefix belongs to another keyring, and so do its tokens.
  if (row?.prefix !== context.format.prefix) return refused('unknown_key');
  const record = await requireRecord(row);
  const { via: _via, ...shown } = await requireLive(context, record);
  const { trust, changedAt } = record;
  return Object.freeze({ ...shown, trust: readTrust(trust), changedAt });
}

/** Reads the result of a verifier; returns null if it is malformed. */
function readClaims(verified: Principal): Principal | null {
  const scopes = frozenList(verified?.scopes);
  const accessibleEntities = frozenList(verified?.accessibleEntities);
  const claims = { ...verified, scopes, accessibleEntities };
  const entities = [claims.entityId, ...accessibleEntities];
  const isSound = isUuid(claims.keyId) && entities.every(isEntityId) && scopes.every(isScope);
  return isSound ? claims : null;
}

function frozenList(list: readonly string[] | undefined): readonly string[] {
  return Object.freeze(Array.from(list ?? []));
}

function inBoth(held: readonly string[], claimed: readonly string[]): readonly string[] {
  const bound = new Set(claimed);
  return Object.freeze(held.filter((element) => bound.has(element)));
}
