/** A key as an entity sees it that the key of another addresses, in JSON. */
import * as z from 'zod';
import type { KeyState } from '../core/record.js';
import type { AddressedKey } from '../management/list.js';
import { closedObject } from './closed-object.js';
import { entities, scopes, uuid } from './identifiers.js';
import { type JsonSchema, toJsonSchema } from './json-schema.js';
import { keyState } from './key-info.js';
import { time, timeOrNull } from './time.js';

/** An `AddressedKey` after `JSON.stringify`: times are ISO 8601 texts. */
export interface AddressedKeyJson {
  /** Names the key. */
  readonly keyId: string;
  /** What the key begins with, before the last `_`. */
  readonly prefix: string;
  /** The last four characters of the key. */
  readonly hint: string;
  /** What its owner calls the key. */
  readonly name: string;
  /** The owner. */
  readonly entityUuid: string;
  /** Only the entity that asks. */
  readonly accessibleEntities: readonly string[];
  /** The entity that asks, if it cut itself off from the key; otherwise empty. */
  readonly withdrawn: readonly string[];
  /** Concrete, in the order of the catalog at the time. */
  readonly scopes: readonly string[];
  /** What became of the key: whether it is live, and if not, why. */
  readonly state: KeyState;
  /** When the key was made. */
  readonly createdAt: string;
  /** When the key ends by itself; null for never. */
  readonly expiresAt: string | null;
}

/**
 * A key as `list` shows it with `addressing`, before or after `JSON.stringify`. Nothing else of the
 * owner's has a place in it.
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
      entityUuid: uuid,
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
