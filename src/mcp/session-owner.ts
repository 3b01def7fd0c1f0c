/** Identifies the owner of a session. */
import type { Principal } from '../core/principal.js';

/**
 * Names the owner of the sessions that a caller starts, with all that can differ between callers of
 * one key: a session can replay its earlier results. For a key that is the entities besides its
 * own, which can withdraw from it; for a token, its scopes and entities. Scopes have a colon, ids
 * and `jwt` have none, so this is unambiguous.
 */
export function sessionOwnerOf(principal: Principal): string {
  const { via, keyId, entityUuid, scopes, accessibleEntities } = principal;
  const others = accessibleEntities.filter((entity) => entity !== entityUuid);
  if (via === 'key') return [keyId, ...others.sort()].join(' ');
  const rights = [...scopes, ...accessibleEntities].sort();
  return [keyId, via, ...rights].join(' ');
}
