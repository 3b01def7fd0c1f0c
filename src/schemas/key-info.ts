/** A key as those who manage it see it, in JSON. */
import * as z from 'zod';
import type { KeyState } from '../core/record.js';
import type { KeyInfo } from '../management/info.js';
import { closedObject } from './closed-object.js';
import { entities, scopes, uuid } from './identifiers.js';
import { type JsonSchema, toJsonSchema } from './json-schema.js';
import { tableOf } from './string-table.js';
import { datesToTexts, time, timeOrNull, timeText } from './time.js';

/** Every state, in the order in which they are looked for. */
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
export interface KeyInfoJson {
  /** What became of the key: whether it is live, and if not, why. */
  readonly state: KeyState;
  /** Whether the record is not what was sealed. */
  readonly tampered: boolean;
  /** The version of the record. */
  readonly format: number;
  /** Names the key: a UUID in lower case. */
  readonly keyId: string;
  /** What the key begins with, before the last `_`. */
  readonly prefix: string;
  /** The last four characters of the key. */
  readonly hint: string;
  /** What people call the key. */
  readonly name: string;
  /** The entity that the key belongs to. */
  readonly entityUuid: string;
  /** The entities that the key was made for; always contains `entityUuid`. */
  readonly accessibleEntities: readonly string[];
  /** Of these, the entities that cut themselves off since. */
  readonly withdrawn: readonly string[];
  /** Concrete, in the order of the catalog at the time. */
  readonly scopes: readonly string[];
  /** Why the key has reserved scopes; null if nobody said. */
  readonly justification: string | null;
  /** String pairs that belong to the integration; keyscope never interprets them. */
  readonly metadata: Readonly<Record<string, string>>;
  /** When the key was made. */
  readonly createdAt: string;
  /** Who made it; null if nobody said. */
  readonly createdBy: string | null;
  /** When the key ends by itself; null for never. */
  readonly expiresAt: string | null;
  /** When the key was revoked; null if it was not. */
  readonly revokedAt: string | null;
  /** When the key was suspended; null if it is not. */
  readonly suspendedAt: string | null;
  /** When a rotated key ends; null if it was not rotated. */
  readonly retireAt: string | null;
  /** Who made the newest of suspension, retirement and revocation; null if nobody said. */
  readonly endedBy: string | null;
  /** Why; null if nobody said. */
  readonly endReason: string | null;
  /** When the newest mark was written; null if there was none. */
  readonly changedAt: string | null;
  /** The key id of the predecessor; null if there is none. */
  readonly rotatedFrom: string | null;
  /** The key id of the first key of its rotations; its own if it is that one. */
  readonly rootKeyId: string;
  /** The `rootKeyId` of the key on whose authority this one was made; null if there was none. */
  readonly issuedUnder: string | null;
  /** Who may act as the key without its text; null for keys whose text was shown to somebody. */
  readonly trust: Readonly<Record<string, unknown>> | null;
  /** When the key was last used; null for never. */
  readonly lastUsedAt: string | null;
  /** Scope → when it was last exercised. */
  readonly scopesUsed: Readonly<Record<string, string>>;
}

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
 * A key as `list`, `get`, `identify`, `issue` and `rotate` show it, before or after
 * `JSON.stringify`: a `Date` becomes what JSON makes of it, and an invalid one is refused. A key
 * whose record cannot be read has a schema of its own, `damagedKeySchema`.
 *
 * Names and metadata may be of any length, as when the core reads a stored record. Years beyond
 * 9999 are refused, although the core would show them: RFC 3339 cannot express them.
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
    entityUuid: uuid,
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
    trust: z.record(z.string(), z.unknown()).nullable(),
    lastUsedAt: timeOrNull,
    scopesUsed: z.preprocess(datesToTexts, times),
  }),
);

/** {@link keyInfoSchema} as a JSON Schema. */
export const keyInfoJsonSchema: JsonSchema = toJsonSchema(keyInfoSchema);
