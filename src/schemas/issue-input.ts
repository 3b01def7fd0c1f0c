/**
 * The first argument of `issue` and of `issueKeyless` in a JSON request. The core checks the rest:
 * the authority, who the issuers of tokens are, and, if the schema has no catalog and clock, which
 * scopes exist and whether the expiry is in the past.
 */
import * as z from 'zod';
import type { Catalog, PatternOf } from '../core/catalog.js';
import { assert, hasMethods } from '../core/input.js';
import { systemClock } from '../core/outage.js';
import type { Trust } from '../core/trust.js';
import type { IssueInput } from '../management/issue.js';
import type { IssueKeylessInput } from '../management/keyless.js';
import { closedInput } from './closed-object.js';
import { type ExpiryOptions, expiresAt, isAhead, refusePast } from './expiry.js';
import { entities, MAX_SCOPES, scopeList, scopePattern } from './identifiers.js';
import { type JsonSchema, toJsonSchema } from './json-schema.js';
import { textOf } from './person-text.js';
import { type Pair, tableOf } from './string-table.js';
import { trust } from './trust.js';

/**
 * The first argument of `issue` in a JSON request. `expiresAt` is an ISO 8601 date-time with an
 * offset, or `never`.
 */
export interface IssueInputJson extends Omit<IssueInput, 'expiresAt'> {
  readonly expiresAt: string;
}

/** The first argument of `issueKeyless` in a JSON request. */
export interface IssueKeylessInputJson extends IssueInputJson {
  readonly trust: Trust;
}

// ── Fields ────────────────────

const MAX_PAIRS = 16;
const MAX_METADATA_BYTES = 2048;
const METADATA_NAME = '^[^"\\\\\\u0000-\\u001f\\u007f-\\u009f]*$';
const metadataName = new RegExp(METADATA_NAME);

const metadata = tableOf({
  holds: isMetadata,
  instead:
    'metadata: at most 16 pairs of well-formed text without NUL, 2048 bytes in all; ' +
    'no quotes, backslashes or control characters in names',
  // JSON Schema cannot express the size in bytes.
  json: {
    maxProperties: MAX_PAIRS,
    propertyNames: { pattern: METADATA_NAME },
    additionalProperties: { type: 'string' },
  },
  max: MAX_PAIRS,
});

function isMetadata(pairs: readonly Pair[]): boolean {
  const texts = pairs.flat();
  if (!texts.every(isStorable)) return false;
  if (!pairs.every(([name]) => metadataName.test(name))) return false;
  return new TextEncoder().encode(texts.join('')).length <= MAX_METADATA_BYTES;
}

/** PostgreSQL's text cannot hold NUL. */
function isStorable(text: unknown): boolean {
  return typeof text === 'string' && text.isWellFormed() && !text.includes('\0');
}

/** @param pattern The schema of the elements of `scopes`. */
function issueInputOf<Pattern extends z.ZodType<string, string>>(pattern: Pattern) {
  return z.strictObject({
    name: textOf(100, 'name'),
    scopes: scopeList(pattern),
    expiresAt,
    accessibleEntities: entities.optional(),
    justification: textOf(500, 'justification').optional(),
    metadata: metadata.optional(),
  });
}

// ── For any catalog ────────────────────

/**
 * The first argument of `issue` in a JSON request, for any catalog.
 *
 * Not checked: whether the scopes are in the catalog, whether reserved ones are justified, whether
 * the expiry is in the future. To answer those with 400 as well, use {@link issueInputSchemaFor}.
 *
 * An issue's `path[0]` is the `field` of the `InputError` that `issue` would throw. The same holds
 * for all schemas of inputs.
 *
 * @example
 * const input = issueInputSchema.parse(await request.json());
 */
export const issueInputSchema: z.ZodType<IssueInput, IssueInputJson> = closedInput(
  issueInputOf(scopePattern),
);

/** {@link issueInputSchema} as a JSON Schema. It describes the request, not the parsed result. */
export const issueInputJsonSchema: JsonSchema = toJsonSchema(issueInputSchema);

/**
 * The first argument of `issueKeyless` in a JSON request, for any catalog: that of `issue`, and
 * `trust`.
 *
 * Not checked: what {@link issueInputSchema} does not check; whether a verifier of the keyring
 * lists the issuer, and finds a claim that the issuer gives to nobody else.
 *
 * @example
 * const input = issueKeylessInputSchema.parse(await request.json());
 */
export const issueKeylessInputSchema: z.ZodType<IssueKeylessInput, IssueKeylessInputJson> =
  closedInput(issueInputOf(scopePattern).extend({ trust }));

/** {@link issueKeylessInputSchema} as a JSON Schema. It describes the request, not the result. */
export const issueKeylessInputJsonSchema: JsonSchema = toJsonSchema(issueKeylessInputSchema);

// ── For one catalog ────────────────────

/** A keyring or a policy, of which only the catalog matters here. */
export interface CatalogHolder<C extends Catalog = Catalog> {
  readonly catalog: C;
}

