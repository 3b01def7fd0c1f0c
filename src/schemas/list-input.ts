/** The first argument of `list` in a query string. */
import * as z from 'zod';
import type { ListInput } from '../management/list.js';
import { closedInput } from './closed-object.js';
import { UUID } from './identifiers.js';
import { type JsonSchema, toJsonSchema } from './json-schema.js';

/**
 * The first argument of `list` in a query string. `limit` may be a string of digits, and
 * `addressing` the word `true` or `false`.
 */
export interface ListInputQuery {
  readonly after?: string | null | undefined;
  readonly limit?: number | string | undefined;
  readonly addressing?: boolean | string | undefined;
}

const afterRule = 'after: `next` of the previous page';
const after = z
  .string(afterRule)
  .max(64, { error: afterRule, abort: true })
  .refine(isCursor, afterRule)
  .meta({ pattern: `^-?[0-9a-z]{1,11}\\.${UUID.source.slice(1)}` });

/** Checks whether `list` can have returned this cursor: writing it again gives the same text. */
function isCursor(cursor: string): boolean {
  const [time = '', keyId = ''] = cursor.split('.');
  const createdAt = Number.parseInt(time, 36);
  if (!Number.isSafeInteger(createdAt) || !UUID.test(keyId)) return false;
  return `${createdAt.toString(36)}.${keyId}` === cursor;
}

const limitRule = 'limit: a whole number from 1 to 1000';
const limitNumber = z.int(limitRule).min(1, limitRule).max(1000, limitRule);
const limitDigits = z
  .string(limitRule)
  .regex(/^(?:[1-9]\d{0,2}|1000)$/, limitRule)
  .transform(Number);

const addressingRule = 'addressing: true or false';
const addressingWord = z
  .enum(['true', 'false'], addressingRule)
  .transform((word) => word === 'true');

/**
 * The first argument of `list` in a query string. The digits of `limit` become a number, and the
 * word in `addressing` a boolean.
 *
 * Not checked: whether there are keys after `after`; if not, the page is empty.
 *
 * With the parsed input, a page may contain own keys or those of others. If the route decides that
 * and not the request, set `addressing` yourself, and the type of the page becomes exact.
 *
 * @example
 * const { after, limit } = request.query;
 * const input = listInputSchema.parse({ after, limit });
 * const page = await keyring.list({ ...input, addressing: false }, authority);
 */
export const listInputSchema: z.ZodType<ListInput, ListInputQuery> = closedInput(
  z.strictObject({
    after: after.nullish(),
    limit: z.union([limitNumber, limitDigits], limitRule).optional(),
    addressing: z.union([z.boolean(), addressingWord], addressingRule).optional(),
  }),
);

/** {@link listInputSchema} as a JSON Schema. It describes the request, not the parsed result. */
export const listInputJsonSchema: JsonSchema = toJsonSchema(listInputSchema);
