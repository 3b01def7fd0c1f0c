/** A key as callers see it, in JSON. */
import * as z from 'zod';
import type { KeyInfo } from '../core/info.js';
import { closedObject } from './closed-object.js';
import { entities, scopes, uuid } from './identifiers.js';
import { type JsonSchema, toJsonSchema } from './json-schema.js';
import { tableOf } from './table.js';

/** A `KeyInfo` after `JSON.stringify`: times are ISO 8601 texts. */
export interface KeyInfoJson {
  readonly keyId: string;
  readonly name: string;
  readonly entityUuid: string;
  /** Always contains `entityUuid`. */
  readonly accessibleEntities: readonly string[];
  /** Concrete, in the order of the catalog at the time. */
  readonly scopes: readonly string[];
  readonly justification: string | null;
  /** String pairs that belong to the integration; keyscope never interprets them. */
  readonly metadata: Readonly<Record<string, string>>;
  readonly createdAt: string;
  /** `null`: never. */
  readonly expiresAt: string | null;
  readonly revokedAt: string | null;
  /** When a rotated key ends. */
  readonly retireAt: string | null;
  /** Key id of the predecessor. */
  readonly rotatedFrom: string | null;
  readonly lastUsedAt: string | null;
  /** Scope → when it was last exercised. */
  readonly scopesUsed: Readonly<Record<string, string>>;
}

// ── Times, before or after JSON ────────────────────

const timeRule = 'a valid time, as a Date or as Date.prototype.toJSON writes it';
const timeText = z.iso.datetime({ precision: 3, error: timeRule });
const time = z.preprocess(dateToText, timeText);
// In this order: with `preprocess(…).nullable()`, the JSON Schema would not require the field.
const timeOrNull = z.preprocess(dateToText, timeText.nullable());

/**
 * Turns a `Date` into what JSON makes of it and leaves anything else unchanged, including an
 * invalid `Date`: JSON would make it null, which means "never".
 */
function dateToText(value: unknown): unknown {
  if (!(value instanceof Date)) return value;
  try {
    // Throws on an object that only looks like a Date.
    return Date.prototype.toISOString.call(value);
  } catch {
    return value;
  }
}

/**
 * Does the same for each value of a table. Leaves a table without a `Date`, and anything that is
 * not a table, unchanged.
 */
function datesToTexts(value: unknown): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value;
  const pairs: [string, unknown][] = Object.entries(value);
  if (!pairs.some(([, content]) => content instanceof Date)) return value;
  return Object.fromEntries(pairs.map(([name, content]) => [name, dateToText(content)]));
}

// ── The key ────────────────────

const metadata = tableOf({
  holds: (pairs) => pairs.every(([, content]) => typeof content === 'string'),
  instead: 'metadata: texts',
  json: { additionalProperties: { type: 'string' } },
});

const times = tableOf({
  holds: (pairs) => pairs.every(([, content]) => timeText.safeParse(content).success),
  instead: 'scopesUsed: times',
  json: { additionalProperties: { type: 'string', format: 'date-time' } },
});

/**
 * A key as `list`, `get` and `issue` show it, before or after `JSON.stringify`: a `Date` becomes
 * what JSON makes of it, and an invalid one is refused.
 *
 * Names and metadata may be of any length, as when the core reads a stored record. Years beyond
 * 9999 are refused, although the core would show them: RFC 3339 cannot express them.
 *
 * @example
 * const keys = keyInfoSchema.array().parse(body.keys);
 */
export const keyInfoSchema: z.ZodType<KeyInfoJson, KeyInfoJson | KeyInfo> = closedObject(
  z.strictObject({
    keyId: uuid,
    name: z.string(),
    entityUuid: uuid,
    accessibleEntities: entities,
    scopes,
    justification: z.string().nullable(),
    metadata,
    createdAt: time,
    expiresAt: timeOrNull,
    revokedAt: timeOrNull,
    retireAt: timeOrNull,
    rotatedFrom: uuid.nullable(),
    lastUsedAt: timeOrNull,
    scopesUsed: z.preprocess(datesToTexts, times),
  }),
);

/** {@link keyInfoSchema} as a JSON Schema. */
export const keyInfoJsonSchema: JsonSchema = toJsonSchema(keyInfoSchema);
