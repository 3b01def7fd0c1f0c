/** Masks keys in the place of a find, in any spelling, so that records and events can show it. */
import {
  createKeyMask,
  looksLikeKey,
  maskAndCut,
  maskDecoded,
  replaceInvisible,
} from '../core/masking.js';
import { spellOut } from './spellings.js';

/** With `found at ` in front, this fits into a reason. */
const MAX_LENGTH = 180;

/** The shortest part of a known key to mask. Shorter parts match by chance. */
const PART_LENGTH = 6;

/** The length of the secret part of a token. */
const SECRET_LENGTH = 32;

/** Masks keys of a prefix in a place; null if the place must not be shown. */
export type MaskPlace = (where: string, prefix: string) => string | null;

/**
 * Makes the mask of one report. It masks every part of 6 or more characters of any token in the
 * report, and anything that looks like a key or the beginning of one. It cuts the place only
 * afterwards.
 */
export function createPlaceMask(tokens: readonly string[]): MaskPlace {
  let known: ReadonlySet<string> | undefined;

  function maskKnown(text: string): string {
    return text.replace(/[0-9A-Za-z]{6,}/g, (run) => {
      // Made on demand, because a report may have thousands of tokens that are not keys.
      known ??= new Set(tokens.flatMap((token) => partsOf(token.slice(-SECRET_LENGTH))));
      return partsOf(run).some((part) => known?.has(part)) ? '[redacted]' : run;
    });
  }

  return (where, prefix) => {
    const maskKeys = createKeyMask(prefix);
    const mask = (text: string): string => maskKeyParts(maskKeys(maskKnown(text)));
    // Cut before normalizing, which takes quadratic time for runs of combining marks.
    const maskAll = (text: string): string => maskDecoded(text, mask, spellOut);
    const whole = maskAndCut(where, maskAll, 8 * MAX_LENGTH);
    const clean = replaceInvisible(whole.normalize('NFC'));
    const shown = clean.slice(0, MAX_LENGTH).toWellFormed();
    // The keyring rejects a reason that looks like a key, so such a place could keep the key alive.
    return looksLikeKey(shown) ? null : shown;
  };
}

/** Returns lower-case parts, because a lower-cased key, as in a host, would leave few guesses. */
function partsOf(text: string): readonly string[] {
  const lower = text.toLowerCase();
  const count = Math.max(0, lower.length - PART_LENGTH + 1);
  return Array.from({ length: count }, (_, start) => lower.slice(start, start + PART_LENGTH));
}

/** Masks parts of 20 or more characters of keys with any prefix, and other such runs. */
function maskKeyParts(text: string): string {
  return text.replace(/_[0-9A-Za-z]{20,}/g, '_[redacted]');
}
