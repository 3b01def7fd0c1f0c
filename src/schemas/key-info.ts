/** The JSON of a key, as those who manage it see it. */
import * as z from 'zod';
import type { KeyState } from '../core/record.js';
import type { KeyInfo } from '../management/info.js';
import { closedObject } from './closed-object.js';
import { entities, entityId, scopes, uuid } from './identifiers.js';
import { type JsonSchema, toJsonSchema } from './json-schema.js';
import { tableOf } from './string-table.js';
import { datesToTexts, type JsonOf, time, timeOrNull, timeText } from './time.js';

/** Every state, in the order in which they are checked. */
const STATES: readonly KeyState[] = [
  'revoked',
  'unknown_format',
  'orphaned',
  'damaged',
  'suspended',
  'retired',
  'expired',
  'live',
];

/** The state of a key that can be read. */
export const keyState: z.ZodType<KeyState, KeyState> = z.enum(STATES);

/** A `KeyInfo` after `JSON.stringify`: times are ISO 8601 texts. */
export type KeyInfoJson = { readonly [F in keyof KeyInfo]: JsonOf<KeyInfo[F]> };

const metadata = tableOf({
  holds: (pairs) => pairs.every(([, content]) => typeof content === 'string'),
  instead: 'metadata: texts',
  json: { additionalProperties: { type: 'string' } },
});

// Any object, because an edited record may have another one.
const trust = tableOf({
  holds: () => true,
  instead: 'trust: an object',
  json: {
    description: '{ issuer, claims }, or anything else if the record was edited (`tampered`).',
    properties: { issuer: {}, claims: {} },
    additionalProperties: true,
  },
});

const times = tableOf({
  holds: (pairs) => pairs.every(([, content]) => timeText.safeParse(content).success),
  instead: 'scopesUsed: times',
  json: { additionalProperties: { type: 'string', format: 'date-time' } },
});

/**
 * A key as `list`, `get`, `identify`, `issue` and `rotate` return it, before or after
 * `JSON.stringify`. A `Date` becomes its JSON text; an invalid one is refused. For a key whose
 * record cannot be read, use `damagedKeySchema`.
 *
 * Names and metadata may have any length, as when the core reads a stored record. Years beyond 9999
 * are refused, although the core would show them, because RFC 3339 cannot express them.
 *
 * @example
 * const keys = z.union([keyInfoSchema, damagedKeySchema]).array().parse(body.keys);
 */
export const keyInfoSchema: z.ZodType<KeyInfoJson, KeyInfoJson | KeyInfo> = closedObject(
  z.strictObject({
    state: keyState,
    tampered: z.boolean(),
    format: z.int().min(1),
    keyId: uuid,
    prefix: z.string(),
    hint: z.string(),
    name: z.string(),
    entityId,
    accessibleEntities: entities,
    withdrawn: entities,
    scopes,
    justification: z.string().nullable(),
    metadata,
    createdAt: time,
    createdBy: z.string().nullable(),
    expiresAt: timeOrNull,
    revokedAt: timeOrNull,
    suspendedAt: timeOrNull,
    retireAt: timeOrNull,
    endedBy: z.string().nullable(),
    endReason: z.string().nullable(),
    changedAt: timeOrNull,
    rotatedFrom: uuid.nullable(),
    rootKeyId: uuid,
    issuedUnder: uuid.nullable(),
    trust: trust.nullable(),
    lastUsedAt: timeOrNull,
    scopesUsed: z.preprocess(datesToTexts, times),
  }),
);

/** {@link keyInfoSchema} as a JSON Schema. */
export const keyInfoJsonSchema: JsonSchema = toJsonSchema(keyInfoSchema);
