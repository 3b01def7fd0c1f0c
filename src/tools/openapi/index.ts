/**
 * `keyscope/openapi`: documents the security of a service from its policy, in OpenAPI
 * and as a reference. It does not authorize requests.
 */
export type { ConflictingOperation, DiffOptions, OperationDiff } from './diff-operations.js';
export { diffOperations } from './diff-operations.js';
export type { DocumentOperation, OperationOf } from './document.js';
export { scopeReference } from './scope-reference.js';
export type { OperationEntry, ScopeEntry, ScopeReferenceInput, ScopeTable } from './scope-table.js';
export { scopeTable } from './scope-table.js';
export type { SecureDocumentOptions } from './secure-document.js';
export { secureDocument } from './secure-document.js';
