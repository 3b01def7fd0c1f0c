/** Objects that accept only known fields. */
import * as z from 'zod';

/**
 * A closed object. Only its own fields are read, so neither a polluted prototype nor `__proto__`
 * can add one. Unknown fields are refused here because zod would quote their names: people paste
 * keys into the wrong field, and errors are logged.
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
      // Refused, so not copied: there may be 100,000 unknown fields.
      return value;
    }
    return Object.assign(Object.create(null) as object, value);
  }, schema);
  return closed as unknown as z.ZodType<Output, Input>;
}
