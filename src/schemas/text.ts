/** Texts that people write. */
import * as z from 'zod';

/**
 * A text of 1 to `max` characters after NFC. The JSON Schema counts before NFC: it refuses a
 * decomposed text that composing would shorten to `max`, and accepts a few that composing
 * lengthens.
 */
export function textOf(max: number, what: string): z.ZodString {
  const rule = `${what}: 1 to ${max} characters of well-formed text, no control characters`;
  return z
    .string(rule)
    .refine((text) => isTextOf(max, text), { error: rule, abort: true })
    .overwrite((text) => text.normalize('NFC'))
    .meta({ minLength: 1, maxLength: max, pattern: '^[^\\u0000-\\u001f\\u007f-\\u009f]*$' });
}

function isTextOf(max: number, text: string): boolean {
  // Checked before normalizing: composing shortens a text to no less than a quarter.
  if (text.length > 8 * max) return false;
  if (!text.isWellFormed() || /\p{Cc}/u.test(text)) return false;
  const { length } = [...text.normalize('NFC')];
  return length >= 1 && length <= max;
}
