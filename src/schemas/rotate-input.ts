/** `rotate`'s second argument in a JSON request. */
import * as z from 'zod';
import type { Catalog } from '../core/catalog.js';
import type { RotateInput } from '../management/rotate.js';
import { closedInput } from './closed-object.js';
import { type ExpiryOptions, expiresAt, isAhead, refusePast } from './expiry.js';
import { entities, scope, scopeList } from './identifiers.js';
import { assertCatalog } from './issue-input.js';
import { type JsonSchema, toJsonSchema } from './json-schema.js';
import { textOf } from './person-text.js';

/**
 * `rotate`'s second argument in a JSON request: `expiresAt` is an ISO 8601 date-time with an
 * offset, or `never`.
 */
export interface RotateInputJson extends Omit<RotateInput, 'expiresAt'> {
  readonly expiresAt?: string | undefined;
}

const MAX_OVERLAP_MS = 365 * 24 * 3_600_000;

const overlapRule = `overlapMs: a whole number of milliseconds from 0 to ${MAX_OVERLAP_MS}`;
const overlapMs = z.int(overlapRule).min(0, overlapRule).max(MAX_OVERLAP_MS, overlapRule);
const concreteRule = 'a scope of this service, and no wildcard';

/** @param concrete What an element of `scopes` may be. */
function rotateInputOf<Scope extends z.ZodType<string, string>>(concrete: Scope) {
  return z.strictObject({
    overlapMs,
    expiresAt: expiresAt.optional(),
    name: textOf(100, 'name').optional(),
    scopes: scopeList(concrete).optional(),
    accessibleEntities: entities.optional(),
    justification: textOf(500, 'justification').optional(),
  });
}

/**
 * `rotate`'s second argument for any catalog.
 *
 * Not checked: whether the catalog has the scopes; whether the expiry is in the future.
 */
export const anyRotateInputSchema: z.ZodType<RotateInput, RotateInputJson> = closedInput(
  rotateInputOf(scope),
);

/** {@link anyRotateInputSchema} as a JSON Schema. */
export const anyRotateInputJsonSchema: JsonSchema = toJsonSchema(anyRotateInputSchema);

/**
 * `rotate`'s second argument for one catalog: whatever this accepts, `rotate` refuses only by
 * authority, or by what the predecessor has.
 *
 * Not checked: whether the predecessor has the scopes and the entities; whether a reserved scope
 * that is kept was justified before; that `accessibleEntities` and the own entity are at most 1,000
 * together.
 *
 * @param catalog What `defineScopes` returned.
 * @param options `now`: the keyring's clock; default `Date.now`.
 * @throws TypeError if `catalog` is not a catalog.
 * @example
 * const input = rotateInputSchema(catalog).parse(await request.json());
 * const { key } = await keyring.rotate(keyId, input, authority);
 */
export function rotateInputSchema(
  catalog: Catalog,
  options: ExpiryOptions = {},
): z.ZodType<RotateInput, RotateInputJson> {
  assertCatalog(catalog);
  const { now = Date.now } = options;
  const schema = rotateInputOf(z.enum(catalog.all, concreteRule));
  const ahead = schema.superRefine((input, context) => {
    if (!isAhead(input.expiresAt, now)) refusePast(context);
  });
  return closedInput(ahead);
}

/** {@link rotateInputSchema} as a JSON Schema: what may be sent, not what parsing yields. */
export function rotateInputJsonSchema(catalog: Catalog): JsonSchema {
  return toJsonSchema(rotateInputSchema(catalog));
}
