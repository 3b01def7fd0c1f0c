/** `keyscope/reports`: reports for operators. They only read, and never decide who gets access. */
export type { ExpiringKey, ExpiringKeysOptions, UnreadableKey } from './expiring-keys.js';
export { expiringKeys } from './expiring-keys.js';
export type { PepperReportOptions, PepperUse } from './pepper-report.js';
export { pepperReport } from './pepper-report.js';
export type { KnownUsage, UnknownUsage, UnusedScopesOptions } from './unused-scopes.js';
export { unusedScopes } from './unused-scopes.js';
