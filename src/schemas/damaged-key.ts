/** The JSON of a key whose record cannot be read. */
import * as z from 'zod';
import type { DamagedKey } from '../management/info.js';
import { closedObject } from './closed-object.js';
import { entityId, uuid } from './identifiers.js';
import { type JsonSchema, toJsonSchema } from './json-schema.js';

/**
 * A key whose record this release cannot read, as `list`, `get` and `identify` return it. It is the
 * same before and after `JSON.stringify`.
 *
 * @example
 * const damaged = damagedKeySchema.safeParse(key).success;
 */
export const damagedKeySchema: z.ZodType<DamagedKey, DamagedKey> = closedObject(
  z.strictObject({
    state: z.enum(['revoked', 'unknown_format', 'damaged']),
    keyId: uuid,
    entityId,
  }),
);

/** {@link damagedKeySchema} as a JSON Schema. */
export const damagedKeyJsonSchema: JsonSchema = toJsonSchema(damagedKeySchema);
