/** Compares each operation of a document with the policy. */
import { assert, assertFunction, isObject, readStrings } from '../../core/input.js';
import type { Policy } from '../../core/policy.js';
import type {
  DocumentOperation,
  FoundOperation,
  Json,
  OperationOf,
  WrittenDocument,
  WrittenOperation,
} from './document.js';
import { objectAt, operationsIn } from './document.js';
import { readPolicy } from './scope-table.js';

/**
 * The result of comparing an operation.
 *
 * - `secured`: in the policy, and its `security` matches.
 * - `unsecured`: in the policy, but without its own `security`.
 * - `conflicting`: in the policy, but its `security` differs.
 * - `open`: not in the policy; its own `security` lets anybody call it.
 * - `otherScheme`: not in the policy; its own `security` names other schemes.
 * - `unmapped`: not in the policy, and the document does not say who may call it.
 */
export type Kind = 'secured' | 'unsecured' | 'conflicting' | 'open' | 'otherScheme' | 'unmapped';

/** An operation of the document, and its name in the policy, if any. */
export interface Compared extends FoundOperation {
  readonly kind: Kind;
  readonly operation: string | undefined;
}

/** All operations of a document, and the operations that only the policy has. */
export interface Comparison {
  readonly compared: readonly Compared[];
  readonly missing: readonly string[];
}

/** The validated input of a comparison. */
export interface ComparisonInput {
  readonly policy: Policy;
  readonly schemeName: string;
  readonly operationOf: OperationOf;
  readonly elsewhere: readonly string[];
}

const NAME_OF_COMPONENT = /^[A-Za-z0-9._-]+$/;

function operationIdOf({ operationId }: DocumentOperation): string | undefined {
  return operationId;
}

/** Reads the options that `secureDocument` and `diffOperations` share. */
export function readComparisonInput(
  given: { readonly [F in keyof ComparisonInput]?: unknown },
  what: string,
): ComparisonInput {
  const { policy, schemeName = 'bearerAuth', operationOf = operationIdOf, elsewhere = [] } = given;
  const table = readPolicy(policy, what);
  const isName = typeof schemeName === 'string' && NAME_OF_COMPONENT.test(schemeName);
  assert(isName, `${what}: schemeName: use letters, digits, ".", "_" and "-"`, schemeName);
  assertFunction(operationOf, `${what}: operationOf`);
  const names = readStrings(elsewhere, `${what}: elsewhere`);
  // Throws on a name that the policy lacks.
  for (const name of names) table.requires(name);
  return { policy: table, schemeName, operationOf: operationOf as OperationOf, elsewhere: names };
}

/** Compares a document with the policy without changing it. */
export function compare(
  document: WrittenDocument,
  input: ComparisonInput,
  what: string,
): Comparison {
  const { policy, elsewhere } = input;
  const schemes = objectAt(objectAt(document, 'components', what), 'securitySchemes', what);
  const compared = operationsIn(document, what).map((found) => compareOne(found, input, schemes));
  const present = new Set(compared.map(({ operation }) => operation));
  const stale = elsewhere.find((name) => present.has(name));
  const instead = `${what}: elsewhere: the document contains ${stale}. Remove it from elsewhere`;
  assert(stale === undefined, instead);
  const missing = policy.operations.filter(
    (name) => !present.has(name) && !elsewhere.includes(name),
  );
  return { compared, missing };
}

function compareOne(found: FoundOperation, input: ComparisonInput, schemes: Json): Compared {
  const { policy, schemeName, operationOf } = input;
  const name: unknown = operationOf(found.place, found.written);
  const isMapped = typeof name === 'string' && policy.unmapped([name]).length === 0;
  if (!isMapped) {
    const kind = kindOfUnmapped(found.written, schemeName, schemes);
    return { ...found, kind, operation: undefined };
  }
  const kind = kindOfMapped(found.written, schemeName, policy.requires(name));
  return { ...found, kind, operation: name };
}

function kindOfMapped(
  written: WrittenOperation,
  schemeName: string,
  scopes: readonly string[],
): Kind {
  if (!Object.hasOwn(written, 'security')) return 'unsecured';
  return requires(written.security, schemeName, scopes) ? 'secured' : 'conflicting';
}

/** Whether `security` requires only our scheme with exactly these scopes, in any order. */
function requires(security: unknown, schemeName: string, scopes: readonly string[]): boolean {
  if (!Array.isArray(security) || security.length !== 1) return false;
  const requirement: unknown = security[0];
  if (!isObject(requirement) || Object.keys(requirement).join() !== schemeName) return false;
  const listed: unknown = (requirement as Json)[schemeName];
  if (!Array.isArray(listed)) return false;
  const wanted: readonly unknown[] = scopes;
  return (
    listed.every((scope) => wanted.includes(scope)) &&
    wanted.every((scope) => listed.includes(scope))
  );
}

/** Ignores the document's own `security`, which applies to all operations. */
function kindOfUnmapped(written: WrittenOperation, schemeName: string, schemes: Json): Kind {
  const { security } = written;
  if (!Array.isArray(security) || !security.every(isObject)) return 'unmapped';
  const named = security.map((requirement) => Object.keys(requirement));
  const isOpen = named.length === 0 || named.some((names) => names.length === 0);
  if (isOpen) return 'open';
  const isOther = (name: string): boolean => name !== schemeName && Object.hasOwn(schemes, name);
  return named.flat().every(isOther) ? 'otherScheme' : 'unmapped';
}
