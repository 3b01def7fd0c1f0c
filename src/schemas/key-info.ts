/** The JSON of a key, as those who manage it see it. */
import * as z from 'zod';
import type { KeyState } from '../core/record.js';
import type { KeyInfo } from '../management/info.js';
import { closedObject } from './closed-object.js';
import { entities, entityId, scopes, uuid } from './identifiers.js';
import { type JsonSchema, toJsonSchema } from './json-schema.js';
import { tableOf } from './string-table.js';
import { datesToTexts, time, timeOrNull, timeText } from './time.js';

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
export interface KeyInfoJson {
  /** Whether the key is live, and if not, why. */
  readonly state: KeyState;
  /** Whether the record differs from the sealed one. */
  readonly tampered: boolean;
  /** The version of the record. */
  readonly format: number;
  /** The id of the key: a UUID in lower case. */
  readonly keyId: string;
  /** The beginning of the key, before the last `_`. */
  readonly prefix: string;
  /** The last four characters of the key. */
  readonly hint: string;
  /** The key's name, for people. */
  readonly name: string;
  /** The entity that the key belongs to. */
  readonly entityId: string;
  /** The entities that the key was made for. Always contains `entityId`. */
  readonly accessibleEntities: readonly string[];
  /** Those of them that have withdrawn since. */
  readonly withdrawn: readonly string[];
  /** Concrete scopes, in the order of the catalog when the key was made. */
  readonly scopes: readonly string[];
  /** Why the key has reserved scopes; null if not given. */
  readonly justification: string | null;
  /** String pairs that belong to the integration; keyscope never interprets them. */
  readonly metadata: Readonly<Record<string, string>>;
  /** When the key was made. */
  readonly createdAt: string;
  /** Who made it; null if not given. */
  readonly createdBy: string | null;
  /** When the key expires; null for never. */
  readonly expiresAt: string | null;
  /** When the key was revoked; null if it was not. */
  readonly revokedAt: string | null;
  /** When the key was suspended; null if it is not. */
  readonly suspendedAt: string | null;
  /** When a rotated key ends; null if it was not rotated. */
  readonly retireAt: string | null;
  /** Who made the newest suspension, retirement or revocation; null if not given. */
  readonly endedBy: string | null;
  /** Why; null if not given. */
  readonly endReason: string | null;
  /** When the newest mark was written; null without one. */
  readonly changedAt: string | null;
  /** The key id of the predecessor; null without one. */
  readonly rotatedFrom: string | null;
  /** The key id of the first key in its chain of rotations; its own id if it is the first. */
  readonly rootKeyId: string;
  /** The `rootKeyId` of the key that issued this one; null if no key did. */
  readonly issuedUnder: string | null;
  /**
   * The identities that may act as the key without its text; null for keys whose text was handed
   * out.
   */
  readonly trust: Readonly<Record<string, unknown>> | null;
  /** When the key was last used; null for never. */
  readonly lastUsedAt: string | null;
  /** Scope → when it was last used. */
  readonly scopesUsed: Readonly<Record<string, string>>;
}

const metadata = tableOf({
  holds: (pairs) => pairs.every(([, content]) => typeof content === 'string'),
  instead: 'metadata: texts',
  json: { additionalProperties: { type: 'string' } },
});

const trust = tableOf({ holds: () => true, instead: 'trust: an object', json: {} });

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
