/**
 * Keeps invisible characters and keys out of records, events, logs and terminals. Each rule is
 * defined once.
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

/** An underscore and 32 letters and digits, as keys end. Hexadecimal ones are ids and hashes. */
const LIKE_A_KEY = /_(?![0-9a-f]{32}|[0-9A-F]{32})[0-9A-Za-z]{32}(?![0-9A-Za-z])/g;

/** Whether a text has what looks like a key of any prefix. Not checked: a checksum. */
export function looksLikeKey(text: string): boolean {
  return text.search(LIKE_A_KEY) !== -1;
}

/**
 * Masks every part of a key of any prefix, from 20 characters on, and other long runs too: for
 * texts that strangers write. What is left does not look like a key, even after the text is cut.
 */
export function maskKeyParts(text: string): string {
  return text.replace(/_[0-9A-Za-z]{20,}/g, '_[redacted]');
}

/**
 * Returns a function that masks what looks like a key. Of keys with this prefix it also masks the
 * beginning, from 8 characters on, because the rest may have been cut off; and keys that touch.
 */
export function createKeyMask(prefix: string): (text: string) => string {
  const own = new RegExp(`${prefix}_(?:(?!${prefix}_)[0-9A-Za-z]){8,}`, 'g');
  return (text) => text.replace(own, `${prefix}_[redacted]`).replace(LIKE_A_KEY, '_[redacted]');
}
