/** The catalog and the policy as one table, for references and for pages of your own. */
import type { Catalog } from '../../core/catalog.js';
import { assert, hasMethods, readFields } from '../../core/input.js';
import type { Policy } from '../../core/policy.js';

/** A scope of the catalog. */
export interface ScopeEntry {
  /** `threats:read` */
  readonly scope: string;
  /** The sentence of the catalog. */
  readonly description: string;
  /** Whether it must be named individually and justified. */
  readonly reserved: boolean;
  /** The operations that need it, in the order of the policy; perhaps none. */
  readonly operations: readonly string[];
}

/** An operation of the policy. */
export interface OperationEntry {
  /** `listThreats` */
  readonly operation: string;
  /** All scopes that it needs, in catalog order. Empty: any valid key will do. */
  readonly scopes: readonly string[];
}

/** Scopes in catalog order, operations in the order of the policy. */
export interface ScopeTable {
  /** Every scope of the catalog. */
  readonly scopes: readonly ScopeEntry[];
  /** Every operation of the policy. */
  readonly operations: readonly OperationEntry[];
}

/** What a reference is made of. */
export interface ScopeReferenceInput {
  /** What `defineScopes` returned. */
  readonly catalog: Catalog;
  /** What `definePolicy` returned for that catalog. */
  readonly policy: Policy;
}

/**
 * Returns which operations need each scope, and which scopes each operation needs: the data of
 * `scopeReference`. The same catalog and policy give the same table.
 *
 * Not checked: whether a route or tool exists for each operation.
 *
 * @throws TypeError if the policy needs a scope that the catalog does not have, on an unknown
 *   field, or on anything but a catalog and a policy.
 * @example
 * const { scopes } = scopeTable({ catalog, policy });
 * const unneeded = scopes.filter(({ operations }) => operations.length === 0);
 */
export function scopeTable(input: ScopeReferenceInput): ScopeTable {
  const given = readFields(input, ['catalog', 'policy'], 'scopeTable');
  const { catalog, policy } = readCatalogAndPolicy(given, 'scopeTable');
  const operations = policy.operations.map((operation) => ({
    operation,
    scopes: catalog.expand(policy.requires(operation)),
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

function readCatalogAndPolicy(
  { catalog, policy }: { readonly catalog?: unknown; readonly policy?: unknown },
  what: string,
): ScopeReferenceInput {
  assert(hasMethods(catalog, 'describe', 'expand', 'isReserved'), `${what}: pass the catalog`);
  assert(hasMethods(policy, 'requires'), `${what}: pass the policy`);
  return { catalog: catalog as Catalog, policy: policy as Policy };
}
