/** The inputs of the endpoints: shapes of `keyscope/schemas`, with their JSON Schemas. */
import type { IssueInput } from '../management/issue.js';
import type { IssueKeylessInput } from '../management/keyless.js';
import type { ListInput } from '../management/list.js';
import type { RotateInput } from '../management/rotate.js';
import { readWith } from '../schemas/closed-object.js';
import {
  issueInputJsonSchema,
  issueInputSchema,
  issueKeylessInputJsonSchema,
  issueKeylessInputSchema,
} from '../schemas/issue-input.js';
import type { JsonSchema } from '../schemas/json-schema.js';
import { listInputJsonSchema, listInputSchema } from '../schemas/list-input.js';
import {
  noInputJsonSchema,
  noInputSchema,
  type ReasonInput,
  reasonInputJsonSchema,
  reasonInputSchema,
} from '../schemas/reason-input.js';
import { anyRotateInputJsonSchema, anyRotateInputSchema } from '../schemas/rotate-input.js';

/** An input. */
export interface Input<T> {
  /** Its name in the OpenAPI document. */
  readonly name: string;
  readonly json: JsonSchema;
  /** Reads what a request sent. @throws InputError with the field. */
  readonly read: (sent: unknown) => T;
}

export const LIST_INPUT: Input<ListInput> = {
  name: 'KeyListInput',
  json: listInputJsonSchema,
  read: (sent) => readWith(listInputSchema, sent),
};

export const ISSUE_INPUT: Input<IssueInput> = {
  name: 'KeyIssueInput',
  json: issueInputJsonSchema,
  read: (sent) => readWith(issueInputSchema, sent),
};

export const ISSUE_KEYLESS_INPUT: Input<IssueKeylessInput> = {
  name: 'KeyIssueKeylessInput',
  json: issueKeylessInputJsonSchema,
  read: (sent) => readWith(issueKeylessInputSchema, sent),
};

export const ROTATE_INPUT: Input<RotateInput> = {
  name: 'KeyRotateInput',
  json: anyRotateInputJsonSchema,
  read: (sent) => readWith(anyRotateInputSchema, sent),
};

export const REASON_INPUT: Input<ReasonInput> = {
  name: 'KeyReasonInput',
  json: reasonInputJsonSchema,
  read: (sent) => readWith(reasonInputSchema, sent),
};

export const NO_INPUT: Input<object> = {
  name: 'NoInput',
  json: noInputJsonSchema,
  read: (sent) => readWith(noInputSchema, sent),
};
