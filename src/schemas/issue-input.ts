/**
 * The package's JSON shapes as zod schemas, and as JSON Schemas for OpenAPI. The only module that
 * imports `zod`.
 *
 * The core validates by hand and never loads this file, nor does this file load the core's checks:
 * the rules are repeated here, and one table of vectors holds both to the same answers. What a
 * schema cannot know is left to the core: the authority, and (without a catalog and a clock) which
 * scopes exist and whether an expiry is past.
 *
 * No issue of a failed parse quotes the input: people paste keys into the wrong field, and errors
 * are logged. That is why unknown fields are refused here and not by zod, which would name them.
 */
import * as z from 'zod';
import type { Catalog, PatternOf } from '../core/catalog.js';
import type { KeyInfo } from '../core/info.js';
import type { IssueInput } from '../core/issue.js';
import type { ListInput } from '../core/list.js';
import type { Me } from '../core/me.js';

/** A `KeyInfo` after `JSON.stringify`: times are ISO 8601 texts. */
export type KeyInfoJson = {
  readonly [Field in keyof KeyInfo]: Field extends 'scopesUsed'
    ? Readonly<Record<string, string>>
    : KeyInfo[Field] extends Date
      ? string
      : KeyInfo[Field] extends Date | null
        ? string | null
        : KeyInfo[Field];
};

/**
 * `issue`'s first argument in a JSON request: `expiresAt` is an ISO 8601 date-time with an offset,
 * or `never`.
 */
export interface IssueInputJson extends Omit<IssueInput, 'expiresAt'> {
  readonly expiresAt: string;
}

/** `list`'s first argument in a query string: `limit` may be its digits. */
export interface ListInputQuery {
  readonly after?: string | null | undefined;
  readonly limit?: number | string | undefined;
}

/**
 * A JSON Schema as data. Uses only keywords that draft 2020-12 and draft-07 share, so that both
 * validators read it.
 */
export type JsonSchema = Readonly<Record<string, unknown>>;

const SEGMENT = '[a-z][a-z0-9_-]{0,63}';
const SCOPE = new RegExp(`^${SEGMENT}:${SEGMENT}$`);
const PATTERN = new RegExp(`^(?:\\*|${SEGMENT}):(?:\\*|${SEGMENT})$`);
const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;
const MAX_SCOPES = 256;
const MAX_ENTITIES = 1000;

// ── Parts ─────────────────────────────────────────────────────────────────────────────────────────────

/**
 * A closed object, read by its own fields only: neither a polluted prototype nor `__proto__` adds
 * one.
 */
function closed<Shape extends z.core.$ZodShape>(schema: z.ZodObject<Shape, z.core.$strict>) {
  const known = Object.keys(schema.shape);
  const message = `unknown field; these are known: ${known.join(', ')}`;
  return z.preprocess((value, context) => {
    if (typeof value !== 'object' || value === null || Array.isArray(value)) return value;
    const foreign = Reflect.ownKeys(value).some((name) => !known.includes(name as string));
    if (foreign) context.addIssue({ code: 'custom', message });
    // What is refused already is not copied: 100,000 unknown fields took 0.2 s.
    return foreign ? value : Object.assign(Object.create(null), value);
  }, schema);
}

function listOf<Element extends z.ZodType>(element: Element, max: number, what: string) {
  return z.array(element, `${what}: a list of texts`).max(max, `${what}: at most ${max} elements`);
}

const uuidRule = 'a UUID in lower case';
const uuid = z.string(uuidRule).regex(UUID, uuidRule).meta({ format: 'uuid' });
const scopeRule = 'a scope resource:action, in lower case';
const scope = z.string(scopeRule).regex(SCOPE, scopeRule);
const patternRule = 'a scope resource:action in lower case, or * for a whole segment';
const pattern = z.string(patternRule).regex(PATTERN, patternRule);
const entities = listOf(uuid, MAX_ENTITIES, 'entities');

/**
 * A text of 1 to `max` characters after NFC. The JSON Schema counts before NFC: it refuses a
 * decomposed text that composing would shorten to `max`, and accepts a few that composing
 * lengthens.
 */
