/**
 * `keyscope/admin`: endpoints that manage keys, as one handler of fetch requests, and their
 * description for OpenAPI. Mount them in a service that authenticates the caller.
 */
export type { AuthorityReader } from './ask-authority.js';
export { authorityFrom } from './authority-from.js';
export type { AdminKeyring, KeyAdminOperation } from './endpoints.js';
export type { KeyAdmin, KeyAdminInput } from './key-admin.js';
export { createKeyAdmin } from './key-admin.js';
export type { KeyAdminOptions } from './key-admin-options.js';
export type { KeyAdminOpenApi, KeyAdminOpenApiOptions } from './openapi.js';
export { keyAdminOpenApi } from './openapi.js';
