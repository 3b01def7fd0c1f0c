/** Turns zod schemas into JSON Schemas, for OpenAPI and for validators. */
import * as z from 'zod';

/**
 * A JSON Schema as data. It uses only keywords that draft 2020-12 and draft-07 share, so that
 * validators of both can read it.
 */
export type JsonSchema = Readonly<Record<string, unknown>>;

/** Describes the accepted input, not the parsed result. */
export function toJsonSchema(schema: z.ZodType): JsonSchema {
  const { $schema: _, ...json } = z.toJSONSchema(schema, {
    target: 'draft-2020-12',
    io: 'input',
    override({ jsonSchema }) {
      // The format is enough; zod's additional pattern is a calendar of 250 characters.
      if (jsonSchema.format === 'date-time') delete jsonSchema.pattern;
    },
  });
  // Without `$schema`, because an OpenAPI document sets the dialect itself, and draft-07 validators
  // refuse this one. Stringified and parsed, because zod adds properties that are not data.
  return JSON.parse(JSON.stringify(json)) as JsonSchema;
}
