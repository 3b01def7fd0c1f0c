/** `GET /me`: what a key can access. */
import { assert } from '../core/input.js';
import type { Principal } from '../core/principal.js';
import { isUuid } from '../core/uuid.js';

/** The body of `GET /me`: exactly these fields, in this order. */
export interface Me {
  /** The entity that the key belongs to. */
  readonly entity_uuid: string;
  /** The id of the key; for a token, of the key behind it. */
  readonly key_id: string;
  /** The scopes as granted, in catalog order. */
  readonly scopes: readonly string[];
  /** The entities that the key can address. Always contains `entity_uuid`. */
  readonly accessible_entities: readonly string[];
}

/**
 * Returns the body of `GET /me` for a principal. It is an allow-list: fields that a later version
 * adds to `Principal` stay out. It requires no scope. For a narrowed token, it shows the token's
 * scopes and entities.
 *
 * Not checked: whether a keyring made the principal.
 *
 * @throws TypeError if `principal.keyId` is not a UUID, because it then cannot be a principal.
 * @example
 * response.json(toMe(principal));
 */
export function toMe(principal: Principal): Me {
  const instead = 'toMe: pass the principal that verify, authenticate or admit returned';
  assert(isUuid(principal?.keyId), instead);
  return {
    entity_uuid: principal.entityId,
    key_id: principal.keyId,
    scopes: principal.scopes,
    accessible_entities: principal.accessibleEntities,
  };
}
