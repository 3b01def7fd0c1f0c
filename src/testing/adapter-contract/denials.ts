/** The errors that an adapter answers as `toResponse` says. */
import { AccessError, StoreError } from '../../core/errors.js';

/** No credential at all. */
export const MISSING: AccessError = new AccessError('missing_credentials', 'no_header');

/** A malformed credential. */
export const MALFORMED: AccessError = new AccessError('invalid_request', 'malformed_header');

/** A value that is not an entity. */
export const MALFORMED_ENTITY: AccessError = new AccessError('invalid_request', 'malformed_entity');

/** Several entities at once. */
export const REPEATED_ENTITY: AccessError = new AccessError('invalid_request', 'repeated_entity');

/** A key that is refused, whatever the reason. */
export const INVALID: AccessError = new AccessError('invalid_token', 'unknown_key');

/** A key without the scope of `readReports`. */
export const UNDER_SCOPED: AccessError = new AccessError('insufficient_scope', 'scope_missing', {
  requiredScopes: ['reports:read'],
});

/** A key that cannot address the entity. */
export const NOT_ACCESSIBLE: AccessError = new AccessError(
  'entity_forbidden',
  'entity_not_accessible',
);

/** Nobody can say who is calling. */
export const OUTAGE: StoreError = new StoreError('the store is broken');
