/**
 * Keeps invisible characters and keys out of records, events, logs and terminals. Each rule is
 * defined once. Mask a text before you shorten it, because no rule recognizes half a key: use
 * `maskAndCut`.
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

// ── Percent-encoding ────────────────────────────────────────────────────────────────────────────

/** A percent-encoded character of printable ASCII (RFC 3986 §2.1). */
const ENCODED = /%([2-7][\da-f])/gi;

function decodeOnce(text: string): string {
  return text.replace(ENCODED, (_, octet: string) => String.fromCharCode(Number(`0x${octet}`)));
}

/** Decodes what was percent-encoded once or twice. */
function decodeTwice(text: string): string {
  return decodeOnce(decodeOnce(text));
}

/**
 * Masks what `mask` looks for, also where it is percent-encoded, once or twice. If decoding reveals
 * nothing to mask, the text keeps its spelling. Otherwise the result is the decoded text, masked.
 *
 * @param decode Replaces the decoding, for texts from strangers.
 */
export function maskDecoded(
  text: string,
  mask: (text: string) => string,
  decode: (text: string) => string = decodeTwice,
): string {
  const decoded = decode(text);
  const masked = mask(decoded);
  const plain = mask(text);
  // The second case: everything that was masked was in plain spelling, so the original stays.
  return masked === decoded || decode(plain) === masked ? plain : masked;
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
 * Checks whether a text contains something that looks like a key of any prefix, plain or
 * percent-encoded. Not checked: the checksum.
 */
export function looksLikeKey(text: string): boolean {
  return maskDecoded(text, maskLikeKeys) !== text;
}

/**
 * Returns a function that masks anything that looks like a key, plain or percent-encoded. For keys
 * with this prefix, it also masks a beginning of 8 characters or more, because the rest may have
 * been cut off, and keys that touch.
 */
export function createKeyMask(prefix: string): (text: string) => string {
  const own = new RegExp(`${prefix}_(?:(?!${prefix}_)[0-9A-Za-z]){8,}`, 'g');
  const mask = (text: string): string => maskLikeKeys(text.replace(own, `${prefix}_[redacted]`));
  return (text) => maskDecoded(text, mask);
}

// ── Long texts ──────────────────────────────────────────────────────────────────────────────────

/** How much of a text to mask. Masking a megabyte would hold up all other requests. */
const MOST_MASKED = 8_000;

/** The length of the largest part of a key, percent-encoded twice, that the mask may miss. */
const MOST_MISSED = 400;

/**
 * Masks a text of any length and cuts it to `max` characters. A key that lies across the cut is
 * masked as well.
 */
export function maskAndCut(text: string, mask: (text: string) => string, max: number): string {
  const beginning = text.slice(0, MOST_MASKED);
  const masked = mask(beginning);
  // The cut above may have divided a key.
  return (beginning === text ? masked : masked.slice(0, -MOST_MISSED)).slice(0, max);
}
