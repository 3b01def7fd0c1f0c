/** The second argument of `rotate` in a JSON request. */
import * as z from 'zod';
import { systemClock } from '../core/outage.js';
import type { RotateInput } from '../management/rotate.js';
import { closedInput } from './closed-object.js';
import { type ExpiryOptions, expiresAt, isAhead, refusePast } from './expiry.js';
import { entities, scope, scopeList } from './identifiers.js';
import { type CatalogHolder, catalogOf } from './issue-input.js';
import { type JsonSchema, toJsonSchema } from './json-schema.js';
import { textOf } from './person-text.js';

/**
 * The second argument of `rotate` in a JSON request. `expiresAt` is an ISO 8601 date-time with an
 * offset, or `never`.
 */
export interface RotateInputJson extends Omit<RotateInput, 'expiresAt'> {
  readonly expiresAt?: string | undefined;
}

const MAX_OVERLAP_MS = 365 * 24 * 3_600_000;

const overlapRule = `overlapMs: a whole number of milliseconds from 0 to ${MAX_OVERLAP_MS}`;
const overlapMs = z.int(overlapRule).min(0, overlapRule).max(MAX_OVERLAP_MS, overlapRule);
const concreteRule = 'a scope of this service, not a wildcard';

/** @param concrete The schema of the elements of `scopes`. */
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
 * The second argument of `rotate` for any catalog.
 *
 * Not checked: whether the scopes are in the catalog; whether the expiry is in the future.
 */
export const anyRotateInputSchema: z.ZodType<RotateInput, RotateInputJson> = closedInput(
  rotateInputOf(scope),
);

/** {@link anyRotateInputSchema} as a JSON Schema. */
export const anyRotateInputJsonSchema: JsonSchema = toJsonSchema(anyRotateInputSchema);

/**
 * Makes the schema of the second argument of `rotate` for one catalog. If it accepts an input,
 * `rotate` refuses that input only for lack of authority, or because of the predecessor.
 *
 * Not checked: whether the predecessor has the scopes and the entities; whether a reserved scope
 * that the successor keeps was justified before; whether `accessibleEntities` and the own entity
 * are at most 1,000 together.
 *
 * @param keyring The keyring, or its policy.
 * @param options `now`: the keyring's clock; default `Date.now`.
 * @throws TypeError if it has no catalog.
 * @example
 * const input = rotateInputSchema(keyring).parse(await request.json());
 * const { key } = await keyring.rotate(keyId, input, authority);
 */
export function rotateInputSchema(
  keyring: CatalogHolder,
  options: ExpiryOptions = {},
): z.ZodType<RotateInput, RotateInputJson> {
  const catalog = catalogOf(keyring);
  const { now = systemClock } = options;
  const schema = rotateInputOf(z.enum(catalog.all, concreteRule));
  const ahead = schema.superRefine((input, context) => {
    if (!isAhead(input.expiresAt, now)) refusePast(context);
  });
  return closedInput(ahead);
}

/** Returns {@link rotateInputSchema} as a JSON Schema. It describes the request, not the result. */
export function rotateInputJsonSchema(keyring: CatalogHolder): JsonSchema {
  return toJsonSchema(rotateInputSchema(keyring));
}
