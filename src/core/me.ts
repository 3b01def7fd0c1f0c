/** `GET /me`: what a key can access. */
import { assert } from './input.js';
import type { Principal } from './principal.js';
import { isUuid } from './uuid.js';

/** The body of `GET /me`: exactly these fields, in this order. */
export type Me = Readonly<ReturnType<typeof toMe>>;

/**
 * Returns the body of `GET /me` for a principal. It is an allow-list: a field that a later version
 * adds to `Principal` stays out. No scope is required; for a narrowed token it shows what the token
 * has.
 *
 * Not checked: whether a keyring made the principal.
 *
 * @throws TypeError if `principal.keyId` is not a UUID: then it cannot be a principal.
 * @example
 * response.json(toMe(principal));
 */
export function toMe(principal: Principal) {
  assert(
    isUuid(principal?.keyId),
    'toMe: pass the principal that verify, authenticate or admit returned',
  );
  const { entityUuid, keyId, scopes, accessibleEntities } = principal;
  return {
    entity_uuid: entityUuid,
    key_id: keyId,
    scopes,
    accessible_entities: accessibleEntities,
  };
}
