/** Says where a document and the policy differ, for a test to assert. */
import { readFields } from '../../core/input.js';
import type { Policy } from '../../core/policy.js';
import type { Compared, Kind } from './comparison.js';
import { compare, readComparisonInput } from './comparison.js';
import type { DocumentOperation, OperationOf } from './document.js';
import { readDocument } from './document.js';

/** How the operations of a document are found in the policy. */
export interface DiffOptions<Operation extends string = string> {
  /** What `definePolicy` returned. */
  readonly policy: Policy<Operation>;
  /** The name of the bearer scheme in the document. Default: `bearerAuth`. */
  readonly schemeName?: string | undefined;
  /** The name in the policy of an operation of the document. Default: its `operationId`. */
  readonly operationOf?: OperationOf | undefined;
  /** Operations of the policy that have no place in the document, such as MCP tools. */
  readonly elsewhere?: readonly NoInfer<Operation>[] | undefined;
}

/** An operation whose `security` says something else than the policy. */
export interface ConflictingOperation extends DocumentOperation {
  /** Its name in the policy. */
  readonly operation: string;
  /** The scopes that the policy requires. */
  readonly required: readonly string[];
  /** `security` as the document has it. */
  readonly security: unknown;
}

/** Each operation of the document once, in its order, and those that it lacks. */
export interface OperationDiff {
  /** In the policy, and `security` names the scheme and exactly the scopes that are required. */
  readonly secured: readonly DocumentOperation[];
  /** In the policy, without a `security` of their own: `secureDocument` writes it. */
  readonly unsecured: readonly DocumentOperation[];
  /** In the policy, with a `security` of their own that says something else. */
  readonly conflicting: readonly ConflictingOperation[];
  /** Not in the policy, and open to anybody, which their own `security` says: `[]` or `{}`. */
  readonly open: readonly DocumentOperation[];
  /** Not in the policy; their own `security` names other schemes of the document. */
  readonly otherScheme: readonly DocumentOperation[];
  /** Not in the policy, and nothing says who may call them. */
  readonly unmapped: readonly DocumentOperation[];
  /** Operations of the policy that the document lacks, in the order of the policy. */
  readonly missing: readonly string[];
}

/**
 * Returns where an OpenAPI 3.1 document and the policy differ. A document that is written by hand
 * fits if `unsecured`, `conflicting`, `unmapped` and `missing` are empty; read `open` once.
 *
 * Only an operation's own `security` counts: the document's own speaks of all of them. Not checked:
 * webhooks and callbacks, which are requests that the service sends; whether the routes of the
 * service do what the document says; the rest of the document.
 *
 * @param document JSON; it is not changed.
 * @param options `policy`, and how operations are found in it.
 * @throws TypeError on another version than 3.1, a path that is a `$ref` or has a field that is no
 *   method, an unknown option, or a name in `elsewhere` that the policy lacks or the document has.
 * @see OpenAPI 3.1 §4.8.30
 * @example
 * const { conflicting, missing, open, unmapped } = diffOperations(document, { policy });
 */
export function diffOperations<Operation extends string>(
  document: object,
  options: DiffOptions<Operation>,
): OperationDiff {
  const what = 'diffOperations';
  const fields = ['policy', 'schemeName', 'operationOf', 'elsewhere'] as const;
  const input = readComparisonInput(readFields(options, fields, what), what);
  const { compared, missing } = compare(readDocument(document, what), input, what);
  const ofKind = (kind: Kind): readonly Compared[] => compared.filter((one) => one.kind === kind);
  const placesOf = (kind: Kind): readonly DocumentOperation[] =>
    ofKind(kind).map(({ place }) => place);
  return {
    secured: placesOf('secured'),
    unsecured: placesOf('unsecured'),
    conflicting: ofKind('conflicting').map(({ place, operation = '', written }) => ({
      ...place,
      operation,
      required: input.policy.requires(operation),
      security: written.security,
    })),
    open: placesOf('open'),
    otherScheme: placesOf('otherScheme'),
    unmapped: placesOf('unmapped'),
    missing,
  };
}
