/** Bytes as text and back, and the one comparison that secrets go through. */

const encoder = new TextEncoder();

/** UTF-8. The caller has made sure that `text` is well-formed: a lone surrogate would become U+FFFD. */
export const utf8 = (text: string): Uint8Array => encoder.encode(text);

// '0'-'9' is 48-57 and 'a'-'f' is 97-102: bit 6 tells them apart.
const nibble = (code: number): number => (code & 15) + (code >> 6) * 9;

/** Bytes from lower-case hexadecimal digits of even number, such as a hash function returned; unchecked. */
export function fromHex(hex: string): Uint8Array {
  const bytes = new Uint8Array(hex.length / 2);
  for (let i = 0, at = 0; i < bytes.length; i++) {
    bytes[i] = (nibble(hex.charCodeAt(at++)) << 4) | nibble(hex.charCodeAt(at++));
  }
  return bytes;
}

/**
 * Whether two ASCII texts are equal, without a data-dependent branch: every character is looked at whatever
 * the others were. Only the length is decided early; compare texts of fixed length, such as digests.
 */
export function equalText(a: string, b: string): boolean {
  if (a.length !== b.length) return false;
  let difference = 0;
  for (let i = 0; i < a.length; i++) difference |= a.charCodeAt(i) ^ b.charCodeAt(i);
  return difference === 0;
}
