/** The catalog and the policy as one table, for references and custom pages. */
import type { Catalog } from '../../core/catalog.js';
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
  /** The catalog that `defineScopes` returned. */
  readonly catalog: Catalog;
  /** The policy that `definePolicy` returned for this catalog. */
  readonly policy: Policy;
}

/**
 * Returns the operations that need each scope and the scopes that each operation needs. The same
 * catalog and policy give the same table. `scopeReference` writes it as Markdown.
 *
 * Not checked: whether a route or tool exists for each operation.
 *
 * @throws TypeError if the policy needs a scope that the catalog lacks, a field is unknown, or
 *   `catalog` or `policy` is invalid.
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
  const isCatalog = hasMethods(catalog, 'describe', 'expand', 'isReserved');
  assert(isCatalog, `${what}: catalog: pass the catalog that defineScopes returned`);
  const isPolicy = hasMethods(policy, 'requires');
  assert(isPolicy, `${what}: policy: pass the policy that definePolicy returned`);
  return { catalog: catalog as Catalog, policy: policy as Policy };
}
