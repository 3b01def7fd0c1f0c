/**
 * Characters that resemble an ASCII one. They fold to k and s, look like an e, have the width of a
 * colon, count as a space or a digit in some readers, combine with the previous one, or are
 * invisible.
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
 * Puts each of them into each position of a text: instead of a character, before it, and at the
 * end.
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
