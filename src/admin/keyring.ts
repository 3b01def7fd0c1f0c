/** The part of a keyring that the endpoints use, so that a wrapper can take its place. */
import type { GrantAuthority } from '../management/authority.js';
import type { DamagedKey, IssuedKey, KeyInfo } from '../management/info.js';
import type { IssueInput } from '../management/issue.js';
import type { AddressedKey, ListInput, ListPage } from '../management/list.js';
import type { RotateInput } from '../management/rotate.js';

/** What this entry needs of a keyring; pass the one that `createKeyring` returned. */
export interface AdminKeyring {
  /** Makes a key. */
  issue(input: IssueInput, authority: GrantAuthority): Promise<IssuedKey>;
  /** Replaces a key by one with the same rights or fewer. */
  rotate(keyId: string, input: RotateInput, authority: GrantAuthority): Promise<IssuedKey>;
  /** Ends a key at once and for good. */
  revoke(keyId: string, authority: GrantAuthority): Promise<void>;
  /** Revokes a key with all that it was rotated from and to; returns their ids. */
  revokeLineage(keyId: string, authority: GrantAuthority): Promise<readonly string[]>;
  /** Takes a key out of use until `resume`. */
  suspend(keyId: string, authority: GrantAuthority): Promise<void>;
  /** Ends a suspension. */
  resume(keyId: string, authority: GrantAuthority): Promise<void>;
  /** Cuts the authority's entity off from another entity's key. */
  withdraw(keyId: string, authority: GrantAuthority): Promise<void>;
  /** Returns one page of keys, newest first. */
  list(
    input: ListInput | undefined,
    authority: GrantAuthority,
  ): Promise<ListPage<KeyInfo | AddressedKey>>;
  /** Returns one key, or `null` if the authority's entity has none with this id. */
  get(keyId: string, authority: GrantAuthority): Promise<KeyInfo | DamagedKey | null>;
}
