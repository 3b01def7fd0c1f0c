/**
 * `keyscope/schemas`: the package's JSON shapes as zod schemas, and as JSON Schemas for OpenAPI.
 * The only folder that imports `zod`.
 *
 * The core validates by hand and never loads this entry, nor does this entry load the core's
 * checks: the rules are repeated here, and one table of vectors holds both to the same answers.
 *
 * No issue of a failed parse quotes the input: people paste keys into the wrong field, and errors
 * are logged.
 */
export type { IssueInputJson } from './issue-input.js';
export {
  issueInputJsonSchema,
  issueInputJsonSchemaFor,
  issueInputSchema,
  issueInputSchemaFor,
} from './issue-input.js';
export type { JsonSchema } from './json-schema.js';
export type { KeyInfoJson } from './key-info.js';
export { keyInfoJsonSchema, keyInfoSchema } from './key-info.js';
export type { ListInputQuery } from './list-input.js';
export { listInputJsonSchema, listInputSchema } from './list-input.js';
export { meJsonSchema, meSchema } from './me.js';