function text(max: number, what: string) {
  const rule = `${what}: 1 to ${max} characters of well-formed text, no control characters`;
  const fits = (value: string) => {
    // A limit before the work: composing shortens a text to no less than a quarter.
    if (value.length > 8 * max || !value.isWellFormed() || /\p{Cc}/u.test(value)) return false;
    const length = [...value.normalize('NFC')].length;
    return length >= 1 && length <= max;
  };
  return z
    .string(rule)
    .refine(fits, { error: rule, abort: true })
    .overwrite((value) => value.normalize('NFC'))
    .meta({ minLength: 1, maxLength: max, pattern: '^[^\\u0000-\\u001f\\u007f-\\u009f]*$' });
}

/**
 * A table of texts, passed on unchanged. Not `z.record`, which drops a key `__proto__` and names
 * the offending key in its issues.
 */
function table(
  fits: (pairs: readonly (readonly [string, unknown])[]) => boolean,
  rule: string,
  json: object,
  most: number = Infinity,
) {
  const isTable = (value: unknown): value is object =>
    typeof value === 'object' && value !== null && !Array.isArray(value);
  // Counted before they are read.
  const check = (value: unknown) =>
    isTable(value) && Object.keys(value).length <= most && fits(Object.entries(value));
  return z
    .unknown()
    .refine(check, rule)
    .meta({ type: 'object', ...json });
}

const METADATA_NAME = '^[^"\\\\\\u0000-\\u001f\\u007f-\\u009f]*$';
const metadataName = new RegExp(METADATA_NAME);

// The JSON Schema cannot express the size in bytes.
const metadata = table(
  (pairs) => {
    const texts = pairs.flat();
    const plain = texts.every(
      (t) => typeof t === 'string' && t.isWellFormed() && !t.includes('\0'),
    );
    if (!plain || pairs.some(([name]) => !metadataName.test(name))) return false;
    return new TextEncoder().encode(texts.join('')).length <= 2048;
  },
  'metadata: at most 16 pairs of well-formed text without NUL, 2048 bytes in all; no quote, backslash or control in names',
  {
    maxProperties: 16,
    propertyNames: { pattern: METADATA_NAME },
    additionalProperties: { type: 'string' },
  },
  16,
);

const expiryRule =
  "an ISO 8601 date-time with Z or an offset, such as 2030-01-31T12:00:00Z, or 'never'";
const instant = z.iso.datetime({ offset: true }).transform((value) => new Date(value));
// An offset can lead beyond the year 9999, which keyscope's JSON cannot express.
const expiresAt = z.union(
  [z.literal('never'), instant.refine((date) => date.getUTCFullYear() <= 9999)],
  `expiresAt: ${expiryRule}`,
);

function issueInput<Element extends z.ZodType<string, string>>(element: Element) {
  return z.strictObject({
    name: text(100, 'name'),
    scopes: listOf(element, MAX_SCOPES, 'scopes'),
    expiresAt,
    accessibleEntities: entities.optional(),
    justification: text(500, 'justification').optional(),
    metadata: metadata.optional(),
  });
}

function toJsonSchema(schema: z.ZodType): JsonSchema {
  // No `$schema`: inside an OpenAPI document, the document sets the dialect, and draft-07
  // validators stop at it.
  const { $schema: _, ...json } = z.toJSONSchema(schema, {
    target: 'draft-2020-12',
    io: 'input',
    override: ({ jsonSchema }) => {
      // The format says it to people; zod's additional pattern is a calendar of 250 characters.
      if (jsonSchema.format === 'date-time') delete jsonSchema.pattern;
    },
  });
  return JSON.parse(JSON.stringify(json));
}

// ── Answers ───────────────────────────────────────────────────────────────────────────────────────────

/**
 * The body of `GET /me`: exactly its four fields.
 *
 * Its JSON Schema cannot express that `accessible_entities` contains `entity_uuid`; this schema
 * checks it.
 *
 * @example
 * const me = meSchema.parse(await response.json());
 */
export const meSchema: z.ZodType<Me, Me> = closed(
  z
    .strictObject({
      entity_uuid: uuid,
      key_id: uuid,
      scopes: listOf(scope, MAX_SCOPES, 'scopes'),
      accessible_entities: entities,
    })
    .refine((me) => me.accessible_entities.includes(me.entity_uuid), {
      error: 'accessible_entities: contains entity_uuid',
      path: ['accessible_entities'],
    }),
) as unknown as z.ZodType<Me, Me>;

