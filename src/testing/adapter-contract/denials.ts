/** The errors that an adapter answers with `toResponse`. */
import { ANY_ID } from '../../core/entity.js';
import { AccessError, StoreError } from '../../core/errors.js';

/** The request has no credential. */
export const MISSING: AccessError = new AccessError('missing_credentials', 'no_header');

/** The credential is malformed. */
export const MALFORMED: AccessError = new AccessError('invalid_request', 'malformed_header');

/** The addressed entity is not a UUID, where entities have UUIDs. */
export const MALFORMED_ENTITY: AccessError = new AccessError('invalid_request', 'malformed_entity');

/** The addressed entity is not an id of any kind. */
export const MALFORMED_ID: AccessError = new AccessError('invalid_request', 'malformed_entity', {
  detail: ANY_ID.sentence,
});

/** The request addresses several entities. */
export const REPEATED_ENTITY: AccessError = new AccessError('invalid_request', 'repeated_entity');

/** The key is refused, for any reason. */
export const INVALID: AccessError = new AccessError('invalid_token', 'unknown_key');

/** The key lacks the scope of `readReports`. */
export const UNDER_SCOPED: AccessError = new AccessError('insufficient_scope', 'scope_missing', {
  requiredScopes: ['reports:read'],
});

/** The key cannot address the entity. */
export const NOT_ACCESSIBLE: AccessError = new AccessError(
  'entity_forbidden',
  'entity_not_accessible',
);

/** The store is broken, so the keyring cannot check the key. */
export const OUTAGE: StoreError = new StoreError('the store is broken');
