/** The `trust` of a record: the identities that may act as a key whose text nobody holds. */
import { isObject } from './input.js';

/** The identities that may act as a key. Deep-frozen on records. */
export interface Trust {
  /** The issuer of the tokens, which must be their `iss`. */
  readonly issuer: string;
  /**
   * Claim → its value, or a list of values of which it must have one. A name that begins with `/`
   * is a JSON Pointer (RFC 6901) to a nested claim.
   */
  readonly claims: Readonly<Record<string, string | readonly string[]>>;
}

/**
 * Parses the `trust` of a record; returns `null` if it is not a JSON object. Not checked: its
 * members, and whether it is canonical, for which the seal vouches.
 */
export function readTrust(text: string | null): Trust | null {
  try {
    const trust: unknown = JSON.parse(String(text), (_, value: unknown) => Object.freeze(value));
    return isObject(trust) ? (trust as Trust) : null;
  } catch {
    return null;
  }
}

/** 255 characters of printable ASCII, without user information, query and fragment. */
const ISSUER = /^(?=.{1,255}$)https:\/\/[\w.:[\]-]+(?:\/[!"$->@-~]*)?$/;

/** Checks whether a text names an issuer of tokens, as a trust and a verifier may. */
export function isIssuer(value: unknown): value is string {
  return typeof value === 'string' && ISSUER.test(value) && URL.canParse(value);
}

/** The sentence for a text that does not. */
export const ISSUER_INSTEAD =
  'pass an https URL of at most 255 characters, without user information, query and fragment';