const legalRule = 'a scope of this service, or a wildcard that matches no reserved scope';

/**
 * Makes the schema of the first argument of `issue` for one catalog. If it accepts an input,
 * `issue` refuses that input only for lack of authority.
 *
 * It accepts the catalog's scopes and the wildcards that match no reserved scope, like the type
 * `PatternOf`. In one respect it is stricter than `issue`: it refuses a wildcard even if all
 * reserved scopes that it matches are also listed.
 *
 * Not checked: whether `accessibleEntities` and the authority's own entity are at most 1,000
 * together.
 *
 * @param keyring The keyring, or its policy.
 * @param options `now`: the keyring's clock; default `Date.now`.
 * @throws TypeError if it has no catalog.
 * @example
 * const schema = issueInputSchemaFor(keyring);
 * const { entityId, scopes } = session;
 * const { key } = await keyring.issue(schema.parse(body), { entityId, scopes });
 */
export function issueInputSchemaFor<C extends Catalog>(
  keyring: CatalogHolder<C>,
  options: ExpiryOptions = {},
): z.ZodType<IssueInput<PatternOf<C>>, IssueInputJson> {
  return closedInput(catalogInputOf(keyring, options, {}));
}

/**
 * Returns {@link issueInputSchemaFor} as a JSON Schema. It has the scopes as an enum, and the
 * condition for a justification.
 */
export function issueInputJsonSchemaFor(keyring: CatalogHolder): JsonSchema {
  return toJsonSchema(issueInputSchemaFor(keyring));
}

/**
 * Does for `issueKeyless` what {@link issueInputSchemaFor} does for `issue`.
 *
 * Not checked: the same; whether a verifier of the keyring lists the issuer, and finds a claim that
 * the issuer gives to nobody else.
 *
 * @param keyring The keyring, or its policy.
 * @param options `now`: the keyring's clock; default `Date.now`.
 * @throws TypeError if it has no catalog.
 * @example
 * const input = issueKeylessInputSchemaFor(keyring).parse(await request.json());
 * const { info } = await keyring.issueKeyless(input, authority);
 */
export function issueKeylessInputSchemaFor<C extends Catalog>(
  keyring: CatalogHolder<C>,
  options: ExpiryOptions = {},
): z.ZodType<IssueKeylessInput<PatternOf<C>>, IssueKeylessInputJson> {
  return closedInput(catalogInputOf(keyring, options, { trust }));
}

/** @param more Further fields. */
function catalogInputOf<More extends z.core.$ZodShape>(
  keyring: CatalogHolder,
  options: ExpiryOptions,
  more: More,
) {
  const catalog = catalogOf(keyring);
  const { now = systemClock } = options;
  const pattern = z.enum(legalPatterns(catalog), legalRule);
  const schema = issueInputOf(pattern).superRefine((input, context) => {
    const refuse = (field: string, message: string): void =>
      context.addIssue({ code: 'custom', path: [field], message: `${field}: ${message}` });
    const scopes = catalog.expand(input.scopes);
    const reserved = scopes.filter((name) => catalog.isReserved(name));
    if (scopes.length > MAX_SCOPES) refuse('scopes', `at most ${MAX_SCOPES} after expansion`);
    if (reserved.length > 0 && input.justification === undefined) {
      refuse('justification', `say why the key needs ${reserved.join(' ')}`);
    }
    if (!isAhead(input.expiresAt, now)) refusePast(context);
  });
  const extended = schema.safeExtend(more);
  const condition = justificationOf(catalog);
  return condition === null ? extended : extended.meta(condition);
}

/** Makes the JSON Schema that requires a justification; null if no scope is reserved. */
function justificationOf(catalog: Catalog): JsonSchema | null {
  const reserved = catalog.all.filter((name) => catalog.isReserved(name));
  if (reserved.length === 0) return null;
  return {
    if: { properties: { scopes: { type: 'array', contains: { enum: reserved } } } },
    // biome-ignore lint/suspicious/noThenProperty: a keyword of JSON Schema.
    then: { required: ['justification'] },
  };
}

/** Returns the scopes of a catalog, and the wildcards that match no reserved scope. */
function legalPatterns(catalog: Catalog): readonly string[] {
  const wildcards = new Set<string>(['*:*']);
  for (const name of catalog.all) {
    const colon = name.indexOf(':');
    wildcards.add(`${name.slice(0, colon)}:*`);
    wildcards.add(`*:${name.slice(colon + 1)}`);
  }
  const isHarmless = (wildcard: string): boolean =>
    !catalog.expand([wildcard]).some((name) => catalog.isReserved(name));
  return [...catalog.all, ...[...wildcards].filter(isHarmless)];
}

/** Returns the catalog of a keyring or a policy. Throws a `TypeError` if it has none. */
export function catalogOf<C extends Catalog>(keyring: CatalogHolder<C>): C {
  const { catalog } = Object(keyring) as CatalogHolder<C>;
  assert(hasMethods(catalog, 'expand', 'isReserved'), 'pass the keyring or its policy');
  return catalog;
}
