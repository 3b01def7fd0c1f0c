/** The JSON of another entity's key, as the entity that it addresses sees it. */
import * as z from 'zod';
import type { AddressedKey } from '../management/list.js';
import { closedObject } from './closed-object.js';
import { entities, entityId, scopes, uuid } from './identifiers.js';
import { type JsonSchema, toJsonSchema } from './json-schema.js';
import { keyState } from './key-info.js';
import { type JsonOf, time, timeOrNull } from './time.js';

/** An `AddressedKey` after `JSON.stringify`: times are ISO 8601 texts. */
export type AddressedKeyJson = { readonly [F in keyof AddressedKey]: JsonOf<AddressedKey[F]> };

/**
 * A key as `list` shows it with `addressing`, before or after `JSON.stringify`. The schema refuses
 * any other field of the owner's.
 *
 * @example
 * const keys = z.union([addressedKeySchema, damagedKeySchema]).array().parse(body.keys);
 */
export const addressedKeySchema: z.ZodType<AddressedKeyJson, AddressedKeyJson | AddressedKey> =
  closedObject(
    z.strictObject({
      keyId: uuid,
      prefix: z.string(),
      hint: z.string(),
      name: z.string(),
      entityId,
      accessibleEntities: entities,
      withdrawn: entities,
      scopes,
      state: keyState,
      createdAt: time,
      expiresAt: timeOrNull,
    }),
  );

/** {@link addressedKeySchema} as a JSON Schema. */
export const addressedKeyJsonSchema: JsonSchema = toJsonSchema(addressedKeySchema);
