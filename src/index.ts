/** The table of contents, by rank: what a name rests on stands above it. */

export type { Admission, AdmitInput } from './admit.js';
export type { Authority } from './authority.js';
export type { Authorization, RequestLike } from './authorization.js';
export { parseAuthorization } from './authorization.js';
export type { Catalog, PatternOf, ScopeDefinition, ScopeOf } from './catalog.js';
export { defineScopes } from './catalog.js';
export type { ChallengeOptions, DenialResponse } from './challenge.js';
export { toResponse } from './challenge.js';
export type { AccessErrorCode, DenialReason } from './errors.js';
export { AccessError, isAccessError, isStoreError, StoreError } from './errors.js';
export type { EventListener, KeyringEvent } from './events.js';
export type { IssueInput } from './issue.js';
export type { KeyParts } from './key.js';
export { isKey, keyPattern, parseKey, redactKeys } from './key.js';
export type { Keyring, KeyringOptions } from './keyring.js';
export { createKeyring } from './keyring.js';
export type { ListInput, ListPage } from './list.js';
export type { Me } from './me.js';
export { toMe } from './me.js';
export type { Clock } from './outage.js';
export type { Policy } from './policy.js';
export { definePolicy } from './policy.js';
export type { Principal } from './principal.js';
export { canAddress, hasScopes, requireEntity, requireScopes } from './principal.js';
export type { IssuedKey, KeyInfo, KeyRecord, Metadata } from './record.js';
export type { RotateInput } from './rotate.js';
export {
  coversScopes,
  equalScopes,
  formatScopes,
  intersectScopes,
  normalizeScopes,
  parseScopes,
  unionScopes,
} from './scope.js';
export type { Pepper, Peppers, RandomBytes } from './secret.js';
export { digestBackend, digestKey, generateKey } from './secret.js';
export type {
  Awaitable,
  Ending,
  KeyStore,
  ListPosition,
  SchemeSummary,
  UsageEntry,
} from './store.js';
export type { TokenVerifier } from './tokens.js';
