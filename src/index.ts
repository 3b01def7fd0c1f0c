/** The table of contents, by rank: each name comes after what it depends on. */

// biome-ignore-start assist/source/organizeImports: by rank, not by name
export type { AccessErrorCode, DenialReason } from './core/errors.js';
export { AccessError, isAccessError, isStoreError, StoreError } from './core/errors.js';
export type { KeyParts } from './core/key.js';
export { isKey, keyPattern, parseKey, redactKeys } from './core/key.js';
export { formatScopes, normalizeScopes, parseScopes } from './core/scope.js';
export { coversScopes, equalScopes, intersectScopes, unionScopes } from './core/scope.js';
export type { RequestLike } from './core/request.js';
export type { Authorization } from './core/authorization.js';
export { parseAuthorization } from './core/authorization.js';
export type { ChallengeOptions, DenialResponse } from './core/challenge.js';
export { toResponse } from './core/challenge.js';
export type { Pepper, Peppers, RandomBytes } from './core/secret.js';
export { digestBackend, digestKey, generateKey } from './core/secret.js';
export type { EventListener, KeyringEvent } from './core/events.js';
export type { KeyRecord, Usage } from './core/record.js';
export type { IssuedKey, KeyInfo } from './core/info.js';
export type { Principal } from './core/principal.js';
export { canAddress, hasScopes, requireEntity, requireScopes } from './core/principal.js';
export type { Catalog, PatternOf, ScopeDefinition, ScopeOf } from './core/catalog.js';
export { defineScopes } from './core/catalog.js';
export type { Awaitable, Ending, KeyStore, ListPosition, ListQuery } from './core/store.js';
export type { SchemeSummary, UsageEntry } from './core/store.js';
export type { TokenVerifier } from './core/tokens.js';
export type { Policy } from './core/policy.js';
export { definePolicy } from './core/policy.js';
export type { Me } from './core/me.js';
export { toMe } from './core/me.js';
export type { Clock } from './core/outage.js';
export type { Authority } from './core/authority.js';
export type { KeyringOptions } from './core/context.js';
export type { Admission, AdmitInput, Authenticator } from './core/admit.js';
export type { IssueInput } from './core/issue.js';
export type { RotateInput } from './core/rotate.js';
export type { ListInput, ListPage } from './core/list.js';
export type { Advice, AdviseInput } from './core/advise.js';
export type { PepperUse } from './core/reports.js';
export type { Keyring } from './core/keyring.js';
export { createKeyring } from './core/keyring.js';
// biome-ignore-end assist/source/organizeImports: by rank, not by name
