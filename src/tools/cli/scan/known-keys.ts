/** Looks up the keys that a scan finds, and revokes those that still work. */
import { ENDED } from '../../../management/ended.js';
import type { DamagedKey, KeyInfo } from '../../../management/info.js';
import type { Keyring } from '../../../management/keyring.js';
import { type Call, whoOf } from '../call.js';
import { usageError } from '../command-error.js';
import { endKeys } from '../end-keys.js';
import { shownInQuestion } from '../shown-keys.js';

/** A key that was looked up; null if the keyring does not know it. */
export type Known = KeyInfo | DamagedKey | null;

/** The size of the memory of look-ups, so that a repeated key is looked up once. */
const MAX_REMEMBERED = 1_000;

/** The reason on the record without `--reason`. */
const REASON = 'found by keyscope scan';

/** Returns a function that looks a key up in the keyring and remembers recent answers. */
export function lookUpsOf(call: Call, keyring: Keyring): (key: string) => Promise<Known> {
  const who = whoOf(call, REASON);
  const remembered = new Map<string, Known>();
  return async (key) => {
    const known = remembered.get(key);
    if (known !== undefined) return known;
    const info = await keyring.identify(key, who);
    if (remembered.size >= MAX_REMEMBERED) remembered.clear();
    remembered.set(key, info);
    return info;
  };
}

/** Collects keys to revoke. */
export interface Revocation {
  add(known: Known | undefined): void;
  /** Asks, then revokes them. */
  carryOut(keyring: Keyring): Promise<void>;
}

/**
 * Makes one. Throws before the scan if it will not be able to ask.
 *
 * @param isOnPipe Whether the scan reads standard input, which then cannot take an answer.
 */
export function createRevocation(call: Call, isOnPipe: boolean): Revocation {
  const { given, output, terminal, interrupts } = call;
  const isSure = given.flag('yes');
  if (!isSure && (isOnPipe || !terminal.isThere)) {
    throw usageError('Cannot ask for confirmation without a terminal. Add --yes to --revoke.');
  }
  const who = whoOf(call, REASON);
  const keys = new Map<string, KeyInfo | DamagedKey>();

  return {
    add(known) {
      if (known === undefined || known === null || ENDED.includes(known.state)) return;
      keys.set(known.keyId, known);
    },
    async carryOut(keyring) {
      if (keys.size === 0) return;
      const shown = [...keys.values()].map((key) => shownInQuestion(key)).join(', ');
      const lineage = given.flag('lineage') ? ' and their lineage' : '';
      await terminal.confirm(`Revoke ${shown}${lineage}, for good?`, isSure);
      await interrupts.change(() =>
        endKeys(call, keyring, keys.values(), who, ({ keyId }) => {
          if (!given.flag('lineage')) output.say(`Revoked: ${keyId}.`);
        }),
      );
    },
  };
}
