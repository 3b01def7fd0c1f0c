/** The table of contents, by rank: each name comes after what it depends on. */

// biome-ignore-start assist/source/organizeImports: by rank, not by name
export type { AccessErrorCode, DenialReason } from './core/errors.js';
export { AccessError, InputError, StoreError } from './core/errors.js';
export { causeOf, isAccessError, isInputError, isStoreError } from './core/errors.js';
export type { KeyParts } from './notation/keys.js';
export { digestKey, generateKey, isKey } from './notation/keys.js';
export { keyPattern, parseKey, redactKeys } from './notation/keys.js';
export { formatScopes, normalizeScopes, parseScopes } from './notation/scopes.js';
export { coversScopes, equalScopes, intersectScopes, unionScopes } from './notation/scopes.js';
export type { RequestLike } from './core/request.js';
export type { Authorization } from './core/authorization.js';
export { parseAuthorization } from './core/authorization.js';
export type { ChallengeOptions, DenialResponse } from './http/challenge.js';
export { toResponse } from './http/challenge.js';
export type { Pepper, Peppers, RandomBytes } from './core/secret.js';
export { digestBackend } from './core/secret.js';
export type { ErrorListener, EventContext, EventListener } from './core/events.js';
export type { KeyringEvent, ManagementAction } from './core/events.js';
export type { KeyRecord, KeyState, Usage } from './core/record.js';
export type { DamagedKey, IssuedKey, KeyInfo } from './management/info.js';
export type { Principal } from './core/principal.js';
export { canAddress, hasScopes, requireEntity, requireScopes } from './core/principal.js';
export type { Catalog, PatternOf, ScopeDefinition, ScopeOf } from './core/catalog.js';
export { defineScopes } from './core/catalog.js';
export type { Awaitable, CallOptions, KeyStore, UsageEntry } from './core/store.js';
export type { Mark, ResumeMark, RetireMark, RevokeMark } from './core/store.js';
export type { SuspendMark, WithdrawMark } from './core/store.js';
export type { LineageQuery, ListPosition, ListQuery } from './core/store.js';
export type { SchemeSummary, Slice, SliceQuery } from './core/store.js';
export type { ChangedKey, ChangedQuery, ExpiringQuery } from './core/store.js';
export type { LiveKey, TokenTools, TokenVerifier } from './core/tokens.js';
export type { Trust } from './core/trust.js';
export type { OperationOf, Policy } from './core/policy.js';
export { definePolicy } from './core/policy.js';
export type { Me } from './http/me.js';
export { toMe } from './http/me.js';
export type { Clock } from './core/outage.js';
export type { UsageOptions } from './core/usage.js';
export type { Authority, GrantAuthority } from './management/authority.js';
export type { KeyringOptions } from './core/context.js';
export type { AuthenticateOptions } from './core/authenticate.js';
export type { Admission, AdmitInput, Admitting, Authenticator } from './core/admit.js';
export type { Guard, GuardOptions, RouteGuardOptions } from './http/guard.js';
export { defineGuard } from './http/guard.js';
export type { IdentifyOptions } from './management/identify.js';
export type { IssueInput } from './management/issue.js';
export type { IssueKeylessInput, KeylessKey } from './management/keyless.js';
export type { RotateInput } from './management/rotate.js';
export type {
  AddressedKey,
  AddressingInput,
  ListInput,
  ListPage,
  OwnInput,
} from './management/list.js';
export type { Keyring } from './management/keyring.js';
export { createKeyring } from './management/create-keyring.js';
// biome-ignore-end assist/source/organizeImports: by rank, not by name
