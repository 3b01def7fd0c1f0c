/** The JSON of another entity's key, as the entity that it addresses sees it. */
import * as z from 'zod';
import type { KeyState } from '../core/record.js';
import type { AddressedKey } from '../management/list.js';
import { closedObject } from './closed-object.js';
import { entities, entityId, scopes, uuid } from './identifiers.js';
import { type JsonSchema, toJsonSchema } from './json-schema.js';
import { keyState } from './key-info.js';
import { time, timeOrNull } from './time.js';

/** An `AddressedKey` after `JSON.stringify`: times are ISO 8601 texts. */
export interface AddressedKeyJson {
  /** The id of the key. */
  readonly keyId: string;
  /** The beginning of the key, before the last `_`. */
  readonly prefix: string;
  /** The last four characters of the key. */
  readonly hint: string;
  /** The owner's name for the key. */
  readonly name: string;
  /** The entity that owns the key. */
  readonly entityId: string;
  /** Contains only the entity that asks. */
  readonly accessibleEntities: readonly string[];
  /** The entity that asks, if it has withdrawn from the key; otherwise empty. */
  readonly withdrawn: readonly string[];
  /** Concrete scopes, in the order of the catalog when the key was made. */
  readonly scopes: readonly string[];
  /** Whether the key is live, and if not, why. */
  readonly state: KeyState;
  /** When the key was made. */
  readonly createdAt: string;
  /** When the key expires; null for never. */
  readonly expiresAt: string | null;
}

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
