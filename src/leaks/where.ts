/** Where a key was found, as records and events may say it: without any key, in any spelling. */
import { createKeyMask, looksLikeKey, maskSpellings, replaceInvisible } from '../core/masking.js';

/** With `found at ` before it, shorter than a reason may be. */
const MAX_LENGTH = 180;

/** Parts of a known key are masked from this length on. Shorter ones are found by chance. */
const PART_LENGTH = 6;

/** Of a token, this is secret, or was until it leaked. */
const SECRET_LENGTH = 32;

/** Makes a place presentable for keys of a prefix; null if it may not be shown at all. */
export type WhereReader = (where: string, prefix: string) => string | null;

/**
 * Makes the reader of one report. Of all its tokens, every part of 6 characters or more is masked
 * in every place, and so is what looks like a key or the beginning of one. Only then is the place
 * cut.
 */
export function createWhereReader(tokens: readonly string[]): WhereReader {
  let known: ReadonlySet<string> | undefined;

  function maskKnown(text: string): string {
    return text.replace(/[0-9A-Za-z]{6,}/g, (run) => {
      // Made when it is needed: a report may have thousands of tokens that are no keys.
      known ??= new Set(tokens.flatMap((token) => partsOf(token.slice(-SECRET_LENGTH))));
      return partsOf(run).some((part) => known?.has(part)) ? '[redacted]' : run;
    });
  }

  return (where, prefix) => {
    const maskKeys = createKeyMask(prefix);
    const masked = maskSpellings(where, (text) => maskKeyParts(maskKeys(maskKnown(text))));
    // Normalizing takes the square of a run of marks; what is masked may be cut.
    const whole = masked.slice(0, 8 * MAX_LENGTH);
    const clean = replaceInvisible(whole.normalize('NFC'));
    const shown = clean.slice(0, MAX_LENGTH).toWellFormed();
    // A reason that looks like a key is refused, and whoever chose such a place kept the key alive.
    return looksLikeKey(shown) ? null : shown;
  };
}

/** In lower case: hosts are written so, and there are few ways back. */
function partsOf(text: string): readonly string[] {
  const lower = text.toLowerCase();
  const count = Math.max(0, lower.length - PART_LENGTH + 1);
  return Array.from({ length: count }, (_, start) => lower.slice(start, start + PART_LENGTH));
}

/** Masks every part of a key of any prefix, from 20 characters on, and other long runs too. */
function maskKeyParts(text: string): string {
  return text.replace(/_[0-9A-Za-z]{20,}/g, '_[redacted]');
}
