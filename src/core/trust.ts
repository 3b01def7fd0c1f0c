/** The `trust` of a record: the identities that may act as a key whose text nobody holds. */
import { isObject } from './input.js';

/** The identities that a record trusts: JSON data, deep-frozen. */
export type Trust = Readonly<Record<string, unknown>>;

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
