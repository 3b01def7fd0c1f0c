/** The policy and its catalog as one table, for references and custom pages. */
import { assert, hasMethods, readFields } from '../../core/input.js';
import type { Policy } from '../../core/policy.js';

/** A scope of the catalog. */
export interface ScopeEntry {
  /** `threats:read` */
  readonly scope: string;
  /** Its description in the catalog. */
  readonly description: string;
  /** Whether a key gets it only by name and with a justification. */
  readonly reserved: boolean;
  /** The operations that need it, in the order of the policy. May be empty. */
  readonly operations: readonly string[];
}

/** An operation of the policy. */
export interface OperationEntry {
  /** `listThreats` */
  readonly operation: string;
  /** All scopes that it needs, in catalog order. If empty, any valid key may call it. */
  readonly scopes: readonly string[];
}

/** Scopes in catalog order, operations in the order of the policy. */
export interface ScopeTable {
  /** Every scope of the catalog. */
  readonly scopes: readonly ScopeEntry[];
  /** Every operation of the policy. */
  readonly operations: readonly OperationEntry[];
}

/** The input of `scopeTable` and `scopeReference`. */
export interface ScopeReferenceInput {
  /** The policy that `definePolicy` returned. */
  readonly policy: Policy;
}

/**
 * Returns the operations that need each scope and the scopes that each operation needs. The same
 * policy gives the same table. `scopeReference` writes it as Markdown.
 *
 * Not checked: whether a route or tool exists for each operation.
 *
 * @throws TypeError if a field is unknown or `policy` is invalid.
 * @example
 * const { scopes } = scopeTable({ policy });
 * const unneeded = scopes.filter(({ operations }) => operations.length === 0);
 */
export function scopeTable(input: ScopeReferenceInput): ScopeTable {
  const policy = readPolicy(readFields(input, ['policy'], 'scopeTable').policy, 'scopeTable');
  const { catalog } = policy;
  const operations = policy.operations.map((operation) => ({
    operation,
    scopes: policy.requires(operation),
  }));
  const scopes = catalog.all.map((scope) => ({
    scope,
    description: catalog.describe(scope),
    reserved: catalog.isReserved(scope),
    operations: operations
      .filter((entry) => entry.scopes.includes(scope))
      .map(({ operation }) => operation),
  }));
  return { scopes, operations };
}

/** Throws a `TypeError` unless `policy` looks like a result of `definePolicy`. */
export function readPolicy(policy: unknown, what: string): Policy {
  const isPolicy = hasMethods(policy, 'requires', 'unmapped');
  assert(isPolicy, `${what}: policy: pass the policy that definePolicy returned`);
  return policy as Policy;
}
