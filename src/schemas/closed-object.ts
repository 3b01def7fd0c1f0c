/** Objects that accept only known fields. */
import * as z from 'zod';
import { InputError } from '../core/errors.js';

type AnyObject = z.ZodObject<z.core.$ZodShape, z.core.$strict>;

/**
 * Makes a closed object. It reads only own fields, so neither a polluted prototype nor `__proto__`
 * can add one. It refuses unknown fields before zod does, because zod would quote their names:
 * people paste keys into the wrong field, and errors are logged.
 *
 * Not checked: whether the schema yields `Output` and takes `Input`, whose fields are readonly
 * where zod's are not.
 */
export function closedObject<Output, Input>(schema: AnyObject): z.ZodType<Output, Input> {
  return close(schema, []) as unknown as z.ZodType<Output, Input>;
}

/**
 * Does the same for the input of a management call. An issue of the whole object has the path
 * `input`, which is also the `field` of the core's `InputError`.
 */
export function closedInput<Output, Input>(schema: AnyObject): z.ZodType<Output, Input> {
  return close(schema, ['input']) as unknown as z.ZodType<Output, Input>;
}

/** @param path The path of issues of the whole object. */
function close(schema: AnyObject, path: string[]) {
  const known = Object.keys(schema.shape);
  const names = known.join(', ');

  return z.preprocess((value, context) => {
    if (typeof value !== 'object' || value === null || Array.isArray(value)) {
      const message = `pass an object with ${names}`;
      context.addIssue({ code: 'custom', message, path });
      return value;
    }
    const isForeign = (name: PropertyKey): boolean => !known.some((field) => field === name);
    const hasForeign = Reflect.ownKeys(value).some(isForeign);
    if (hasForeign) {
      const message = `unknown field; known fields are ${names}`;
      context.addIssue({ code: 'custom', message, path });
      // Not copied, because it is refused and may have 100,000 unknown fields.
      return value;
    }
    return Object.assign(Object.create(null) as object, value);
  }, schema);
}

/** An error whose message quotes no input, so that an answer can contain it. */
export class ShownInputError extends InputError {}

/**
 * Parses a value with a schema.
 *
 * @throws ShownInputError with the field of the first issue.
 */
export function readWith<Output>(schema: z.ZodType<Output>, value: unknown): Output {
  const result = schema.safeParse(value);
  if (result.success) return result.data;
  // A failed parse has an issue, and the path of each begins with a field or with `input`.
  const [{ path, message }] = result.error.issues as [z.core.$ZodIssue];
  throw new ShownInputError(String(path[0]), message);
}
