/**
 * Writes values into statements that are not prepared. How a quoted text is escaped depends on the
 * session's SQL mode and character set, which a driver may not know; so every text is written in
 * hexadecimal digits, which mean the same everywhere and cannot end early.
 */
import { encoder } from '../../core/bytes.js';
import type { Value } from '../rows.js';

const UNFIT = 'keyscope: a value is neither text, nor an integer, nor null';

function literal(value: Value): string {
  if (value === null) return 'NULL';
  if (typeof value === 'string') return `_utf8mb4 X'${toHex(value)}'`;
  if (Number.isSafeInteger(value)) return String(value);
  throw new TypeError(UNFIT);
}

function toHex(text: string): string {
  let hex = '';
  for (const byte of encoder.encode(text)) hex += byte.toString(16).padStart(2, '0');
  return hex;
}

/** Puts a value in each place of a statement. No text in our statements has a question mark. */
export function withLiterals(sql: string, values: readonly Value[]): string {
  const [first = '', ...parts] = sql.split('?');
  if (parts.length !== values.length) throw new TypeError('keyscope: not a value for each place');
  // A caller without types may leave out what is then null.
  return first + parts.map((part, index) => literal(values[index] ?? null) + part).join('');
}
