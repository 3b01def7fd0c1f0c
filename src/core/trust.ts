/** Who may act as a key whose text nobody holds, as its record keeps it. */
import { isObject } from './input.js';

/** What a record trusts: JSON data, deep-frozen. */
export type Trust = Readonly<Record<string, unknown>>;

/**
 * Reads the text of a record; `null` if it is not a JSON object. Not checked: its members, and that
 * it is canonical, for which the seal vouches.
 */
export function readTrust(text: string | null): Trust | null {
  try {
    const trust: unknown = JSON.parse(String(text), (_, value: unknown) => Object.freeze(value));
    return isObject(trust) ? (trust as Trust) : null;
  } catch {
    return null;
  }
}