/** {@link meSchema} as a JSON Schema. */
export const meJsonSchema: JsonSchema = toJsonSchema(meSchema);

/**
 * A `Date` as JSON writes it, anything else unchanged: an invalid one too, which JSON makes null,
 * meaning "never".
 */
function written(value: unknown): unknown {
  try {
    return value instanceof Date ? Date.prototype.toISOString.call(value) : value;
  } catch {
    return value;
  }
}

/**
 * The same for each value of a table. A table without a `Date`, and anything that is not a table,
 * is unchanged.
 */
function writtenOut(value: unknown): unknown {
  const pairs = Array.isArray(value) ? [] : Object.entries(Object(value));
  if (!pairs.some(([, content]) => content instanceof Date)) return value;
  return Object.fromEntries(pairs.map(([name, content]) => [name, written(content)]));
}

const timeRule = 'a valid time, as a Date or as Date.prototype.toJSON writes it';
const timeText = z.iso.datetime({ precision: 3, error: timeRule });
const time = z.preprocess(written, timeText);
// In this order: with `preprocess(…).nullable()`, the JSON Schema would not require the field.
const timeOrNull = z.preprocess(written, timeText.nullable());
const shownMetadata = table(
  (pairs) => pairs.every(([, value]) => typeof value === 'string'),
  'metadata: texts',
  { additionalProperties: { type: 'string' } },
);
const times = table(
  (pairs) => pairs.every(([, value]) => timeText.safeParse(value).success),
  'scopesUsed: times',
  { additionalProperties: { type: 'string', format: 'date-time' } },
);
const scopesUsed = z.preprocess(writtenOut, times);

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
export const keyInfoSchema: z.ZodType<KeyInfoJson, KeyInfoJson | KeyInfo> = closed(
  z.strictObject({
    keyId: uuid,
    name: z.string(),
    entityUuid: uuid,
    accessibleEntities: entities,
    scopes: listOf(scope, MAX_SCOPES, 'scopes'),
    justification: z.string().nullable(),
    metadata: shownMetadata,
    createdAt: time,
    expiresAt: timeOrNull,
    revokedAt: timeOrNull,
    retireAt: timeOrNull,
    rotatedFrom: uuid.nullable(),
    lastUsedAt: timeOrNull,
    scopesUsed,
  }),
) as unknown as z.ZodType<KeyInfoJson, KeyInfoJson | KeyInfo>;

/** {@link keyInfoSchema} as a JSON Schema. */
export const keyInfoJsonSchema: JsonSchema = toJsonSchema(keyInfoSchema);

// ── Requests ──────────────────────────────────────────────────────────────────────────────────────────

/**
 * `issue`'s first argument as a JSON request carries it, for any catalog.
 *
 * Not checked: whether the catalog has the scopes, whether reserved ones are justified, whether the
 * expiry is in the future. To answer those with 400 as well, use {@link issueInputSchemaFor}.
 *
 * @example
 * const input = issueInputSchema.parse(await request.json());
 */
export const issueInputSchema: z.ZodType<IssueInput, IssueInputJson> = closed(
  issueInput(pattern),
) as unknown as z.ZodType<IssueInput, IssueInputJson>;

/** {@link issueInputSchema} as a JSON Schema: what may be sent, not what parsing yields. */
export const issueInputJsonSchema: JsonSchema = toJsonSchema(issueInputSchema);

/**
 * `issue`'s first argument for one catalog: whatever this accepts, `issue` refuses only by
 * authority.
 *
 * Scopes are those of the catalog and the wildcards that catch no reserved scope, as in the type
 * `PatternOf`. This is stricter than `issue` in one respect: a wildcard listed beside all reserved
 * scopes it catches is refused too.
 *
 * Not checked: that `accessibleEntities` and the authority's own entity are at most 1,000 together.
 * Entities are counted as sent; `issue` removes duplicates first.
 *
 * @param catalog What `defineScopes` returned.
 * @param options `now`: the keyring's clock; default `Date.now`.
 * @throws TypeError if `catalog` is not a catalog.
 * @example
 * const schema = issueInputSchemaFor(catalog);
 * const { key } = await keyring.issue(schema.parse(body), { entityUuid: session.entityUuid });
 */
