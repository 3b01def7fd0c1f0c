/** The `trust` of a record: the identities that may act as a key whose text nobody holds. */
import { isObject } from './input.js';

/** The identities that may act as a key. */
export interface Trust {
  /** The issuer of the tokens, which must be their `iss`. */
  readonly issuer: string;
  /**
   * Claim → its value, or a list of values of which it must have one. A name that begins with `/`
   * is a JSON Pointer (RFC 6901) to a nested claim.
   */
  readonly claims: Readonly<Record<string, string | readonly string[]>>;
}

type Reviver = (name: string, value: unknown) => unknown;

/**
 * Parses the `trust` of a record; returns `null` if it is not a JSON object. Not checked: its
 * members, and whether it is canonical, for which the seal vouches.
 *
 * @param reviver May freeze the values. Look-ups have none, because it takes longer than the rest.
 */
export function readTrust(text: string | null, reviver?: Reviver): Trust | null {
  try {
    const trust: unknown = JSON.parse(String(text), reviver);
    return isObject(trust) ? (trust as Trust) : null;
  } catch {
    return null;
  }
}
