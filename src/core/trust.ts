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
