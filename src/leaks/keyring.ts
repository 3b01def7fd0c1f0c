/** The part of a keyring that leaks need, so that a wrapper can take its place. */
import type { Authority } from '../management/authority.js';
import type { DamagedKey, KeyInfo } from '../management/info.js';

/** What this entry needs of a keyring; pass the one that `createKeyring` returned. */
export interface LeakKeyring {
  /** Whose key a string is, whatever its state, or `null`. */
  identify(key: string): Promise<KeyInfo | DamagedKey | null>;
  /** Ends a key at once and for good. */
  revoke(keyId: string, authority: Authority): Promise<void>;
  /** Revokes a key with all that it was rotated from and to; returns their ids. */
  revokeLineage(keyId: string, authority: Authority): Promise<readonly string[]>;
  /** Takes a key out of use until `resume`. */
  suspend(keyId: string, authority: Authority): Promise<void>;
}
