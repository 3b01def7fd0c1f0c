/** Objects that accept only known fields. */
import * as z from 'zod';
import { InputError } from '../core/errors.js';

type AnyObject = z.ZodObject<z.core.$ZodShape, z.core.$strict>;

/**
 * A closed object. Only its own fields are read, so neither a polluted prototype nor `__proto__`
 * can add one. Unknown fields are refused here because zod would quote their names: people paste
 * keys into the wrong field, and errors are logged.
 *
 * Not checked: that the schema yields `Output` and takes `Input`, whose fields are readonly where
 * zod's are not.
 */
export function closedObject<Output, Input>(schema: AnyObject): z.ZodType<Output, Input> {
  return close(schema, []) as unknown as z.ZodType<Output, Input>;
}

/**
 * The same for the input of a management call. An issue of the whole has the path `input`, which is
 * also the `field` of the `InputError` that the core throws.
 */
export function closedInput<Output, Input>(schema: AnyObject): z.ZodType<Output, Input> {
  return close(schema, ['input']) as unknown as z.ZodType<Output, Input>;
}

/** @param path Of the issues of the whole. */
function close(schema: AnyObject, path: string[]) {
  const known = Object.keys(schema.shape);
  const names = known.join(', ');

  return z.preprocess((value, context) => {
    if (typeof value !== 'object' || value === null || Array.isArray(value)) {
      const message = `pass an object of ${names}`;
      context.addIssue({ code: 'custom', message, path });
      return value;
    }
    const isForeign = (name: PropertyKey): boolean => !known.some((field) => field === name);
    const hasForeign = Reflect.ownKeys(value).some(isForeign);
    if (hasForeign) {
      const message = `unknown field; these are known: ${names}`;
      context.addIssue({ code: 'custom', message, path });
      // Refused, so not copied: there may be 100,000 unknown fields.
      return value;
    }
    return Object.assign(Object.create(null) as object, value);
  }, schema);
}

/** An error whose message quotes nothing that was sent, so that an answer can say it. */
export class ShownInputError extends InputError {}

/**
 * What the schema makes of a value.
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
