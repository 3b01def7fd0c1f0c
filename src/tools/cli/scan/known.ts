/** What the keyring says of keys that were found. */
import type { DamagedKey, KeyInfo } from '../../../management/info.js';
import type { Keyring } from '../../../management/keyring.js';

/** Whose key it is; null if the keyring does not know it. */
export type Known = KeyInfo | DamagedKey | null;

/** More than are found anywhere at once; a key that stands everywhere is asked for once. */
const MAX_REMEMBERED = 1_000;

/** Returns what asks the keyring for a key, but not twice in a row of so many. */
export function lookUpsOf(keyring: Keyring): (key: string) => Promise<Known> {
  const remembered = new Map<string, Known>();
  return async (key) => {
    const known = remembered.get(key);
    if (known !== undefined) return known;
    const info = await keyring.identify(key);
    if (remembered.size >= MAX_REMEMBERED) remembered.clear();
    remembered.set(key, info);
    return info;
  };
}
