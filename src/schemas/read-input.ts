/** Reads with a schema what a request chose, and refuses it as the core does. */
import type * as z from 'zod';
import { InputError } from '../core/errors.js';

/**
 * What the schema makes of a value.
 *
 * @throws InputError with the field of the first issue, whose message quotes nothing that was sent.
 */
export function readWith<Output>(schema: z.ZodType<Output>, value: unknown): Output {
  const result = schema.safeParse(value);
  if (result.success) return result.data;
  // A failed parse has an issue, and the path of each begins with a field or with `input`.
  const [{ path, message }] = result.error.issues as [z.core.$ZodIssue];
  throw new InputError(String(path[0]), message);
}
