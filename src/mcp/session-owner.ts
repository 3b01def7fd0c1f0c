/** Names the owner of a session. */
import type { Principal } from '../core/principal.js';

/**
 * Names the owner of a caller's sessions. Because a session can replay earlier results, the name
 * includes all rights that can differ between callers of one key: for a key the other entities,
 * which can withdraw, for a token its scopes and entities. This is unambiguous, because neither
 * contains a comma or a space.
 */
export function sessionOwnerOf(principal: Principal): string {
  const { via, keyId, entityId, scopes, accessibleEntities } = principal;
  const others = accessibleEntities.filter((entity) => entity !== entityId);
  if (via === 'key') return [keyId, ...others.sort()].join(' ');
  const rights = [scopes, accessibleEntities].map((names) => [...names].sort().join(' '));
  return [keyId, via, ...rights].join();
}
