/** The table of contents, by rank: each name comes after what it depends on. */

// biome-ignore-start assist/source/organizeImports: by rank, not by name
export { AccessError, type AccessErrorCode, type DenialReason } from './core/errors.js';
export { isAccessError, isStoreError, StoreError } from './core/errors.js';
export { isKey, type KeyParts, keyPattern, parseKey, redactKeys } from './core/key.js';
export {
  coversScopes,
  equalScopes,
  formatScopes,
  intersectScopes,
  normalizeScopes,
} from './core/scope.js';
export { parseScopes, unionScopes } from './core/scope.js';
export { type Authorization, parseAuthorization } from './core/authorization.js';
export type { RequestLike } from './core/request.js';
export { type ChallengeOptions, type DenialResponse, toResponse } from './core/challenge.js';
export {
  digestBackend,
  digestKey,
  generateKey,
  type Pepper,
  type Peppers,
  type RandomBytes,
} from './core/secret.js';
export type { IssuedKey, KeyInfo, KeyRecord, Usage } from './core/record.js';
export {
  canAddress,
  hasScopes,
  type Principal,
  requireEntity,
  requireScopes,
} from './core/principal.js';
export {
  type Catalog,
  defineScopes,
  type PatternOf,
  type ScopeDefinition,
  type ScopeOf,
} from './core/catalog.js';
export type {
  Awaitable,
  Ending,
  KeyStore,
  ListPosition,
  ListQuery,
  SchemeSummary,
  UsageEntry,
} from './core/store.js';
export type { TokenVerifier } from './core/tokens.js';
export type { Admission, AdmitInput } from './core/admit.js';
export { definePolicy, type Policy } from './core/policy.js';
export { type Me, toMe } from './core/me.js';
export type { Authority, EventListener, KeyringEvent, KeyringOptions } from './core/context.js';
export type { Clock } from './core/outage.js';
export type { IssueInput } from './core/issue.js';
export type { RotateInput } from './core/rotate.js';
export type { Advice, AdviseInput, ListInput, ListPage, PepperUse } from './core/list.js';
export { createKeyring, type Keyring } from './core/keyring.js';
// biome-ignore-end assist/source/organizeImports: by rank, not by name
