/** Compares a document with the policy, for use in a test. */
import { readFields } from '../../core/input.js';
import type { Policy } from '../../core/policy.js';
import type { Compared, Kind } from './comparison.js';
import { compare, readComparisonInput } from './comparison.js';
import type { DocumentOperation, OperationOf } from './document.js';
import { readDocument } from './document.js';

/** The options of {@link diffOperations}: how to find the document's operations in the policy. */
export interface DiffOptions<Operation extends string = string> {
  /** The policy that `definePolicy` returned. */
  readonly policy: Policy<Operation>;
  /** The name of the bearer scheme in the document. Default: `bearerAuth`. */
  readonly schemeName?: string | undefined;
  /** Returns the name of an operation in the policy. Default: its `operationId`. */
  readonly operationOf?: OperationOf | undefined;
  /** Operations of the policy that do not belong in the document, such as MCP tools. */
  readonly elsewhere?: readonly NoInfer<Operation>[] | undefined;
}

/** An operation whose `security` differs from the policy. */
export interface ConflictingOperation extends DocumentOperation {
  /** Its name in the policy. */
  readonly operation: string;
  /** The scopes that the policy requires. */
  readonly required: readonly string[];
  /** The `security` in the document. */
  readonly security: unknown;
}

/** Each operation of the document once, in its order, and the operations that it lacks. */
export interface OperationDiff {
  /** In the policy, and their `security` names the scheme and exactly the required scopes. */
  readonly secured: readonly DocumentOperation[];
  /** In the policy, but without their own `security`. `secureDocument` writes it. */
  readonly unsecured: readonly DocumentOperation[];
  /** In the policy, but their own `security` differs from it. */
  readonly conflicting: readonly ConflictingOperation[];
  /** Not in the policy; their own `security` opens them to anybody with `[]` or `{}`. */
  readonly open: readonly DocumentOperation[];
  /** Not in the policy; their own `security` names other schemes of the document. */
  readonly otherScheme: readonly DocumentOperation[];
  /** Not in the policy, and the document does not say who may call them. */
  readonly unmapped: readonly DocumentOperation[];
  /** Operations of the policy that the document lacks, in the order of the policy. */
  readonly missing: readonly string[];
}

/**
 * Compares an OpenAPI 3.1 document with the policy. A hand-written document matches if `unsecured`,
 * `conflicting`, `unmapped` and `missing` are empty. Also review `open` once.
 *
 * Only an operation's own `security` counts, because the document's `security` applies to all
 * operations. Not checked: webhooks and callbacks, which the service sends itself; whether the
 * routes of the service match the document; the rest of the document.
 *
 * @param document JSON. It is not changed.
 * @param options `policy`, and how to find operations in it.
 * @throws TypeError if the version is not 3.1, a path is a `$ref` or has an unknown field, an
 *   option is unknown, or a name in `elsewhere` is missing from the policy or present in the
 *   document.
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
