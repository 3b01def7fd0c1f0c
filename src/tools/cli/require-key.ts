/** Finds the key that a command is about to end, so that people see which one it is. */
import { AccessError } from '../../core/errors.js';
import type { Authority } from '../../management/authority.js';
import type { DamagedKey, KeyInfo } from '../../management/info.js';
import type { Keyring } from '../../management/keyring.js';
import { escapeInvisible } from './output.js';
import { shownKey } from './shown-keys.js';

/** A key, and how a question names it. */
interface FoundKey {
  readonly info: KeyInfo | DamagedKey;
  readonly shown: string;
}

/** Throws `not_found` if the organization has no such key. */
export async function requireKey(
  keyring: Keyring,
  keyId: string,
  authority: Authority,
): Promise<FoundKey> {
  const info = await keyring.get(keyId, authority);
  if (info === null) throw new AccessError('not_found', 'no_such_key');
  if (!('name' in info)) return { info, shown: `the ${info.state} key ${keyId}` };
  const used = info.lastUsedAt === null ? '' : `, last used ${info.lastUsedAt.toISOString()}`;
  const name = escapeInvisible(info.name);
  return { info, shown: `${shownKey(info)} “${name}” (${info.state}${used})` };
}
