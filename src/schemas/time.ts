/** The schemas of a key's times, before or after `JSON.stringify`. */
import * as z from 'zod';

/** The type of a value after `JSON.stringify`, in which times are ISO 8601 texts. */
export type JsonOf<T> = T extends Date
  ? string
  : T extends Readonly<Record<string, Date>>
    ? Readonly<Record<string, string>>
    : T;

const timeRule = 'a valid time, as a Date or as Date.prototype.toJSON writes it';

/** A time in the format of `Date.prototype.toJSON`. */
export const timeText: z.ZodISODateTime = z.iso.datetime({ precision: 3, error: timeRule });

/** A `Date` or its text. Becomes the text. */
export const time: z.ZodPreprocess<z.ZodISODateTime> = z.preprocess(dateToText, timeText);

/** The same, or null. */
// In this order: with `preprocess(…).nullable()`, the JSON Schema would not require the field.
export const timeOrNull: z.ZodPreprocess<z.ZodNullable<z.ZodISODateTime>> = z.preprocess(
  dateToText,
  timeText.nullable(),
);

/**
 * Turns a `Date` into its JSON text. Leaves anything else unchanged, including an invalid `Date`,
 * because JSON would make that null, which means "never".
 */
function dateToText(value: unknown): unknown {
  if (!(value instanceof Date)) return value;
  try {
    // Throws on an object that only looks like a Date.
    return Date.prototype.toISOString.call(value);
  } catch {
    return value;
  }
}

/**
 * Does the same for each value of a table. Leaves a table without a `Date`, and anything that is
 * not a table, unchanged.
 */
export function datesToTexts(value: unknown): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value;
  const pairs: [string, unknown][] = Object.entries(value);
  if (!pairs.some(([, content]) => content instanceof Date)) return value;
  return Object.fromEntries(pairs.map(([name, content]) => [name, dateToText(content)]));
}
