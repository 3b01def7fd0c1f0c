/** Identifies the owner of a session. */
import type { Principal } from '../core/principal.js';

/**
 * Names the owner of the sessions that a caller starts: for a key the key id, and for a token also
 * its scopes and entities. A key's rights are fixed, but its tokens differ. Scopes have a colon and
 * ids have none, so this is unambiguous.
 */
export function sessionOwnerOf(principal: Principal): string {
  const { via, keyId, scopes, accessibleEntities } = principal;
  if (via === 'key') return keyId;
  const rights = [...scopes, ...accessibleEntities].sort();
  return [keyId, ...rights].join(' ');
}
