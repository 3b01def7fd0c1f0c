/**
 * Writes values into statements that are not prepared. How to escape a quoted text depends on the
 * session's SQL mode and character set, which a driver may not know. So every text is written in
 * hexadecimal digits, which mean the same everywhere and cannot end early.
 */
import { encoder } from '../../core/bytes.js';
import type { Value } from '../rows.js';

const UNFIT = 'keyscope: a value must be text, an integer or null';

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

/** Fills in the values of a statement. Our statements contain no text with a question mark. */
export function withLiterals(sql: string, values: readonly Value[]): string {
  const [first = '', ...parts] = sql.split('?');
  if (parts.length !== values.length) {
    const counts = `${parts.length} places and ${values.length} values`;
    throw new TypeError(`keyscope: the statement has ${counts}`);
  }
  // A caller without types may leave out a value that is then null.
  return first + parts.map((part, index) => literal(values[index] ?? null) + part).join('');
}
