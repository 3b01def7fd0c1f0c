/** Decodes the address of a find, because a stranger may have written a key in it in any way. */

/** Octets of UTF-8: `%61`, also percent-encoded repeatedly (`%252561`), and `\x61`. */
const OCTETS = /(?:(?:%(?:25)*|(?<!\\)\\+x)[\da-f]{2})+/gi;

/** Numeric escapes: `\u0061`, `\u{61}`, `%u0061`, `&#x61;`, `&#97;`. */
const CODE =
  /(?:&#0*(\d{1,6})|(?:&#|%|(?<!\\)\\+)[ux]\{?((?<=u)[\da-f]{4}|(?<=[x{])0*[\da-f]{1,5}))[;}]?/gi;

/** Named escapes: styled letters (`&ascr;`, `&fflig;`), other HTML names, and `\n` and `\_`. */
const NAME = /&(?:amp;)*(?:([a-z]|f[fijl]+|ij)(?:fr|lig|opf|scr);|([a-z]\w*);|shy)|\\+[bfnrt]?/gi;

/** The HTML names of characters that occur in keys and escapes. */
const NAMES = ['amp', 'bsol', 'lowbar', 'num', 'percnt', 'semi', 'UnderBar'];
const NAMED = '&\\_#%;_';

/** Invisible characters, and combining marks. */
const UNSEEN = /(?! )\p{Z}|[\p{C}\p{M}\p{DI}\u2800]/gu;

/** Text without any of these: printable ASCII without `%`, `&` and `\`. Most texts match. */
const PLAIN = /^[ -$'-[\]-~]*$/;

const UTF8 = new TextDecoder();

function decodeOctets(written: string): string {
  // In `%252561`, only the last two digits count.
  const octets = written.match(/[\da-f]{2}(?=[%\\]|$)/gi) ?? [];
  return UTF8.decode(Uint8Array.from(octets, (octet) => Number(`0x${octet}`)));
}

function decodeCode(_: string, decimal?: string, hexadecimal?: string): string {
  return String.fromCodePoint(Number(decimal ?? `0x${hexadecimal}`));
}

function decodeName(_: string, letters?: string, name = ''): string {
  return letters ?? NAMED[NAMES.indexOf(name)] ?? '';
}

/** The most layers of escapes to decode. Nobody writes more by mistake. */
const MOST_LAYERS = 8;

/**
 * Decodes a text in any spelling: percent-encoded, escaped as in JSON or HTML, in letters of
 * another width or style, with invisible characters in between, or all of these on top of each
 * other.
 *
 * Not decoded: base64 and other encodings of whole texts.
 */
export function spellOut(text: string): string {
  return decodeLayers(text, MOST_LAYERS);
}

function decodeLayers(text: string, layers: number): string {
  if (PLAIN.test(text)) return text;
  const seen = text.replace(UNSEEN, '').normalize('NFKD').replace(OCTETS, decodeOctets);
  const read = seen.replace(CODE, decodeCode).replace(NAME, decodeName);
  return read === text || layers === 0 ? read : decodeLayers(read, layers - 1);
}
