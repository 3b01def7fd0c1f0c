/** `keyscope/schemas`. */

export type { IssueInputJson, JsonSchema, KeyInfoJson, ListInputQuery } from './issue-input.js';
export {
  issueInputJsonSchema,
  issueInputJsonSchemaFor,
  issueInputSchema,
  issueInputSchemaFor,
  keyInfoJsonSchema,
  keyInfoSchema,
  listInputJsonSchema,
  listInputSchema,
  meJsonSchema,
  meSchema,
} from './issue-input.js';
