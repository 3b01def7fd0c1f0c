/**
 * `issue`'s first argument in a JSON request. The core checks what a schema cannot know: the
 * authority, and (without a catalog and a clock) which scopes exist and whether an expiry is past.
 */
import * as z from 'zod';
import type { Catalog, PatternOf } from '../core/catalog.js';
import type { IssueInput } from '../management/issue.js';
import { closedInput } from './closed-object.js';
import { type ExpiryOptions, expiresAt, isAhead, refusePast } from './expiry.js';
import { entities, MAX_SCOPES, scopeList, scopePattern } from './identifiers.js';
import { type JsonSchema, toJsonSchema } from './json-schema.js';
import { textOf } from './person-text.js';
import { type Pair, tableOf } from './string-table.js';

/**
 * `issue`'s first argument in a JSON request: `expiresAt` is an ISO 8601 date-time with an offset,
 * or `never`.
 */
export interface IssueInputJson extends Omit<IssueInput, 'expiresAt'> {
  readonly expiresAt: string;
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
    'no quote, backslash or control in names',
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

/** @param pattern What an element of `scopes` may be. */
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
 * `issue`'s first argument in a JSON request, for any catalog.
 *
 * Not checked: whether the catalog has the scopes, whether reserved ones are justified, whether the
 * expiry is in the future. To answer those with 400 as well, use {@link issueInputSchemaFor}.
 *
 * An issue's `path[0]` is the `field` of the `InputError` that `issue` would throw; so it is for
 * all schemas of inputs.
 *
 * @example
 * const input = issueInputSchema.parse(await request.json());
 */
export const issueInputSchema: z.ZodType<IssueInput, IssueInputJson> = closedInput(
  issueInputOf(scopePattern),
);

/** {@link issueInputSchema} as a JSON Schema: what may be sent, not what parsing yields. */
export const issueInputJsonSchema: JsonSchema = toJsonSchema(issueInputSchema);

// ── For one catalog ────────────────────

const legalRule = 'a scope of this service, or a wildcard that catches no reserved one';

/**
 * `issue`'s first argument for one catalog: whatever this accepts, `issue` refuses only by
 * authority.
 *
 * Accepts the catalog's scopes and the wildcards that match no reserved scope, as in the type
 * `PatternOf`. This is stricter than `issue` in one respect: it refuses a wildcard even if all
 * reserved scopes that it matches are listed beside it.
 *
 * Not checked: that `accessibleEntities` and the authority's own entity are at most 1,000 together.
 *
 * @param catalog What `defineScopes` returned.
 * @param options `now`: the keyring's clock; default `Date.now`.
 * @throws TypeError if `catalog` is not a catalog.
 * @example
 * const schema = issueInputSchemaFor(catalog);
 * const { entityUuid, scopes } = session;
 * const { key } = await keyring.issue(schema.parse(body), { entityUuid, scopes });
 */
export function issueInputSchemaFor<C extends Catalog>(
  catalog: C,
  options: ExpiryOptions = {},
): z.ZodType<IssueInput<PatternOf<C>>, IssueInputJson> {
  assertCatalog(catalog);
  const { now = Date.now } = options;
  const pattern = z.enum(legalPatterns(catalog), legalRule);
  const schema = issueInputOf(pattern).superRefine((input, context) => {
    const refuse = (field: string, message: string): void =>
      context.addIssue({ code: 'custom', path: [field], message: `${field}: ${message}` });
    const scopes = catalog.expand(input.scopes);
    const reserved = scopes.filter((name) => catalog.isReserved(name));
    if (scopes.length > MAX_SCOPES) refuse('scopes', `at most ${MAX_SCOPES} after expansion`);
    if (reserved.length > 0 && input.justification === undefined) {
      refuse('justification', `say why ${reserved.join(' ')} is needed`);
    }
    if (!isAhead(input.expiresAt, now)) refusePast(context);
  });
  const condition = justificationOf(catalog);
  return closedInput(condition === null ? schema : schema.meta(condition));
}

/**
 * {@link issueInputSchemaFor} as a JSON Schema: scopes as an enum, and when a justification is
 * required.
 */
export function issueInputJsonSchemaFor(catalog: Catalog): JsonSchema {
  return toJsonSchema(issueInputSchemaFor(catalog));
}

/** The JSON Schema that says when a justification is required; null if nothing is reserved. */
function justificationOf(catalog: Catalog): JsonSchema | null {
  const reserved = catalog.all.filter((name) => catalog.isReserved(name));
  if (reserved.length === 0) return null;
  return {
    if: { properties: { scopes: { type: 'array', contains: { enum: reserved } } } },
    // biome-ignore lint/suspicious/noThenProperty: a keyword of JSON Schema.
    then: { required: ['justification'] },
  };
}

/** The scopes of a catalog, and the wildcards that match no reserved scope. */
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

/** Throws a `TypeError` unless it looks like what `defineScopes` returned. */
export function assertCatalog(catalog: Catalog): void {
  const isCatalog = Array.isArray((catalog as Catalog | null | undefined)?.all);
  if (!isCatalog) throw new TypeError('catalog: pass what defineScopes returned');
}
