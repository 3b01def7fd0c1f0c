/** What the keyring knows of the keys that a scan has found, and how those that still work end. */
import type { Authority } from '../../../management/authority.js';
import type { DamagedKey, KeyInfo } from '../../../management/info.js';
import type { Keyring } from '../../../management/keyring.js';
import { type Call, whoOf } from '../call.js';
import { usageError } from '../command-error.js';
import { shownInQuestion } from '../shown-keys.js';

/** Whose key it is; null if the keyring does not know it. */
export type Known = KeyInfo | DamagedKey | null;

/** More than are found anywhere at once; a key that is found everywhere is asked for once. */
const MAX_REMEMBERED = 1_000;

/** What is on the record where `--reason` is not written. */
const REASON = 'found by keyscope scan';

/** Returns what asks the keyring for a key, but not twice in a row of so many. */
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

/** Collects what is to be ended, and ends it. */
export interface Revocation {
  add(known: Known | undefined): void;
  /** Asks first. */
  carryOut(keyring: Keyring): Promise<void>;
}

/**
 * Returns it, or refuses before anything is looked through.
 *
 * @param isOnPipe Whether standard input is what is looked through, so that nobody can be asked.
 */
export function createRevocation(call: Call, isOnPipe: boolean): Revocation {
  const { given, output, terminal, interrupts } = call;
  const isSure = given.flag('yes');
  if (!isSure && (isOnPipe || !terminal.isThere)) {
    throw usageError('Without a terminal nobody can be asked: write --yes beside --revoke.');
  }
  const who = whoOf(call, REASON);
  const keys = new Map<string, KeyInfo | DamagedKey>();

  async function end(keyring: Keyring, { keyId, entityUuid }: KeyInfo | DamagedKey) {
    const authority: Authority = { entityUuid, ...who };
    if (given.flag('lineage')) return keyring.revokeLineage(keyId, authority);
    await keyring.revoke(keyId, authority);
    return [keyId];
  }

  return {
    add(known) {
      if (known === undefined || known === null || OVER.includes(known.state)) return;
      keys.set(known.keyId, known);
    },
    async carryOut(keyring) {
      if (keys.size === 0) return;
      const shown = [...keys.values()].map((key) => shownInQuestion(key)).join(', ');
      const lineage = given.flag('lineage') ? ' and what belongs to their lineage' : '';
      await terminal.confirm(`Revoke ${shown}${lineage}, for good?`, isSure);
      for (const key of keys.values()) {
        const ended = await interrupts.change(() => end(keyring, key));
        output.say(`Revoked by this call: ${ended.join(' ') || 'none, they had ended'}.`);
      }
    },
  };
}

/** States in which a key works no more and never will. */
const OVER: readonly KeyInfo['state'][] = ['revoked', 'retired', 'expired'];
