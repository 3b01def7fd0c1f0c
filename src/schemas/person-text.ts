/** Texts that people write. */
import * as z from 'zod';
import { hasInvisible } from '../core/masking.js';

/**
 * Text without invisible 16-bit characters. Written as ranges, because not every JSON Schema
 * validator supports Unicode categories.
 */
export const CLEAN_PATTERN: string =
  '^[^\\u0000-\\u001f\\u007f-\\u009f\\u00ad\\u0600-\\u0605\\u061c\\u06dd\\u070f\\u0890\\u0891' +
  '\\u08e2\\u180e\\u200b-\\u200f\\u2028-\\u202e\\u2060-\\u2064\\u2066-\\u206f\\ufeff' +
  '\\ufff9-\\ufffb]*$';

/**
 * Makes the schema of a text of 1 to `max` characters after NFC. The JSON Schema counts before NFC.
 * It refuses a decomposed text that composing would shorten to `max`, and accepts a few texts that
 * composing lengthens. It also accepts format characters beyond 16 bits.
 */
export function textOf(max: number, what: string): z.ZodString {
  const rule =
    `${what}: 1 to ${max} characters of well-formed text, ` +
    'no control, invisible or separator characters';
  return z
    .string(rule)
    .refine((text) => isTextOf(max, text), { error: rule, abort: true })
    .overwrite((text) => text.normalize('NFC'))
    .meta({ minLength: 1, maxLength: max, pattern: CLEAN_PATTERN });
}

function isTextOf(max: number, text: string): boolean {
  // Checked before normalizing, which shortens a text to a quarter at most.
  if (text.length > 8 * max) return false;
  if (hasInvisible(text)) return false;
  const { length } = [...text.normalize('NFC')];
  return length >= 1 && length <= max;
}
