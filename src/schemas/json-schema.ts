/** From a zod schema to a JSON Schema, for OpenAPI and for validators. */
import * as z from 'zod';

/**
 * A JSON Schema as data. Uses only keywords that draft 2020-12 and draft-07 share, so that both
 * validators read it.
 */
export type JsonSchema = Readonly<Record<string, unknown>>;

/** Describes what may be sent, not what parsing yields. */
export function toJsonSchema(schema: z.ZodType): JsonSchema {
  const { $schema: _, ...json } = z.toJSONSchema(schema, {
    target: 'draft-2020-12',
    io: 'input',
    override({ jsonSchema }) {
      // The format says it to people; zod's additional pattern is a calendar of 250 characters.
      if (jsonSchema.format === 'date-time') delete jsonSchema.pattern;
    },
  });
  // No `$schema`: inside an OpenAPI document, the document sets the dialect, and draft-07
  // validators stop at it. Written and parsed, because zod adds what is not data.
  return JSON.parse(JSON.stringify(json)) as JsonSchema;
}
