/** The table of contents, by rank: each name comes after what it depends on. */

// biome-ignore-start assist/source/organizeImports: by rank, not by name
export { AccessError, type AccessErrorCode, type DenialReason } from './errors.js';
export { isAccessError, isStoreError, StoreError } from './errors.js';
export { isKey, type KeyParts, keyPattern, parseKey, redactKeys } from './key.js';
export { coversScopes, equalScopes, formatScopes, intersectScopes, normalizeScopes } from './scope.js';
export { parseScopes, unionScopes } from './scope.js';
export { type Authorization, parseAuthorization, type RequestLike } from './authorization.js';
export { type ChallengeOptions, type DenialResponse, toResponse } from './challenge.js';
export { digestBackend, digestKey, generateKey, type Pepper, type Peppers, type RandomBytes } from './secret.js';
export type { IssuedKey, KeyInfo, KeyRecord, Usage } from './record.js';
export { canAddress, hasScopes, type Principal, requireEntity, requireScopes } from './principal.js';
export { type Catalog, defineScopes, type PatternOf, type ScopeDefinition, type ScopeOf } from './catalog.js';
export type { Awaitable, Ending, KeyStore, ListPosition, ListQuery, SchemeSummary, UsageEntry } from './store.js';
export type { TokenVerifier } from './tokens.js';
export { type Admission, type AdmitInput, definePolicy, type Policy } from './policy.js';
export { type Me, toMe } from './me.js';
export type { Authority, Clock, EventListener, KeyringEvent, KeyringOptions } from './context.js';
export type { IssueInput } from './issue.js';
export type { RotateInput } from './rotate.js';
export type { Advice, AdviseInput, ListInput, ListPage, PepperUse } from './list.js';
export { createKeyring, type Keyring } from './keyring.js';
// biome-ignore-end assist/source/organizeImports: by rank, not by name
