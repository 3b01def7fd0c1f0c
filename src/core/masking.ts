/**
 * Keeps invisible characters and keys out of records, events, logs and terminals. Each rule is
 * defined once. Mask a text before you shorten it: nobody recognizes half a key.
 */

/**
 * Control, format (bidirectional, zero-width), line- and paragraph-separator characters, and halves
 * of surrogate pairs.
 */
const INVISIBLE = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/gu;

/** Whether a text has a character that nobody sees or that breaks a line. */
export function hasInvisible(text: string): boolean {
  return text.search(INVISIBLE) !== -1;
}

/** Replaces such characters, by U+FFFD unless `write` says how. */
export function replaceInvisible(
  text: string,
  write: (character: string) => string = () => '\ufffd',
): string {
  return text.replace(INVISIBLE, write);
}

// ── Spellings ───────────────────────────────────────────────────────────────────────────────────

/** Octets of UTF-8: `%61`, also percent-encoded again and again (`%252561`), and `\x61`. */
const OCTETS = /(?:(?:%(?:25)*|(?<!\\)\\+x)[\da-f]{2})+/gi;

/** A code: `\u0061`, `\u{61}`, `%u0061`, `&#x61;`, `&#97;`. */
const CODE =
  /(?:&#0*(\d{1,6})|(?:&#|%|(?<!\\)\\+)[ux]\{?((?<=u)[\da-f]{4}|(?<=[x{])0*[\da-f]{1,5}))[;}]?/gi;

/** `&ascr;` and `&fflig;`, which are letters of a style; what else has a name; `\n` and `\_`. */
const NAME = /&(?:amp;)*(?:([a-z]|f[fijl]+|ij)(?:fr|lig|opf|scr);|([a-z]\w*);|shy)|\\+[bfnrt]?/gi;

/** Of the characters that HTML has names for, those that keys and escapes are made of. */
const NAMES = ['amp', 'bsol', 'lowbar', 'num', 'percnt', 'semi', 'UnderBar'];
const NAMED = '&\\_#%;_';

/** Characters of which nobody sees anything, and marks on others. */
const UNSEEN = /(?! )\p{Z}|[\p{C}\p{M}\p{DI}\u2800]/gu;

/** A text that has none of these: printable ASCII without `%`, `&` and `\`, as most texts are. */
const PLAIN = /^[ -$'-[\]-~]*$/;

const UTF8 = new TextDecoder();

function decodeOctets(written: string): string {
  // Of `%252561`, the last two digits count.
  const octets = written.match(/[\da-f]{2}(?=[%\\]|$)/gi) ?? [];
  return UTF8.decode(Uint8Array.from(octets, (octet) => Number(`0x${octet}`)));
}

function decodeCode(_: string, decimal?: string, hexadecimal?: string): string {
  return String.fromCodePoint(Number(decimal ?? `0x${hexadecimal}`));
}

function decodeName(_: string, letters?: string, name = ''): string {
  return letters ?? NAMED[NAMES.indexOf(name)] ?? '';
}

/** Escapes of escapes are decoded this often. More of them are nobody's mistake. */
const MOST_LAYERS = 8;

/** What a text says once all escapes are decoded. */
function spellOut(text: string, layers: number = MOST_LAYERS): string {
  if (PLAIN.test(text)) return text;
  const seen = text.replace(UNSEEN, '').normalize('NFKD').replace(OCTETS, decodeOctets);
  const read = seen.replace(CODE, decodeCode).replace(NAME, decodeName);
  return read === text || layers === 0 ? read : spellOut(read, layers - 1);
}

/**
 * Masks a text, whatever the spelling of what `mask` looks for: percent-encoded, escaped as in JSON
 * or HTML, in letters of another width or style, with invisible characters between, or all of these
 * on top of each other. The text stays as it was written unless it hides something; then the
 * decoded text is returned, masked.
 *
 * Not decoded: base64 and other encodings of whole texts.
 */
export function maskSpellings(text: string, mask: (text: string) => string): string {
  const read = spellOut(text);
  const masked = mask(read);
  const plain = mask(text);
  // Also if all that it hides is plain, and nothing but marks is left of it.
  return masked === read || spellOut(plain) === masked ? plain : masked;
}

// ── Keys ────────────────────────────────────────────────────────────────────────────────────────

/** An underscore and 32 letters and digits, as keys end. Hexadecimal ones are ids and hashes. */
const LIKE_A_KEY = /_(?![0-9a-f]{32}|[0-9A-F]{32})[0-9A-Za-z]{32}(?![0-9A-Za-z])/g;

function maskLikeKeys(text: string): string {
  return text.replace(LIKE_A_KEY, '_[redacted]');
}

/**
 * Whether a text has what looks like a key of any prefix, in any spelling. Not checked: a checksum.
 */
export function looksLikeKey(text: string): boolean {
  return maskSpellings(text, maskLikeKeys) !== text;
}

/**
 * Returns a function that masks what looks like a key, in any spelling. Of keys with this prefix it
 * also masks the beginning, from 8 characters on, because the rest may have been cut off; and keys
 * that touch.
 */
export function createKeyMask(prefix: string): (text: string) => string {
  const own = new RegExp(`${prefix}_(?:(?!${prefix}_)[0-9A-Za-z]){8,}`, 'g');
  const mask = (text: string): string => maskLikeKeys(text.replace(own, `${prefix}_[redacted]`));
  return (text) => maskSpellings(text, mask);
}
