/** The operations and scopes of one keyring, or of several that serve one process. */
import { assert, hasMethods, quote } from '../../core/input.js';
import type { Policy } from '../../core/policy.js';

/** A keyring that was made with a policy. Only its policy matters here. */
export interface Guarding {
  readonly policy: Policy;
}

/** What the policies of all keyrings say together. */
export interface Guarded {
  /** The scopes that each operation needs. */
  readonly operations: ReadonlyMap<string, readonly string[]>;
  /** Every scope, and whether it is reserved. */
  readonly scopes: ReadonlyMap<string, boolean>;
}

/** Joins the policies of keyrings. Throws a `TypeError` if a name has two meanings. */
export function joinPolicies(given: Guarding | readonly Guarding[], what: string): Guarded {
  const operations = new Map<string, readonly string[]>();
  const scopes = new Map<string, boolean>();
  const keyrings: readonly unknown[] = Array.isArray(given) ? given : [given];
  const instead = `${what}: keyring: pass one that was made with a policy, or a list of them`;
  assert(keyrings.length > 0, instead);
  for (const keyring of keyrings) {
    const { policy } = Object(keyring) as Guarding;
    assert(hasMethods(policy, 'requires', 'unmapped'), instead);
    for (const name of policy.operations) {
      add(operations, name, [...policy.requires(name)].sort(), what);
    }
    const { catalog } = policy;
    for (const name of catalog.all) add(scopes, name, catalog.isReserved(name), what);
  }
  return { operations, scopes };
}

function add<T>(table: Map<string, T>, name: string, meaning: T, what: string): void {
  const other = table.get(name);
  const isSame = other === undefined || String(other) === String(meaning);
  assert(isSame, `${what}: ${quote(name)} has two meanings in two keyrings. Rename one of them`);
  table.set(name, meaning);
}
