/** Ends keys one after the other, as `revoke` and `scan --revoke` do. */
import type { Authority } from '../../management/authority.js';
import type { Keyring } from '../../management/keyring.js';
import { endedOf } from '../../management/lineage.js';
import type { Call } from './call.js';

/** A key to end. */
interface Target {
  readonly keyId: string;
  readonly entityId: string;
}

/**
 * Ends each key, with `--lineage` also its lineage, and calls `next` after each. Goes on after one
 * whose lineage is not known, and throws that error at the end.
 */
export async function endKeys<Key extends Target>(
  { given, output }: Call,
  keyring: Keyring,
  keys: Iterable<Key>,
  who: Omit<Authority, 'entityId'>,
  next: (key: Key, authority: Authority) => unknown = () => {},
): Promise<void> {
  let unknown: unknown;
  const orUnknown = (error: unknown): readonly string[] => {
    const ended = endedOf(error);
    unknown ??= error;
    return ended;
  };
  for (const key of keys) {
    const authority = { ...who, entityId: key.entityId };
    if (given.flag('lineage')) {
      const ended = await keyring.revokeLineage(key.keyId, authority).catch(orUnknown);
      output.say(`Revoked: ${ended.join(' ') || 'none; all had ended before'}.`);
    } else await keyring.revoke(key.keyId, authority);
    await next(key, authority);
  }
  if (unknown !== undefined) throw unknown;
}
