/**
 * Non-ASCII characters that code may mistake for ASCII ones. They fold to k or s, look like an e,
 * are as wide as a colon, count as a space or digit in some definitions, combine with the character
 * before, or are invisible.
 */
const CHARACTERS = [
  '\u212a',
  '\u017f',
  '\u0435',
  '\uff1a',
  '\u00a0',
  '\u0665',
  '\u0301',
  '\u200b',
  '\u{1d41a}',
  '\ud800',
];

/**
 * Copies of a text with one of these characters in each position: replacing the character there,
 * inserted before it, or appended.
 */
export function beyondAscii(text: string): readonly string[] {
  const variants: string[] = [];
  for (const character of CHARACTERS) {
    for (let at = 0; at <= text.length; at++) {
      const head = text.slice(0, at) + character;
      variants.push(head + text.slice(at), head + text.slice(at + 1));
    }
  }
  return variants;
}
