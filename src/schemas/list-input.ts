/** `list`'s first argument in a query string. */
import * as z from 'zod';
import type { ListInput } from '../core/list.js';
import { closedObject } from './closed-object.js';
import { UUID } from './identifiers.js';
import { type JsonSchema, toJsonSchema } from './json-schema.js';

/** `list`'s first argument in a query string, where `limit` may be a string of digits. */
export interface ListInputQuery {
  readonly after?: string | null | undefined;
  readonly limit?: number | string | undefined;
}

const afterRule = 'after: `next` of the page before';
const after = z
  .string(afterRule)
  .max(64, { error: afterRule, abort: true })
  .refine(isCursor, afterRule)
  .meta({ pattern: `^-?[0-9a-z]{1,11}\\.${UUID.source.slice(1)}` });

/** Whether `list` can have returned this cursor: writing it again gives the same text. */
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

/**
 * `list`'s first argument in a query string: the digits of `limit` become a number.
 *
 * Not checked: whether there are keys after `after`; if not, the page is empty.
 *
 * @example
 * const { after, limit } = request.query;
 * const page = await keyring.list(listInputSchema.parse({ after, limit }), authority);
 */
export const listInputSchema: z.ZodType<ListInput, ListInputQuery> = closedObject(
  z.strictObject({
    after: after.nullish(),
    limit: z.union([limitNumber, limitDigits], limitRule).optional(),
  }),
);

/** {@link listInputSchema} as a JSON Schema: what may be sent, not what parsing yields. */
export const listInputJsonSchema: JsonSchema = toJsonSchema(listInputSchema);