export function issueInputSchemaFor<C extends Catalog>(
  catalog: C,
  options: { readonly now?: () => number } = {},
): z.ZodType<IssueInput<PatternOf<C>>, IssueInputJson> {
  if (!Array.isArray(catalog?.all)) throw new TypeError('catalog: pass what defineScopes returned');
  const { now = Date.now } = options;
  const reserved = catalog.all.filter((name) => catalog.isReserved(name));
  const rule = 'a scope of this service, or a wildcard that catches no reserved one';
  const schema = issueInput(z.enum(legalPatterns(catalog), rule)).superRefine((input, context) => {
    const refuse = (field: string, message: string) =>
      context.addIssue({ code: 'custom', path: [field], message: `${field}: ${message}` });
    const scopes = catalog.expand(input.scopes);
    const wanting = scopes.filter((name) => catalog.isReserved(name));
    if (scopes.length > MAX_SCOPES) refuse('scopes', `at most ${MAX_SCOPES} after expansion`);
    if (wanting.length > 0 && input.justification === undefined) {
      refuse('justification', `say why ${wanting.join(' ')} is needed`);
    }
    if (input.expiresAt !== 'never' && input.expiresAt.getTime() <= now())
      refuse('expiresAt', 'a time in the future');
  });
  const justified = {
    if: { properties: { scopes: { type: 'array', contains: { enum: reserved } } } },
    // biome-ignore lint/suspicious/noThenProperty: a keyword of JSON Schema.
    then: { required: ['justification'] },
  };
  const stated = reserved.length > 0 ? schema.meta(justified) : schema;
  return closed(stated) as unknown as z.ZodType<IssueInput<PatternOf<C>>, IssueInputJson>;
}

/**
 * {@link issueInputSchemaFor} as a JSON Schema: scopes as an enum, and when a justification is
 * required.
 */
export function issueInputJsonSchemaFor(catalog: Catalog): JsonSchema {
  return toJsonSchema(issueInputSchemaFor(catalog));
}

const afterRule = 'after: `next` of the page before';
const limitRule = 'limit: a whole number from 1 to 1000';
const limitDigits = z
  .string(limitRule)
  .regex(/^(?:[1-9]\d{0,2}|1000)$/, limitRule)
  .transform(Number);

/** Whether `cursor` is one that `list` can have returned: what is written again reads the same. */
function isCursor(cursor: string): boolean {
  const [time = '', keyId = ''] = cursor.split('.');
  const createdAt = Number.parseInt(time, 36);
  return (
    Number.isSafeInteger(createdAt) &&
    UUID.test(keyId) &&
    `${createdAt.toString(36)}.${keyId}` === cursor
  );
}

/**
 * `list`'s first argument as a query string carries it: the digits of `limit` become a number.
 *
 * Not checked: whether there is a page after `after`; if not, it is empty.
 *
 * @example
 * const { after, limit } = request.query;
 * const page = await keyring.list(listInputSchema.parse({ after, limit }), authority);
 */
export const listInputSchema: z.ZodType<ListInput, ListInputQuery> = closed(
  z.strictObject({
    after: z
      .string(afterRule)
      .max(64, { error: afterRule, abort: true })
      .refine(isCursor, afterRule)
      .meta({ pattern: `^-?[0-9a-z]{1,11}\\.${UUID.source.slice(1)}` })
      .nullish(),
    limit: z
      .union([z.int(limitRule).min(1, limitRule).max(1000, limitRule), limitDigits], limitRule)
      .optional(),
  }),
) as unknown as z.ZodType<ListInput, ListInputQuery>;

/** {@link listInputSchema} as a JSON Schema: what may be sent, not what parsing yields. */
export const listInputJsonSchema: JsonSchema = toJsonSchema(listInputSchema);

function legalPatterns(catalog: Catalog): readonly string[] {
  const wildcards = new Set<string>(['*:*']);
  for (const name of catalog.all) {
    const colon = name.indexOf(':');
    wildcards.add(`${name.slice(0, colon)}:*`).add(`*:${name.slice(colon + 1)}`);
  }
  const harmless = [...wildcards].filter(
    (wildcard) => !catalog.expand([wildcard]).some(catalog.isReserved),
  );
  return [...catalog.all, ...harmless];
}
