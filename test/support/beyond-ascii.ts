/**
 * Characters that are like one of ASCII, and where those are read: they fold to k and s, look like
 * an e, take the width of a colon, are a space or a digit to some, combine with the one before, or
 * are not seen at all.
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
 * A text with each of them in each position: in the place of what stands there, and before it; and
 * at the end.
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
