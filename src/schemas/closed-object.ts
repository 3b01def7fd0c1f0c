/** Objects that take the fields they know and no others. */
import * as z from 'zod';

/**
 * A closed object, read by its own fields only: neither a polluted prototype nor `__proto__` adds
 * one. Unknown fields are refused here and not by zod, which would name them: people paste keys
 * into the wrong field, and errors are logged.
 *
 * Not checked: that the schema yields `Output` and takes `Input`, whose fields are readonly where
 * zod's are not.
 */
export function closedObject<Output, Input>(
  schema: z.ZodObject<z.core.$ZodShape, z.core.$strict>,
): z.ZodType<Output, Input> {
  const known = Object.keys(schema.shape);
  const message = `unknown field; these are known: ${known.join(', ')}`;
  const closed = z.preprocess((value, context) => {
    if (typeof value !== 'object' || value === null || Array.isArray(value)) return value;
    const isForeign = (name: PropertyKey): boolean => !known.some((field) => field === name);
    const hasForeign = Reflect.ownKeys(value).some(isForeign);
    if (hasForeign) {
      context.addIssue({ code: 'custom', message });
      // What is refused already is not copied: there may be 100,000 unknown fields.
      return value;
    }
    return Object.assign(Object.create(null) as object, value);
  }, schema);
  return closed as unknown as z.ZodType<Output, Input>;
}
