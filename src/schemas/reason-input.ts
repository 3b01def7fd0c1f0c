/** The JSON of requests that grant no rights: a reason, or nothing. */
import * as z from 'zod';
import { closedInput } from './closed-object.js';
import { type JsonSchema, toJsonSchema } from './json-schema.js';
import { textOf } from './person-text.js';

/** Why a key is suspended, resumed or ended. */
export interface ReasonInput {
  /** The reason: 1 to 200 characters, like the `reason` of an authority. */
  readonly reason?: string | undefined;
}

/** An authority's `reason` in a JSON request. */
export const reasonInputSchema: z.ZodType<ReasonInput, ReasonInput> = closedInput(
  z.strictObject({ reason: textOf(200, 'reason').optional() }),
);

/** {@link reasonInputSchema} as a JSON Schema. */
export const reasonInputJsonSchema: JsonSchema = toJsonSchema(reasonInputSchema);

/** An object without fields. */
export const noInputSchema: z.ZodType<object, object> = closedInput(z.strictObject({}));

/** {@link noInputSchema} as a JSON Schema. */
export const noInputJsonSchema: JsonSchema = toJsonSchema(noInputSchema);
