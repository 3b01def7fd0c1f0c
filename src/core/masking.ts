/**
 * Keeps invisible characters and keys out of records, events, logs and terminals. Each rule is
 * defined once. Mask a text before you shorten it: no rule recognizes half a key.
 */

/**
 * Control, format (bidirectional, zero-width), line- and paragraph-separator characters, and halves
 * of surrogate pairs.
 */
const INVISIBLE = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/gu;

/** Checks whether a text has an invisible character or one that breaks a line. */
export function hasInvisible(text: string): boolean {
  return text.search(INVISIBLE) !== -1;
}

/** Replaces such characters with the result of `write`. Default: U+FFFD. */
export function replaceInvisible(
  text: string,
  write: (character: string) => string = () => '\ufffd',
): string {
  return text.replace(INVISIBLE, write);
}

// ── Spellings ───────────────────────────────────────────────────────────────────────────────────

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

/** Returns a text with all escapes decoded. */
function spellOut(text: string, layers: number = MOST_LAYERS): string {
  if (PLAIN.test(text)) return text;
  const seen = text.replace(UNSEEN, '').normalize('NFKD').replace(OCTETS, decodeOctets);
  const read = seen.replace(CODE, decodeCode).replace(NAME, decodeName);
  return read === text || layers === 0 ? read : spellOut(read, layers - 1);
}

/**
 * Masks what `mask` looks for in any spelling: percent-encoded, escaped as in JSON or HTML, in
 * letters of another width or style, with invisible characters in between, or all of these on top
 * of each other. If decoding reveals nothing to mask, the text keeps its spelling. Otherwise the
 * result is the decoded text, masked.
 *
 * Not decoded: base64 and other encodings of whole texts.
 */
export function maskSpellings(text: string, mask: (text: string) => string): string {
  const read = spellOut(text);
  const masked = mask(read);
  const plain = mask(text);
  // The second case: everything that was masked was in plain spelling, so the original stays.
  return masked === read || spellOut(plain) === masked ? plain : masked;
}

// ── Keys ────────────────────────────────────────────────────────────────────────────────────────

/**
 * The end of a key: an underscore and 32 letters and digits. All-hexadecimal ones are ids or
 * hashes.
 */
const LIKE_A_KEY = /_(?![0-9a-f]{32}|[0-9A-F]{32})[0-9A-Za-z]{32}(?![0-9A-Za-z])/g;

function maskLikeKeys(text: string): string {
  return text.replace(LIKE_A_KEY, '_[redacted]');
}

/**
 * Checks whether a text contains something that looks like a key of any prefix, in any spelling.
 * Not checked: the checksum.
 */
export function looksLikeKey(text: string): boolean {
  return maskSpellings(text, maskLikeKeys) !== text;
}

/**
 * Returns a function that masks anything that looks like a key, in any spelling. For keys with this
 * prefix, it also masks a beginning of 8 characters or more, because the rest may have been cut
 * off, and keys that touch.
 */
export function createKeyMask(prefix: string): (text: string) => string {
  const own = new RegExp(`${prefix}_(?:(?!${prefix}_)[0-9A-Za-z]){8,}`, 'g');
  const mask = (text: string): string => maskLikeKeys(text.replace(own, `${prefix}_[redacted]`));
  return (text) => maskSpellings(text, mask);
}
