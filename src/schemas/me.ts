/** The body of `GET /me`. */
import * as z from 'zod';
import type { Me } from '../http/me.js';
import { closedObject } from './closed-object.js';
import { entities, entityId, scopes, uuid } from './identifiers.js';
import { type JsonSchema, toJsonSchema } from './json-schema.js';

const fields = z.strictObject({
  entity_uuid: entityId,
  key_id: uuid,
  scopes,
  accessible_entities: entities,
});

/**
 * The body of `GET /me`: exactly its four fields.
 *
 * It checks that `accessible_entities` contains `entity_uuid`, which its JSON Schema cannot
 * express.
 *
 * @example
 * const me = meSchema.parse(await response.json());
 */
export const meSchema: z.ZodType<Me, Me> = closedObject(
  fields.refine((me) => me.accessible_entities.includes(me.entity_uuid), {
    error: 'accessible_entities: must contain entity_uuid',
    path: ['accessible_entities'],
  }),
);

/** {@link meSchema} as a JSON Schema. */
export const meJsonSchema: JsonSchema = toJsonSchema(meSchema);
