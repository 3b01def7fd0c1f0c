/** The authority of a key that manages keys. */
import { AccessError } from '../core/errors.js';
import { assertFunction, readFields } from '../core/input.js';
import { type Clock, readClock } from '../core/outage.js';
import { type Principal, requirePrincipal } from '../core/principal.js';
import type { GrantAuthority } from '../management/authority.js';

/** For tests. */
export interface AuthorityFromOptions {
  /** Milliseconds since the epoch. Default: `Date.now`. */
  readonly now?: Clock | undefined;
}

/**
 * The authority of a service whose keys manage keys: what a key may hand out is what it has itself,
 * its entities and its scopes, for no longer than it lives. `actor` is `key:<key id>`.
 *
 * Dangerous: anyone who holds such a key can make others with all of its rights, and `revoke` of it
 * ends none of them. `revokeLineage` ends them all, because the authority names the key
 * (`keyId`); so does a leak report. The key also rotates, suspends and revokes every key of its
 * entity, those with more rights included. So let a reserved scope of its own decide who may, and
 * give the key an expiry.
 *
 * Not checked: whether the key may manage keys, which your policy decides; whether it has ended
 * since it was verified.
 *
 * @param principal What `admit` returned.
 * @throws AccessError `invalid_token` for a token: it was narrowed to do one thing for a quarter of
 *   an hour, and a key would outlive that. Also for a key that has expired meanwhile.
 * @throws TypeError on an object that is not a principal.
 * @throws StoreError if the clock is broken.
 * @example
 * async function authorityOf(request: Request, operation: KeyAdminOperation) {
 *   const { principal } = await keyring.admit(request, { policy, operation });
 *   return authorityFrom(principal);
 * }
 */
export function authorityFrom(
  principal: Principal,
  options: AuthorityFromOptions = {},
): GrantAuthority {
  readFields(options, ['now'], 'authorityFrom');
  const { now = Date.now } = options;
  assertFunction(now, 'now');
  requirePrincipal(principal);
  const { keyId, entityUuid, accessibleEntities, scopes, expiresAt, via } = principal;
  if (via === 'jwt') throw new AccessError('invalid_token', 'token_refused', { keyId });
  const actor = `key:${keyId}`;
  const authority = { entityUuid, entities: accessibleEntities, scopes, actor, keyId };
  if (expiresAt === null) return authority;
  const maxLifetimeMs = expiresAt - readClock(now);
  if (maxLifetimeMs < 1) throw new AccessError('invalid_token', 'expired', { keyId });
  return { ...authority, maxLifetimeMs };
}
