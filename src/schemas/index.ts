/**
 * `keyscope/schemas`: the package's JSON shapes as zod schemas, and as JSON Schemas for OpenAPI.
 * The only folder that imports `zod`.
 *
 * The core validates by hand and never loads this entry, and this entry does not load the core's
 * checks. It repeats the rules, and shared test vectors keep both the same.
 *
 * No issue of a failed parse quotes the input: people paste keys into the wrong field, and errors
 * are logged.
 */
export type { AddressedKeyJson } from './addressed-key.js';
export { addressedKeyJsonSchema, addressedKeySchema } from './addressed-key.js';
export { damagedKeyJsonSchema, damagedKeySchema } from './damaged-key.js';
export type { IssueInputJson, IssueKeylessInputJson } from './issue-input.js';
export {
  issueInputJsonSchema,
  issueInputJsonSchemaFor,
  issueInputSchema,
  issueInputSchemaFor,
  issueKeylessInputJsonSchema,
  issueKeylessInputSchema,
  issueKeylessInputSchemaFor,
} from './issue-input.js';
export type { JsonSchema } from './json-schema.js';
export type { KeyInfoJson } from './key-info.js';
export { keyInfoJsonSchema, keyInfoSchema } from './key-info.js';
export type { ListInputQuery } from './list-input.js';
export { listInputJsonSchema, listInputSchema } from './list-input.js';
export { meJsonSchema, meSchema } from './me.js';
export type { RotateInputJson } from './rotate-input.js';
export { rotateInputJsonSchema, rotateInputSchema } from './rotate-input.js';
