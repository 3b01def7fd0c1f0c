/** Ends keys one after the other, as `revoke` and `scan --revoke` do. */
import { type AccessError, isAccessError } from '../../core/errors.js';
import type { Authority } from '../../management/authority.js';
import type { Keyring } from '../../management/keyring.js';
import type { Call } from './call.js';

/** A key to end. */
interface Target {
  readonly keyId: string;
  readonly entityUuid: string;
}

/**
 * Ends each key, with `--lineage` also its lineage, and calls `next` after each. Goes on after one
 * whose lineage is not known, and throws that error at the end.
 */
export async function endKeys<Key extends Target>(
  { given, output }: Call,
  keyring: Keyring,
  keys: Iterable<Key>,
  who: Omit<Authority, 'entityUuid'>,
  next: (key: Key, authority: Authority) => unknown = () => {},
): Promise<void> {
  let unknown: AccessError | null = null;
  for (const key of keys) {
    const authority = { ...who, entityUuid: key.entityUuid };
    if (given.flag('lineage')) {
      const { ended, error } = await endLineage(keyring, key.keyId, authority);
      output.say(`Revoked: ${ended.join(' ') || 'none; all had ended before'}.`);
      unknown ??= error;
    } else await keyring.revoke(key.keyId, authority);
    await next(key, authority);
  }
  if (unknown !== null) throw unknown;
}

/** The keys that ended, and the error if there may be more. */
interface Ended {
  readonly ended: readonly string[];
  readonly error: AccessError | null;
}

async function endLineage(keyring: Keyring, keyId: string, authority: Authority): Promise<Ended> {
  try {
    return { ended: await keyring.revokeLineage(keyId, authority), error: null };
  } catch (error) {
    if (isAccessError(error) && error.ended !== undefined) return { ended: error.ended, error };
    throw error;
  }
}
