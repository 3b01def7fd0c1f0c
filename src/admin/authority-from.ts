/** Turns a key that manages keys into an authority. */
import { AccessError } from '../core/errors.js';
import { type Principal, requirePrincipal } from '../core/principal.js';
import type { GrantAuthority } from '../management/authority.js';

/**
 * Returns the authority of a key that manages keys. The key can grant its own entities and scopes,
 * for no longer than it lives. `actor` is `key:<key id>`.
 *
 * Dangerous: anyone who has such a key can make other keys with all of its rights. Revoking it with
 * `revoke` does not end those. `revokeLineage` and a leak report end them all, because the
 * authority names the key (`keyId`). The key can also suspend and revoke every key of its entity,
 * even keys with more rights. So protect these operations with a reserved scope, and give
 * the key an expiry.
 *
 * Not checked: whether the key may manage keys, which your policy decides; whether the key has
 * ended since it was verified.
 *
 * @param principal The principal from `admit`.
 * @throws AccessError `invalid_token` for a token, which is narrow and lives for minutes, whereas
 *   a key made with it would live on.
 * @throws TypeError on an object that is not a principal.
 * @example
 * async function authorityOf(request: Request, operation: KeyAdminOperation) {
 *   const { principal } = await keyring.admit(request, { operation });
 *   return authorityFrom(principal);
 * }
 */
export function authorityFrom(principal: Principal): GrantAuthority {
  requirePrincipal(principal);
  const { keyId, entityId, accessibleEntities, scopes, expiresAt, via } = principal;
  if (via === 'jwt') throw new AccessError('invalid_token', 'token_refused', { keyId });
  const actor = `key:${keyId}`;
  const authority = { entityId, entities: accessibleEntities, scopes, actor, keyId };
  return expiresAt === null ? authority : { ...authority, notAfter: new Date(expiresAt) };
}
